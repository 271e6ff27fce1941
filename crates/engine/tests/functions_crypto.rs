//! What crypto requests of virtual functions are charged.

use crate::common::crypto_lane::{attach, aws_lc, engine};
use crate::common::lane_config;
use crate::common::slots::{Slots, slab_bytes};
use crypto::{Algorithm, Kind, Operation, Workload};
use lockgate_engine::{CryptoEngine, CryptoFunction, FunctionConfig};
use policy::Moderation;

const DEPTH: usize = 16;

struct Tenant<'w> {
    function: CryptoFunction,
    slots: Slots<'w>,
}

impl<'w> Tenant<'w> {
    fn new(engine: &CryptoEngine, workload: &'w Workload) -> Self {
        let function = engine.function(FunctionConfig::default()).unwrap();
        let config = lane_config(DEPTH, Moderation::Armed);
        let lane = function.lane(0, config, slab_bytes(workload, DEPTH), 1);
        let mut lane = lane.unwrap();
        let session = function.session(workload.kind.algorithm, &workload.material);
        let session = attach(&mut lane, session);
        Self {
            function,
            slots: Slots::new(lane, session, workload),
        }
    }

    fn price_ns(&self) -> f64 {
        let counters = self.function.counters();
        counters.work_ns as f64 / counters.requests as f64
    }
}

/// Both work on a few hundred bytes; one takes a thousand times as long.
#[test]
fn a_signature_is_charged_for_its_time_and_not_its_bytes() {
    let engine = engine(aws_lc());
    let rsa: Algorithm = "rsa-2048".parse().unwrap();
    let sign = Kind::new(rsa, Operation::Sign);
    let seal = Kind::new(Algorithm::Aes128Gcm, Operation::Encrypt);
    let [sign, seal] = [sign, seal].map(|kind| Workload::new(&aws_lc(), kind, 256).unwrap());
    let mut signer = Tenant::new(&engine, &sign);
    let mut sealer = Tenant::new(&engine, &seal);
    for _ in 0..8 {
        signer.slots.fill();
        sealer.slots.fill();
        signer.slots.drain();
        for _ in 0..10 {
            sealer.slots.drain();
            sealer.slots.fill();
        }
        sealer.slots.drain();
    }
    let ratio = signer.price_ns() / sealer.price_ns();
    assert!(
        ratio > 100.0,
        "{} and {}",
        signer.price_ns(),
        sealer.price_ns()
    );
}
