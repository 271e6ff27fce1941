//! Crypto through lanes: the right bytes, checked against a second library.

use std::sync::Arc;

use crate::common::crypto_lane::{attach, call, finish};
use crate::common::{WORKER, block_on, cases, lane_config};
use crypto::{
    Algorithm, Data, KeyForm, KeyMaterial, Kind, Operation, RsaBits, RsaScheme, Slices, Status,
};
use lockgate_engine::{
    Call, CallError, CryptoEngine, CryptoLane, LaneConfig, LocalLane, Order, PIECE_BYTES_MIN,
    RegionId, SessionId, Span, SubmitError,
};
use policy::Moderation;
use proptest::prelude::*;
use sys::memory::Mapping;

const SLOT: usize = 16 * 1024;

fn engine(workers: usize) -> CryptoEngine {
    CryptoEngine::start(crypto::by_name("auto").unwrap(), &vec![WORKER; workers]).unwrap()
}

fn cipher(session: SessionId, operation: Operation, span: &[Span]) -> Call<'_> {
    call(session, operation, span, span)
}

/// A lane of one segment, and a session of a new key.
fn lane(engine: &CryptoEngine, depth: usize, algorithm: Algorithm) -> (CryptoLane, SessionId) {
    let config = lane_config(depth, Moderation::Armed);
    let mut lane = engine.lane(0, config, depth * SLOT, 1).unwrap();
    let session = engine.session(algorithm, &crypto::generate_key(algorithm));
    let session = attach(&mut lane, session);
    (lane, session)
}

/// The same job by the second library, over plain slices.
fn by_second_library(
    material: &KeyMaterial,
    kind: Kind,
    (iv, aad): ([u8; 16], &[u8]),
    data: &mut [u8],
    tag: &mut [u8],
) -> Status {
    let portable = crypto::by_name("portable").unwrap();
    let key = portable.key(kind.algorithm, material).unwrap();
    let data = if kind.operation == Operation::Hash {
        let (source, destination) = data.split_at_mut(data.len() - kind.algorithm.digest_bytes());
        Data::apart(source, destination)
    } else {
        Data::InPlace(data)
    };
    crypto::process_slices(&*portable, &*key, kind, Slices { iv, aad, data, tag })
}

#[test]
fn what_a_client_gets_wrong_is_an_error_before_any_work() {
    let (engine, other) = (engine(1), engine(1));
    let material = crypto::generate_key(Algorithm::Aes128Cbc);
    let session = engine.session(Algorithm::Aes128Cbc, &material).unwrap();
    let mut lane = engine
        .lane(0, lane_config(4, Moderation::Armed), SLOT, 2)
        .unwrap();
    let foreign = other.session(Algorithm::Aes128Cbc, &material).unwrap();
    assert_eq!(lane.attach(&foreign), Err(CallError::ForeignSession));
    let id = lane.attach(&session).unwrap();

    let beyond = [Span::slab(SLOT - 16, 32)];
    assert!(matches!(
        lane.submit(&cipher(id, Operation::Encrypt, &beyond), 0),
        Err(CallError::Bounds(_))
    ));
    let huge = [Span::slab(usize::MAX - 7, 16)];
    assert!(matches!(
        lane.submit(&cipher(id, Operation::Encrypt, &huge), 0),
        Err(CallError::Bounds(_))
    ));
    let three = [Span::slab(0, 16); 3];
    let segments = lane.submit(&cipher(id, Operation::Encrypt, &three), 0);
    assert_eq!(segments, Err(CallError::Segments { count: 3, limit: 2 }));
    let mut second = engine
        .lane(0, lane_config(4, Moderation::Armed), SLOT, 1)
        .unwrap();
    let region = second
        .register(Arc::new(Mapping::new(64).unwrap()))
        .unwrap();
    let unknown = [Span {
        region,
        offset: 0,
        len: 16,
    }];
    assert_eq!(
        lane.submit(&cipher(id, Operation::Encrypt, &unknown), 0),
        Err(CallError::UnknownRegion(region))
    );
    let elsewhere = second.attach(&session).unwrap();
    let mixed_up = lane.submit(
        &cipher(elsewhere, Operation::Encrypt, &[Span::slab(0, 16)]),
        0,
    );
    assert_eq!(mixed_up, Err(CallError::UnknownSession(elsewhere)));
    second.detach(elsewhere).unwrap();
    assert_eq!(lane.in_flight(), 0, "none was started");

    // Lengths are the back-end's to refuse, with a status and no byte touched.
    lane.write(RegionId::SLAB, 0, &[9; 32]).unwrap();
    lane.submit(&cipher(id, Operation::Encrypt, &[Span::slab(0, 17)]), 1)
        .unwrap();
    lane.submit(&cipher(id, Operation::Hash, &[Span::slab(0, 32)]), 2)
        .unwrap();
    lane.detach(id).unwrap();
    assert!(Arc::strong_count(&session) > 1, "it is in use");
    let mut done = finish(&mut lane);
    done.sort_unstable_by_key(|done| done.0);
    assert_eq!(done, [(1, Status::BadLength), (2, Status::Unsupported)]);
    let mut bytes = [0; 32];
    lane.read(Span::slab(0, 32), &mut bytes).unwrap();
    assert_eq!(bytes, [9; 32]);

    let gone = lane.submit(&cipher(id, Operation::Encrypt, &[Span::slab(0, 16)]), 3);
    assert_eq!(gone, Err(CallError::UnknownSession(id)));
    assert_eq!(
        Arc::strong_count(&session),
        1,
        "a detached session is let go"
    );
}

