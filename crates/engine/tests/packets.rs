//! Packets of QUIC through lanes of several tenants: what each becomes is what it becomes
//! by the back-end directly; what is refused touches nothing, what is forged leaves zeros.

use crate::common::crypto_lane::{attach, call, engine, finish};
use crate::common::random::Random;
use crate::common::{cases, lane_config};
use crypto::{
    Algorithm, Backend, Key, KeyMaterial, Operation, PacketPlace, PacketSlices, Packets, Status,
    process_packets,
};
use lockgate_engine::{
    Call, CryptoFunction, CryptoLane, FunctionConfig, RegionId, SessionId, Span,
};
use policy::Moderation;

const DEPTH: usize = 16;
/// Of one request: source and destination, and gaps.
const AREA: usize = 4096;
const TAG_BYTES: usize = 16;

struct Tenant {
    lane: CryptoLane,
    session: SessionId,
    suite: Packets,
    /// The same key with the back-end that does it directly.
    key: Box<dyn Key>,
}

/// What a request must come to.
struct Expected {
    status: Status,
    destination: Span,
    bytes: Vec<u8>,
}

impl Tenant {
    fn new(
        function: &CryptoFunction,
        direct: &dyn Backend,
        suite: Packets,
        random: &mut Random,
    ) -> Self {
        let algorithm = Algorithm::Packets(suite);
        let key = random.bytes(suite.key_bytes());
        let material = || KeyMaterial::take(&mut key.clone());
        let config = lane_config(DEPTH, Moderation::Armed);
        let mut lane = function.lane(0, config, DEPTH * AREA, 8).unwrap();
        let session = attach(&mut lane, function.session(algorithm, &material()));
        Self {
            lane,
            session,
            suite,
            key: direct.key(algorithm, &material()).unwrap(),
        }
    }

    fn direct(
        &self,
        direct: &dyn Backend,
        operation: Operation,
        place: PacketPlace,
        source: &[u8],
    ) -> (Status, Vec<u8>) {
        let bytes = match operation {
            Operation::Encrypt => source.len() + TAG_BYTES,
            _ => source.len() - TAG_BYTES,
        };
        let mut destination = vec![0; bytes];
        let mut all = [PacketSlices {
            key: &*self.key,
            place,
            source,
            destination: &mut destination,
            status: Status::Cancelled,
        }];
        process_packets(direct, self.suite, operation, &mut all);
        (all[0].status, destination)
    }

    fn submit(&mut self, direct: &dyn Backend, slot: usize, random: &mut Random) -> Expected {
        let number_at = 1 + random.below(30);
        let payload = random.below(1200);
        let mut plain = random.bytes(number_at + 4 + payload);
        plain[0] = 0x43;
        let place = PacketPlace {
            number: 0x0102_0304,
            number_at: number_at as u16,
            phase: None,
        };
        plain[number_at..number_at + 4].copy_from_slice(&[1, 2, 3, 4]);
        let opens = random.below(2) == 0;
        let (operation, mut source) = match opens {
            true => {
                let sealed = self.direct(direct, Operation::Encrypt, place, &plain);
                (Operation::Decrypt, sealed.1)
            }
            false => (Operation::Encrypt, plain),
        };
        let fate = random.below(6);
        if opens && fate == 0 {
            let at = random.below(source.len());
            source[at] ^= 1;
        }
        let phase = (opens && fate < 3).then_some(fate == 1);
        let place = PacketPlace { phase, ..place };
        let (mut status, mut bytes) = self.direct(direct, operation, place, &source);
        let begin = slot * AREA + random.below(64);
        let mut iv = place.job_iv();
        let mut destination = Span::slab(slot * AREA + AREA / 2, bytes.len());
        // Too short, in place, no such number.
        let refused = match fate {
            3 => {
                destination.len -= 1;
                Some(Status::BadLength)
            }
            4 => {
                destination.offset = begin + 8;
                Some(Status::BadSegment)
            }
            5 => {
                iv[7] = 0xff;
                Some(Status::BadLength)
            }
            _ => None,
        };
        self.lane.write(RegionId::SLAB, begin, &source).unwrap();
        if let Some(refused) = refused {
            bytes = vec![0; destination.len];
            self.lane.read(destination, &mut bytes).unwrap();
            status = refused;
        }
        let cut = random.below(source.len() + 1);
        let spans = [
            Span::slab(begin, cut),
            Span::slab(begin + cut, source.len() - cut),
        ];
        let whole = [Span::slab(begin, source.len())];
        let source: &[Span] = if random.below(3) == 0 { &spans } else { &whole };
        let destinations = [destination];
        let call = Call {
            iv,
            ..call(self.session, operation, source, &destinations)
        };
        self.lane.enqueue(&call, slot as u64).unwrap();
        Expected {
            status,
            destination,
            bytes,
        }
    }
}

#[test]
fn packets_through_lanes_are_what_they_are_directly() {
    let direct = crypto::by_name("aws-lc").unwrap();
    let mut seen = std::collections::HashMap::new();
    for seed in 1..=u64::from(cases(30)) {
        let mut random = Random::new(seed);
        let name = ["auto", "kernels", "aws-lc"][seed as usize % 3];
        let engine = engine(crypto::by_name(name).unwrap());
        let functions = [(); 3].map(|()| engine.function(FunctionConfig::default()).unwrap());
        let mut tenants = functions.each_ref().map(|function| {
            // Our kernels have AES alone.
            let suites = if name == "kernels" { 2 } else { 3 };
            let suite = random.of(&Packets::ALL[..suites]);
            Tenant::new(function, &*direct, suite, &mut random)
        });
        for _ in 0..6 {
            let expected = tenants.each_mut().map(|tenant| {
                let all = (0..DEPTH).map(|slot| tenant.submit(&*direct, slot, &mut random));
                let all: Vec<_> = all.collect();
                tenant.lane.kick();
                all
            });
            for (tenant, expected) in tenants.iter_mut().zip(expected) {
                for (slot, status) in finish(&mut tenant.lane) {
                    let expected = &expected[slot as usize];
                    let mut bytes = vec![1; expected.destination.len];
                    tenant.lane.read(expected.destination, &mut bytes).unwrap();
                    let what = format!("{name}, seed {seed}, {:?}", tenant.suite);
                    assert_eq!(status, expected.status, "{what}");
                    assert!(bytes == expected.bytes, "{what}: {status:?}");
                    *seen.entry(status).or_insert(0) += 1;
                }
            }
        }
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
}
