//! What a tenant may hold, and what it may let go of while requests are in flight.

use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};

use crate::common::crypto_lane::{attach, aws_lc, call, ends, engine};
use crate::common::instead::Instead;
use crate::common::{WORKER, cases};
use crypto::{Algorithm, Backend, KeyMaterial, Operation, PRIVATE_BYTES_MAX, Status, generate_key};
use lockgate_engine::{
    Call, CallError, CryptoEngine, FunctionConfig, KeyLimit, LaneConfig, REGIONS_MAX, RegionId,
    SessionError, Span,
};
use proptest::prelude::*;
use sys::memory::{Mapping, sealed};

fn behind(gate: &Arc<Mutex<()>>) -> CryptoEngine {
    let gate = Arc::clone(gate);
    let backend = Instead::of_aws_lc(move |aws_lc, kind, jobs, statuses| {
        drop(gate.lock());
        // SAFETY: as of the caller, who calls it in the place of this one.
        unsafe { aws_lc.process(kind, jobs, statuses) }
    });
    engine(backend)
}

#[test]
fn sessions_and_bytes_of_keys_are_bounded() {
    let engine = behind(&Arc::default());
    let keys_max = KeyLimit {
        sessions: 3,
        bytes: 100,
    };
    let config = FunctionConfig {
        keys_max,
        ..FunctionConfig::default()
    };
    let function = engine.function(config).unwrap();
    let hmac = |bytes: usize| {
        let material = KeyMaterial::take(&mut vec![7; bytes]);
        function.session(Algorithm::HmacSha256, &material)
    };
    let too_long = hmac(101).unwrap_err();
    let (bytes, limit) = (101, 100);
    assert_eq!(too_long, SessionError::KeyBytes { bytes, limit });
    assert!(too_long.to_string().contains("101") && too_long.to_string().contains("100"));
    let mut held = vec![hmac(60).unwrap()];
    assert!(matches!(
        hmac(41),
        Err(SessionError::KeyBytes { bytes: 101, .. })
    ));
    // A key that is refused takes no room.
    let short = function.session(Algorithm::Aes128Cbc, &KeyMaterial::take(&mut [7; 15]));
    assert!(matches!(short, Err(SessionError::Key(_))));
    held.extend([hmac(20).unwrap(), hmac(20).unwrap()]);
    assert_eq!(hmac(0).unwrap_err(), SessionError::Sessions { limit: 3 });
    held.pop();
    held.push(hmac(20).unwrap());
    // Another function has its own.
    let other = engine.function(config).unwrap();
    let material = KeyMaterial::take(&mut [7; 100]);
    other.session(Algorithm::HmacSha256, &material).unwrap();
    drop(held);
    hmac(100).unwrap();
}