#[test]
fn a_wrong_tag_ends_its_own_request_of_a_batch() {
    let engine = engine(1);
    let (mut lane, id) = lane(&engine, 8, Algorithm::Aes128Gcm);
    for operation in [Operation::Encrypt, Operation::Decrypt] {
        for token in 0..8 {
            let at = token as usize * 128;
            let text = [Span::slab(at, 64)];
            let call = Call {
                tag: Span::slab(at + 64, 16),
                ..cipher(id, operation, &text)
            };
            lane.enqueue(&call, token).unwrap();
        }
        lane.kick();
        for (token, status) in finish(&mut lane) {
            let is_forged = operation == Operation::Decrypt && token == 1;
            let expected = if is_forged {
                Status::AuthenticationFailed
            } else {
                Status::Ok
            };
            assert_eq!(status, expected, "{token}");
        }
        // For the way back.
        lane.write(RegionId::SLAB, 128 + 64, &[0; 16]).unwrap();
    }
}

#[test]
fn rsa_signs_and_verifies_and_a_forgery_is_told() {
    let engine = engine(1);
    let rsa = Algorithm::Rsa(RsaBits::B2048, RsaScheme::Pkcs1);
    let (mut lane, id) = lane(&engine, 4, rsa);
    lane.write(RegionId::SLAB, 0, &[0x5a; 32]).unwrap();
    let digest = [Span::slab(0, 32)];
    let call = |operation| Call {
        destination: &[],
        tag: Span::slab(512, 256),
        ..cipher(id, operation, &digest)
    };
    for operation in [Operation::Sign, Operation::Verify] {
        lane.submit(&call(operation), 0).unwrap();
        assert_eq!(finish(&mut lane), [(0, Status::Ok)]);
    }
    let mut byte = [0];
    lane.read(Span::slab(600, 1), &mut byte).unwrap();
    lane.write(RegionId::SLAB, 600, &[byte[0] ^ 1]).unwrap();
    lane.submit(&call(Operation::Verify), 0).unwrap();
    assert_eq!(finish(&mut lane), [(0, Status::AuthenticationFailed)]);
}

#[test]
fn tasks_share_a_crypto_lane() {
    let engine = engine(1);
    let (lane, id) = lane(&engine, 8, Algorithm::Aes256Xts);
    let shared = LocalLane::new(lane);
    let futures: Vec<_> = (0..8)
        .map(|slot| {
            let span = [Span::slab(slot * 512, 512)];
            shared
                .submit(|lane, token| lane.submit(&cipher(id, Operation::Encrypt, &span), token))
                .unwrap()
        })
        .collect();
    for future in futures {
        assert_eq!(block_on(future), Status::Ok);
    }
}

#[test]
fn keys_and_memory_outlive_a_dropped_client() {
    let engine = engine(1);
    for _ in 0..50 {
        let (mut lane, id) = lane(&engine, 64, Algorithm::Aes256Gcm);
        for slot in 0..64 {
            let span = [Span::slab(slot * SLOT, SLOT - 16)];
            let tag = Span::slab((slot + 1) * SLOT - 16, 16);
            let call = Call {
                tag,
                ..cipher(id, Operation::Encrypt, &span)
            };
            lane.enqueue(&call, 0).unwrap();
        }
        drop(lane);
    }
    drop(engine);
}

#[derive(Clone, Debug)]
struct Plan {
    lane: usize,
    kind: Kind,
    key: usize,
    len: usize,
    aad: usize,
    layout: Layout,
    cuts: Vec<usize>,
    seed: u8,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    InPlace,
    Apart,
    Scattered,
    SameBytes,
}

/// What the engine's back-end and the second library both have, save public
/// keys, which have tests of their own.
fn symmetric() -> impl Iterator<Item = Algorithm> {
    let auto = crypto::by_name("auto").unwrap();
    let second = crypto::by_name("portable").unwrap();
    Algorithm::ALL.into_iter().filter(move |algorithm| {
        let kind = Kind::from(*algorithm);
        !algorithm.is_public_key() && auto.supports(kind) && second.supports(kind)
    })
}

