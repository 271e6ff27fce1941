//! What crypto requests of virtual functions are charged.

use std::time::Duration;

use crypto::{Algorithm, Kind, Operation, Status, Workload};
use lockgate_engine::{
    Call, CryptoEngine, CryptoFunction, CryptoLane, FunctionConfig, LaneConfig, RegionId,
    SessionId, Span, WorkerConfig,
};

const LONG: Duration = Duration::from_secs(20);
const DEPTH: usize = 16;

struct Tenant {
    function: CryptoFunction,
    lane: CryptoLane,
    session: SessionId,
    workload: Workload,
}

impl Tenant {
    fn new(engine: &CryptoEngine, kind: Kind, bytes: usize) -> Self {
        let backend = crypto::by_name("aws-lc").unwrap();
        let workload = Workload::new(&backend, kind, bytes).unwrap();
        let function = engine.function(FunctionConfig::default()).unwrap();
        let config = LaneConfig {
            depth: DEPTH,
            is_core_shared: true,
            ..LaneConfig::default()
        };
        let stride = workload.slot.stride;
        let mut lane = function.lane(0, config, DEPTH * stride, 1).unwrap();
        for slot in 0..DEPTH {
            lane.write(RegionId::SLAB, slot * stride, &workload.input)
                .unwrap();
        }
        let session = function
            .session(kind.algorithm, &workload.material)
            .unwrap();
        let session = lane.attach(&session).unwrap();
        Self {
            function,
            lane,
            session,
            workload,
        }
    }

    fn fill(&mut self) {
        let layout = &self.workload.slot;
        for slot in 0..self.lane.room() {
            let at = |(offset, len): (usize, usize)| Span::slab(slot * layout.stride + offset, len);
            let call = Call {
                session: self.session,
                operation: self.workload.kind.operation,
                source: &[at(layout.source)],
                destination: &[at(layout.destination)],
                iv: [slot as u8; 16],
                aad: Span::EMPTY,
                tag: at(layout.tag),
            };
            self.lane.enqueue(&call, 0).unwrap();
        }
        self.lane.kick();
    }

    fn drain(&mut self) {
        while self.lane.in_flight() > 0 {
            self.lane.wait(1, LONG).unwrap();
            self.lane
                .reap(usize::MAX, |one| assert_eq!(one.status, Status::Ok));
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
    let backend = crypto::by_name("aws-lc").unwrap();
    let worker = WorkerConfig {
        is_core_shared: true,
        ..WorkerConfig::default()
    };
    let engine = CryptoEngine::start(backend, &[worker]).unwrap();
    let rsa: Algorithm = "rsa-2048".parse().unwrap();
    let sign = Kind::new(rsa, Operation::Sign);
    let seal = Kind::new(Algorithm::Aes128Gcm, Operation::Encrypt);
    let mut signer = Tenant::new(&engine, sign, 256);
    let mut sealer = Tenant::new(&engine, seal, 256);
    for _ in 0..8 {
        signer.fill();
        sealer.fill();
        signer.drain();
        for _ in 0..10 {
            sealer.drain();
            sealer.fill();
        }
        sealer.drain();
    }
    let ratio = signer.price_ns() / sealer.price_ns();
    assert!(
        ratio > 100.0,
        "{} and {}",
        signer.price_ns(),
        sealer.price_ns()
    );
}