#[test]
fn regions_of_a_lane_are_bounded_and_their_numbers_used_again() {
    let engine = behind(&Arc::default());
    let mut lane = engine.lane(0, LaneConfig::default(), 64, 1).unwrap();
    let memory = Arc::new(Mapping::new(64).unwrap());
    let mut those: Vec<_> = (1..REGIONS_MAX)
        .map(|_| lane.register(Arc::clone(&memory)).unwrap())
        .collect();
    assert_eq!(lane.register(Arc::clone(&memory)), Err(CallError::Regions));
    assert_eq!(lane.unregister(RegionId::SLAB), Err(CallError::Slab));
    let gone = those.pop().unwrap();
    lane.unregister(gone).unwrap();
    assert_eq!(lane.unregister(gone), Err(CallError::UnknownRegion(gone)));
    let again = lane.register(Arc::clone(&memory)).unwrap();
    assert_ne!(again, gone);
    let refused = lane.write(gone, 0, &[1]);
    assert_eq!(refused, Err(CallError::UnknownRegion(gone)));
    lane.write(again, 0, &[1]).unwrap();
    assert_eq!(Arc::strong_count(&memory), 1 + 2 * (REGIONS_MAX - 1));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Register,
    Unregister(usize),
    Attach,
    Detach(usize),
    Submit(usize, usize),
    Reap,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let one = prop_oneof![
        2 => Just(Step::Register),
        2 => any::<usize>().prop_map(Step::Unregister),
        2 => Just(Step::Attach),
        2 => any::<usize>().prop_map(Step::Detach),
        6 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Step::Submit(a, b)),
        1 => Just(Step::Reap),
    ];
    proptest::collection::vec(one, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    /// Memory and keys are there as long as someone names them or a request in flight
    /// does, and no longer.
    #[test]
    fn what_is_let_go_of_lives_until_its_requests_are_reaped(steps in steps()) {
        let gate = Arc::<Mutex<()>>::default();
        let engine = behind(&gate);
        let function = engine.function(FunctionConfig::default()).unwrap();
        let mut lane = function.lane(0, LaneConfig::default(), 64, 1).unwrap();
        let mut closed = Some(gate.lock().unwrap());
        let mut regions: Vec<(RegionId, Arc<Mapping>)> = Vec::new();
        let mut sessions = Vec::new();
        let mut let_go = Vec::new();
        for step in steps {
            match step {
                Step::Register => {
                    let memory = Arc::new(Mapping::new(64).unwrap());
                    regions.push((lane.register(Arc::clone(&memory)).unwrap(), memory));
                }
                Step::Unregister(which) if !regions.is_empty() => {
                    let (id, memory) = regions.swap_remove(which % regions.len());
                    lane.unregister(id).unwrap();
                    prop_assert_eq!(lane.unregister(id), Err(CallError::UnknownRegion(id)));
                    prop_assert!(lane.in_flight() == 0 || Arc::strong_count(&memory) > 1);
                    let_go.push(Arc::downgrade(&memory) as std::sync::Weak<dyn std::any::Any>);
                }
                Step::Attach => {
                    let key = generate_key(Algorithm::Aes128Ctr);
                    let session = function.session(Algorithm::Aes128Ctr, &key).unwrap();
                    sessions.push((lane.attach(&session).unwrap(), session));
                }
                Step::Detach(which) if !sessions.is_empty() => {
                    let (id, session) = sessions.swap_remove(which % sessions.len());
                    lane.detach(id).unwrap();
                    prop_assert_eq!(lane.detach(id), Err(CallError::UnknownSession(id)));
                    let_go.push(Arc::downgrade(&session) as std::sync::Weak<dyn std::any::Any>);
                }
                Step::Submit(region, session) if !regions.is_empty() && !sessions.is_empty() => {
                    let region = regions[region % regions.len()].0;
                    let span = [Span { region, offset: 0, len: 64 }];
                    let session = sessions[session % sessions.len()].0;
                    let call = call(session, Operation::Encrypt, &span, &span);
                    if lane.room() > 0 {
                        lane.submit(&call, 0).unwrap();
                    }
                }
                Step::Reap => {
                    drop(closed.take());
                    let ends = ends(&mut lane);
                    prop_assert!(ends.iter().all(|&end| end == Status::Ok), "{:?}", ends);
                    // The worker may hold them for a moment longer only where it looks at
                    // a lane that is no more.
                    let alive = let_go.drain(..).filter(|one| one.strong_count() > 0).count();
                    prop_assert_eq!(alive, 0);
                    closed = Some(gate.lock().unwrap());
                }
                _ => {}
            }
        }
        drop(closed);
    }
}

#[test]
fn public_keys_stay_on_the_workers_marked_for_them() {
    let engine = CryptoEngine::start(aws_lc(), &[WORKER; 2]).unwrap();
    let engine = engine.with_public_keys_on(&[1]);
    let function = engine.function(FunctionConfig::default()).unwrap();
    let algorithm = Algorithm::X25519;
    let session = function
        .session(algorithm, &generate_key(algorithm))
        .unwrap();
    let own = engine.session(algorithm, &generate_key(algorithm)).unwrap();
    let config = LaneConfig::default();
    for worker in [0, 1] {
        let mut lane = function.lane(worker, config, 64, 1).unwrap();
        let mut plain = engine.lane(worker, config, 64, 1).unwrap();
        let taken = [lane.attach(&session), plain.attach(&own)];
        let refused = Err(CallError::PublicKey { algorithm, worker });
        for taken in taken {
            assert!(if worker == 0 {
                taken == refused
            } else {
                taken.is_ok()
            });
        }
    }
}

fn shared(len: usize) -> Arc<Mapping> {
    let memory = sealed(len).unwrap();
    Arc::new(Mapping::shared(memory.as_fd(), len).unwrap())
}

type Seen = Arc<Mutex<Vec<(usize, usize)>>>;

fn watched() -> (Arc<dyn Backend>, Seen) {
    let seen = Seen::default();
    let shared = Arc::clone(&seen);
    let backend = Instead::of_aws_lc(move |aws_lc, kind, jobs, statuses| {
        if kind.operation == Operation::Decrypt {
            let places = jobs.iter().map(|job| job.destination.first);
            let mut seen = shared.lock().unwrap();
            seen.extend(places.map(|place| (place.address.addr(), place.len)));
        }
        // SAFETY: as of the caller, who calls it in the place of this one.
        unsafe { aws_lc.process(kind, jobs, statuses) }
    });
    (backend, seen)
}