fn plan() -> impl Strategy<Value = Plan> {
    let kinds: Vec<_> = Kind::all()
        .filter(|kind| symmetric().any(|algorithm| algorithm == kind.algorithm))
        .collect();
    let layout = prop_oneof![
        Just(Layout::InPlace),
        Just(Layout::Apart),
        Just(Layout::Scattered),
        Just(Layout::SameBytes)
    ];
    let cuts = proptest::collection::vec(0usize..5000, 0..6);
    (
        0usize..3,
        proptest::sample::select(kinds),
        0usize..2,
        0usize..5000,
        0usize..40,
        layout,
        cuts,
        any::<u8>(),
    )
        .prop_map(|(lane, kind, key, len, aad, layout, cuts, seed)| {
            let name = kind.algorithm.name();
            let len = match name.rsplit('-').next() {
                Some("cbc" | "ecb") => len / 16 * 16,
                Some("xts") => len.max(16),
                _ => len,
            };
            let is_in_place = matches!(layout, Layout::InPlace | Layout::SameBytes);
            let layout = if kind.operation == Operation::Hash && is_in_place {
                Layout::Apart
            } else {
                layout
            };
            Plan {
                lane,
                kind,
                key,
                len,
                aad,
                layout,
                cuts,
                seed,
            }
        })
}

/// Cuts `len` bytes at `offset` into spans.
fn cut(offset: usize, len: usize, cuts: &[usize], is_cut: bool) -> Vec<Span> {
    let mut points: Vec<_> = cuts.iter().map(|&point| point.min(len)).collect();
    points.retain(|_| is_cut);
    points.sort_unstable();
    points.push(len);
    let mut begin = 0;
    points
        .into_iter()
        .map(|end| {
            let span = Span::slab(offset + begin, end - begin);
            begin = end;
            span
        })
        .collect()
}

struct Slot {
    plan: Plan,
    lane: usize,
    offset: usize,
    input: Vec<u8>,
    aad: Vec<u8>,
}

impl Plan {
    fn destination_offset(&self) -> usize {
        if matches!(self.layout, Layout::InPlace | Layout::SameBytes) {
            0
        } else {
            5008
        }
    }

    fn output_len(&self) -> usize {
        self.kind
            .destination_bytes(self.len)
            .expect("no public keys here")
    }

    fn iv(&self) -> [u8; 16] {
        [self.seed; 16]
    }

    fn submit(
        self,
        lane: &mut CryptoLane,
        index: usize,
        sessions: &[SessionId],
        token: u64,
    ) -> Slot {
        let offset = index * SLOT + usize::from(self.seed) % 16;
        let bytes = |len: usize, add: u8| {
            (0..len)
                .map(|i| (i as u8).wrapping_mul(31) ^ self.seed.wrapping_add(add))
                .collect::<Vec<u8>>()
        };
        let (input, aad) = (bytes(self.len, 0), bytes(self.aad, 1));
        lane.write(RegionId::SLAB, offset, &input).unwrap();
        lane.write(RegionId::SLAB, offset + 10_100, &aad).unwrap();
        // Decryption of noise fails its tag: write the true one first.
        let mut sealed = input.clone();
        let mut tag = [0; 16];
        let is_aead = self.kind.algorithm.is_aead();
        if is_aead && self.kind.operation == Operation::Decrypt {
            let seal = Kind {
                operation: Operation::Encrypt,
                ..self.kind
            };
            let status = by_second_library(
                &material(self.kind.algorithm, self.key),
                seal,
                (self.iv(), &aad),
                &mut sealed,
                &mut tag,
            );
            assert_eq!(status, Status::Ok);
            lane.write(RegionId::SLAB, offset, &sealed).unwrap();
            lane.write(RegionId::SLAB, offset + 10_200, &tag).unwrap();
        }
        let is_cut = matches!(self.layout, Layout::Scattered | Layout::SameBytes);
        let source = cut(offset, self.len, &self.cuts, is_cut);
        let reversed: Vec<_> = self.cuts.iter().map(|point| 5000 - point).collect();
        let destination = if self.layout == Layout::InPlace {
            source.clone()
        } else {
            cut(
                offset + self.destination_offset(),
                self.output_len(),
                &reversed,
                is_cut,
            )
        };
        let mut all = symmetric();
        let number = all.position(|algorithm| algorithm == self.kind.algorithm);
        let session = sessions[number.unwrap() * 2 + self.key];
        let mut call = Call {
            iv: self.iv(),
            ..call(session, self.kind.operation, &source, &destination)
        };
        if is_aead {
            call.aad = Span::slab(offset + 10_100, self.aad);
            call.tag = Span::slab(offset + 10_200, 16);
        }
        lane.submit(&call, token).unwrap();
        let input = if is_aead && self.kind.operation == Operation::Decrypt {
            sealed
        } else {
            input
        };
        Slot {
            lane: self.lane,
            plan: self,
            offset,
            input,
            aad,
        }
    }
}