#[test]
fn no_text_stands_in_shared_memory_before_its_tag_is_checked() {
    let (backend, seen) = watched();
    let engine = engine(backend);
    let len = 256 << 10;
    let memory = shared(len);
    let begin = memory.address(0, len).unwrap().addr();
    let mut lane = engine.lane(0, LaneConfig::default(), 64, 64).unwrap();
    let region = lane.register(memory).unwrap();
    let span = |offset, len| Span {
        region,
        offset,
        len,
    };
    for algorithm in [Algorithm::Aes256Gcm, Algorithm::ChaCha20Poly1305] {
        let session = engine.session(algorithm, &generate_key(algorithm));
        let session = attach(&mut lane, session);
        for (bytes, cuts, is_apart) in [
            (0, 1, false),
            (1, 1, true),
            (4096, 1, false),
            (4096, 16, true),
            (PRIVATE_BYTES_MAX, 32, false),
            (PRIVATE_BYTES_MAX, 1, true),
            (PRIVATE_BYTES_MAX + 16, 1, false),
        ] {
            let text: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
            for is_good in [true, false] {
                let list = |from| -> Vec<Span> {
                    let piece = bytes / cuts;
                    (0..cuts)
                        .map(|cut| span(from + cut * piece, piece))
                        .collect()
                };
                let to = if is_apart { 65_536 } else { 0 };
                lane.write(region, 0, &text).unwrap();
                let call = |operation, source, destination| Call {
                    aad: span(200_000, 13),
                    tag: span(200_016, 16),
                    ..call(session, operation, source, destination)
                };
                let (source, destination) = (list(0), list(to));
                lane.submit(&call(Operation::Encrypt, &source, &source), 0)
                    .unwrap();
                assert_eq!(ends(&mut lane), [Status::Ok]);
                let mut sealed = vec![0; bytes];
                lane.read(span(0, bytes), &mut sealed).unwrap();
                if !is_good {
                    lane.write(region, 200_000, &[77]).unwrap();
                }
                seen.lock().unwrap().clear();
                lane.submit(&call(Operation::Decrypt, &source, &destination), 0)
                    .unwrap();
                let end = [Status::AuthenticationFailed, Status::Ok][usize::from(is_good)];
                assert_eq!(ends(&mut lane), [end], "{algorithm} {bytes}");
                lane.write(region, 200_000, &[0]).unwrap();
                let mut opened = vec![1; bytes];
                lane.read(span(to, bytes), &mut opened).unwrap();
                let expected = if is_good {
                    text.clone()
                } else {
                    vec![0; bytes]
                };
                assert!(opened == expected, "{algorithm} {bytes} in {cuts}");
                let seen = seen.lock().unwrap();
                let [(at, opened_bytes)] = seen[..] else {
                    panic!("{seen:?}")
                };
                let is_inside = opened_bytes > 0 && (begin..begin + len).contains(&at);
                assert_eq!(is_inside, bytes > PRIVATE_BYTES_MAX, "{algorithm} {bytes}");
            }
        }
    }
}

#[test]
fn overlapping_shared_memory_is_refused_as_any_other() {
    let (backend, _) = watched();
    let engine = engine(backend);
    let mut lane = engine.lane(0, LaneConfig::default(), 64, 8).unwrap();
    let region = lane.register(shared(4096)).unwrap();
    let algorithm = Algorithm::Aes128Gcm;
    let session = engine.session(algorithm, &generate_key(algorithm));
    let session = attach(&mut lane, session);
    lane.write(region, 0, &[5; 4096]).unwrap();
    let span = |offset, len| Span {
        region,
        offset,
        len,
    };
    for (source, destination, tag, end) in [
        (span(0, 64), span(32, 64), 16, Status::BadSegment),
        (span(0, 64), span(128, 32), 16, Status::BadLength),
        (span(0, 64), span(128, 64), 12, Status::BadLength),
    ] {
        let (source, destination) = ([source], [destination]);
        let call = Call {
            tag: span(1024, tag),
            ..call(session, Operation::Decrypt, &source, &destination)
        };
        lane.submit(&call, 0).unwrap();
        assert_eq!(ends(&mut lane), [end]);
        let mut bytes = [0; 4096];
        lane.read(span(0, 4096), &mut bytes).unwrap();
        assert!(bytes == [5; 4096]);
    }
}