fn material(algorithm: Algorithm, key: usize) -> KeyMaterial {
    let len = match algorithm.key_form() {
        KeyForm::Bytes(len) => len,
        KeyForm::AnyBytes => 32,
        KeyForm::Pkcs8 => panic!("no test asks for one"),
    };
    let mut bytes: Vec<_> = (0..len).map(|i| (i * 7 + key * 101 + 3) as u8).collect();
    KeyMaterial::take(&mut bytes)
}

fn check(slot: &Slot, lane: &CryptoLane) -> Result<(), TestCaseError> {
    let plan = &slot.plan;
    let mut expected = slot.input.clone();
    if plan.kind.operation == Operation::Hash {
        expected.resize(plan.len + plan.kind.algorithm.digest_bytes(), 0);
    }
    let mut tag = [0; 16];
    lane.read(Span::slab(slot.offset + 10_200, 16), &mut tag)
        .unwrap();
    let got_tag = tag;
    let (aad, tag_len) = if plan.kind.algorithm.is_aead() {
        (&slot.aad[..], 16)
    } else {
        (&[][..], 0)
    };
    let material = material(plan.kind.algorithm, plan.key);
    let status = by_second_library(
        &material,
        plan.kind,
        (plan.iv(), aad),
        &mut expected,
        &mut tag[..tag_len],
    );
    prop_assert_eq!(status, Status::Ok);
    prop_assert_eq!(tag, got_tag, "tag of {:?}", plan);
    let expected = if plan.kind.operation == Operation::Hash {
        &expected[plan.len..]
    } else {
        &expected[..]
    };
    let mut got = vec![0; plan.output_len()];
    lane.read(
        Span::slab(slot.offset + plan.destination_offset(), got.len()),
        &mut got,
    )
    .unwrap();
    prop_assert!(got == expected, "bytes of {:?}", plan);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    #[test]
    fn lanes_give_the_right_bytes(
        plans in proptest::collection::vec(plan(), 1..60),
        policies in proptest::array::uniform3((0usize..Moderation::ALL.len(), any::<bool>(), proptest::option::of(1usize..6))),
    ) {
        let engine = engine(2);
        let sessions: Vec<_> = symmetric()
            .flat_map(|algorithm| (0..2).map(move |key| (algorithm, key)))
            .map(|(algorithm, key)| engine.session(algorithm, &material(algorithm, key)).unwrap())
            .collect();
        let mut lanes: Vec<_> = policies.iter().enumerate().map(|(index, &(policy, fifo, piece))| {
            let order = if fifo { Order::Fifo } else { Order::Any };
            let piece_bytes = piece.map(|piece| piece * PIECE_BYTES_MIN);
            let config = LaneConfig { order, piece_bytes, ..lane_config(64, Moderation::ALL[policy]) };
            let mut lane = engine.lane(index % 2, config, 64 * SLOT, 8).unwrap();
            let ids: Vec<_> = sessions.iter().map(|session| lane.attach(session).unwrap()).collect();
            (lane, ids)
        }).collect();
        let mut slots = Vec::new();
        for (index, plan) in plans.into_iter().enumerate() {
            let (lane, ids) = &mut lanes[plan.lane];
            slots.push(plan.submit(lane, index, ids, index as u64));
        }
        for (number, (lane, _)) in lanes.iter_mut().enumerate() {
            let expected = slots.iter().filter(|slot| slot.lane == number).count();
            let done = finish(lane);
            prop_assert_eq!(done.len(), expected);
            for (token, status) in done {
                prop_assert_eq!(status, Status::Ok, "{:?}", slots[token as usize].plan);
            }
        }
        for slot in &slots {
            check(slot, &lanes[slot.lane].0)?;
        }
    }
}

#[test]
fn a_full_crypto_lane_refuses_scattered_calls_too() {
    let cell = engine(1);
    let session = cell
        .session(Algorithm::Aes128Ctr, &material(Algorithm::Aes128Ctr, 0))
        .unwrap();
    let mut lane = cell
        .lane(0, lane_config(1, Moderation::Armed), SLOT, 4)
        .unwrap();
    let id = lane.attach(&session).unwrap();
    let spans = [Span::slab(0, 100), Span::slab(200, 28)];
    lane.submit(&cipher(id, Operation::Encrypt, &spans), 0)
        .unwrap();
    let full = lane.submit(&cipher(id, Operation::Encrypt, &spans), 1);
    assert_eq!(full, Err(CallError::Submit(SubmitError::Full)));
    assert_eq!(finish(&mut lane), [(0, Status::Ok)]);
}
