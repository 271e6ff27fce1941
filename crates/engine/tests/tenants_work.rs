//! What a tenant's requests are cut into, what they are charged, and when a barrier is
//! notified of.

use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use crate::common::crypto_lane::{attach, call, ends, engine};
use crate::common::instead::Instead;
use crate::common::{LONG, WORKER, cases, lane_config, until};
use crypto::{Algorithm, Backend, Kind, Operation, Segments, Status, generate_key};
use lockgate_engine::{
    Batch, Call, CryptoEngine, CryptoFunction, CryptoLane, Engine, FunctionConfig, Hint, Lane,
    LaneConfig, Outcomes, RegionId, Service, SessionId, Span,
};
use policy::{Moderation, Settings};
use proptest::prelude::*;

const PIECE: usize = 512;
const SLAB_BYTES: usize = 1 << 18;

fn bytes(list: &Segments) -> usize {
    let rest = |at| {
        // SAFETY: the list of a job that is being processed.
        unsafe { (*list.rest.add(at)).len }
    };
    list.first.len + (0..list.rest_count as usize).map(rest).sum::<usize>()
}

fn watched() -> (Arc<dyn Backend>, Arc<Mutex<Vec<usize>>>) {
    let seen = Arc::<Mutex<Vec<usize>>>::default();
    let shared = Arc::clone(&seen);
    let backend = Instead::of_aws_lc(move |aws_lc, kind, jobs, statuses| {
        let mut seen = shared.lock().unwrap();
        seen.extend(jobs.iter().map(|job| bytes(&job.source)));
        if !statuses.is_empty() {
            // SAFETY: as of the caller, who calls it in the place of this one.
            unsafe { aws_lc.process(kind, jobs, statuses) }
        }
    });
    (backend, seen)
}

/// Every kind, contiguous and scattered, in place and apart: what is longer than a piece
/// is done in pieces, if it is no AEAD, and comes to the same.
#[test]
fn what_can_be_cut_is_cut_however_it_lies() {
    const BYTES: usize = 16_384;
    let (backend, seen) = watched();
    let engine = engine(Arc::clone(&backend));
    let config = LaneConfig {
        piece_bytes: Some(PIECE),
        ..LaneConfig::default()
    };
    let function = engine.function(FunctionConfig::default()).unwrap();
    let mut cut = function.lane(0, config, SLAB_BYTES, 64).unwrap();
    let mut whole = function
        .lane(0, LaneConfig::default(), SLAB_BYTES, 64)
        .unwrap();
    let text: Vec<u8> = (0..BYTES).map(|at| (at * 7 % 251) as u8).collect();
    let scattered = |begin: usize, step: usize| -> Vec<Span> {
        // Of no round length, each behind a gap.
        let lens = (0..BYTES)
            .step_by(step)
            .map(|at| (at, step.min(BYTES - at)));
        lens.map(|(at, len)| Span::slab(begin + at + at / step, len))
            .collect()
    };
    let kinds =
        Kind::all().filter(|&kind| backend.supports(kind) && !kind.algorithm.is_public_key());
    let mut cut_kinds = 0;
    for kind in kinds {
        let session = function
            .session(kind.algorithm, &generate_key(kind.algorithm))
            .unwrap();
        let sessions = [&mut cut, &mut whole].map(|lane| lane.attach(&session).unwrap());
        let is_hash = kind.operation == Operation::Hash;
        let digest = [Span::slab(SLAB_BYTES - 64, kind.algorithm.digest_bytes())];
        let at = |begin| vec![Span::slab(begin, BYTES)];
        for (source, destination) in [
            (at(3), at(3)),
            (at(3), at(100_000)),
            (scattered(3, 333), scattered(3, 333)),
            (scattered(3, 1111), scattered(100_000, 777)),
            (at(3), scattered(100_000, 271)),
            (scattered(3, 9000), scattered(100_000, 5000)),
            (scattered(3, 600), at(100_000)),
        ] {
            let destination = if is_hash {
                digest.to_vec()
            } else {
                destination
            };
            let mut left = Vec::new();
            for (lane, session) in [&mut cut, &mut whole].into_iter().zip(sessions) {
                lane.write(RegionId::SLAB, 0, &vec![0; SLAB_BYTES]).unwrap();
                let mut rest = &text[..];
                for span in &source {
                    let (now, later) = rest.split_at(span.len);
                    lane.write(RegionId::SLAB, span.offset, now).unwrap();
                    rest = later;
                }
                let is_aead = kind.algorithm.is_aead();
                let call = Call {
                    iv: [0xff; 16],
                    tag: Span::slab(SLAB_BYTES - 96, if is_aead { 16 } else { 0 }),
                    ..call(session, kind.operation, &source, &destination)
                };
                seen.lock().unwrap().clear();
                lane.submit(&call, 0).unwrap();
                let ends = ends(lane);
                let mut slab = vec![0; SLAB_BYTES];
                lane.read(Span::slab(0, SLAB_BYTES), &mut slab).unwrap();
                left.push((ends, slab, std::mem::take(&mut *seen.lock().unwrap())));
            }
            let [(end, slab, pieces), (other_end, other, one)] = <[_; 2]>::try_from(left).unwrap();
            assert_eq!(end, other_end, "{kind:?}");
            assert!(slab == other, "{kind:?} {source:?} {destination:?}");
            assert_eq!(one, [BYTES], "{kind:?}");
            if kind.algorithm.is_aead() {
                assert_eq!(pieces, [BYTES], "{kind:?}");
            } else {
                assert_eq!(end, [Status::Ok], "{kind:?}");
                assert_eq!(pieces, [PIECE; BYTES / PIECE], "{kind:?}");
                cut_kinds += 1;
            }
        }
        cut.detach(sessions[0]).unwrap();
        whole.detach(sessions[1]).unwrap();
    }
    // ECB, CBC, CTR of three key sizes and XTS of one, both ways; hashes and HMAC.
    assert_eq!(cut_kinds, 7 * (2 * 10 + 5));
}

/// What a back-end refuses as a whole is not begun.
#[test]
fn what_is_refused_is_refused_whole() {
    let (backend, seen) = watched();
    let engine = engine(backend);
    let config = LaneConfig {
        piece_bytes: Some(PIECE),
        ..LaneConfig::default()
    };
    let mut lane = engine.lane(0, config, SLAB_BYTES, 8).unwrap();
    let before: Vec<u8> = (0..SLAB_BYTES).map(|at| (at % 253) as u8).collect();
    lane.write(RegionId::SLAB, 0, &before).unwrap();
    let slab = Span::slab;
    let in_two = |first, second| vec![slab(first, 2048), slab(second, 2048)];
    let at = |offset, bytes| vec![slab(offset, bytes)];
    use Algorithm::{Aes128Cbc, Aes128Ctr, Aes128Gcm, Aes256Xts, Sha256};
    use Status::{BadLength, BadSegment};
    for (algorithm, source, destination, tag, end) in [
        (Aes128Ctr, at(0, 4096), at(100, 4096), 0, BadSegment),
        (Aes128Ctr, at(0, 4096), at(8192, 4095), 0, BadLength),
        (Aes128Ctr, at(0, 4096), at(8192, 4096), 16, BadLength),
        (Aes128Gcm, at(0, 4096), at(8192, 4096), 12, BadLength),
        (Aes128Gcm, at(0, 4096), at(8192, 4080), 16, BadLength),
        (Aes128Cbc, at(0, 4097), at(8192, 4097), 0, BadLength),
        // Piece by piece they would not overlap.
        (
            Aes128Ctr,
            in_two(0, 4096),
            in_two(4096, 8192),
            0,
            BadSegment,
        ),
        (Aes256Xts, in_two(0, 4096), at(8192, 4095), 0, BadLength),
        (Sha256, at(0, 4096), at(8192, 31), 0, BadLength),
        (Sha256, at(0, 4096), at(64, 32), 0, BadSegment),
    ] {
        let session = engine.session(algorithm, &generate_key(algorithm));
        let session = attach(&mut lane, session);
        let call = Call {
            tag: slab(SLAB_BYTES - 16, tag),
            ..call(session, algorithm.operations()[0], &source, &destination)
        };
        seen.lock().unwrap().clear();
        lane.submit(&call, 0).unwrap();
        assert_eq!(
            ends(&mut lane),
            [end],
            "{algorithm} {source:?} {destination:?}"
        );
        assert_eq!(seen.lock().unwrap().len(), 1);
        let mut after = vec![0; SLAB_BYTES];
        lane.read(slab(0, SLAB_BYTES), &mut after).unwrap();
        assert!(after == before, "{algorithm}");
    }
}

/// A lane of a function, with a session for AES-128-CTR.
fn counter_mode(
    backend: Arc<dyn Backend>,
) -> (CryptoEngine, CryptoFunction, CryptoLane, SessionId) {
    let engine = engine(backend);
    let function = engine.function(FunctionConfig::default()).unwrap();
    let lane = function.lane(0, LaneConfig::default(), SLAB_BYTES, 64);
    let mut lane = lane.unwrap();
    let algorithm = Algorithm::Aes128Ctr;
    let session = function.session(algorithm, &generate_key(algorithm));
    let session = attach(&mut lane, session);
    (engine, function, lane, session)
}

/// What a list takes, measured, is charged, and if it is refused in the end, too.
#[test]
fn lists_are_charged_what_they_take() {
    const TAKES: Duration = Duration::from_micros(10);
    for end in [Status::Ok, Status::BadSegment] {
        let backend = Instead::of_aws_lc(move |_, _, jobs, statuses| {
            assert_eq!(
                jobs.len(),
                1,
                "done alone, so that it is known what it took"
            );
            let begin = Instant::now();
            while begin.elapsed() < TAKES {
                std::hint::spin_loop();
            }
            statuses.fill(end);
        });
        let (_engine, function, mut lane, session) = counter_mode(backend);
        let source: Vec<Span> = (0..64).map(|at| Span::slab(at * 2, 1)).collect();
        let destination: Vec<Span> = (0..64).map(|at| Span::slab(at * 2 + 1, 1)).collect();
        let call = call(session, Operation::Encrypt, &source, &destination);
        const COUNT: u64 = 320;
        for _ in 0..COUNT / 64 {
            (0..64).for_each(|_| lane.enqueue(&call, 0).unwrap());
            assert!(ends(&mut lane).iter().all(|&one| one == end));
        }
        let charged_ns = function.counters().work_ns / COUNT;
        let takes_ns = TAKES.as_nanos() as u64;
        assert!(
            charged_ns > takes_ns * 3 / 4,
            "{charged_ns} ns of {takes_ns}, {end:?}"
        );
    }
}

/// Takes twice as long as it says.
struct Late;

const SAYS: Duration = Duration::from_micros(5);

impl Service for Late {
    type Request = ();

    const IS_TIMED: bool = true;

    fn bytes((): &()) -> usize {
        1
    }

    fn work_ns(&self, (): &()) -> u64 {
        SAYS.as_nanos() as u64
    }

    fn process(&mut self, requests: Batch<'_, ()>, outcomes: &mut Outcomes<'_, ()>) {
        for index in 0..requests.len() {
            let begin = Instant::now();
            while begin.elapsed() < SAYS * 2 {}
            outcomes.complete(index, Status::Ok);
        }
    }
}

/// However little a request takes beyond what it was expected to, a tenant that asks for
/// nothing else pays for it.
#[test]
fn what_always_takes_longer_is_charged_by_the_clock() {
    const COUNT: u64 = 20_000;
    let engine = Engine::start(&[WORKER], |_| Late).unwrap();
    let function = engine.function(FunctionConfig::default()).unwrap();
    let mut lane = function.lane(0, LaneConfig::default()).unwrap();
    let mut left = COUNT;
    while left > 0 || lane.in_flight() > 0 {
        while left > 0 && lane.submit((), 0).is_ok() {
            left -= 1;
        }
        lane.wait(1, LONG).unwrap();
        lane.reap(usize::MAX, |_| ());
    }
    let charged_ns = function.counters().work_ns / COUNT;
    let takes_ns = 2 * SAYS.as_nanos() as u64;
    assert!(charged_ns > takes_ns * 3 / 4, "{charged_ns} of {takes_ns}");
}

/// Whoever has one request at a time is away when it is decided who is next. One whose
/// requests take far more than they say does not have the worker to itself then.
#[test]
fn a_debt_is_paid_though_the_others_come_and_go() {
    testing::timed(|| {
        let engine = Engine::start(&[WORKER], |_| Spins).unwrap();
        let functions = [(); 2].map(|()| engine.function(FunctionConfig::default()).unwrap());
        let config = LaneConfig {
            depth: 64,
            ..LaneConfig::default()
        };
        let [mut long, mut short] = functions.each_ref().map(|one| one.lane(0, config).unwrap());
        let (mut longs, mut shorts) = (0, 0);
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(200) {
            while long.in_flight() < 2 {
                long.submit(Duration::from_micros(200), 0).unwrap();
            }
            long.reap(usize::MAX, |_| longs += 1);
            if short.in_flight() == 0 {
                short.submit(Duration::from_micros(1), 0).unwrap();
            }
            short.reap(usize::MAX, |_| shorts += 1);
        }
        // Half of the time is free for the short ones, each there and back in less than 20
        // microseconds on any host; without that one goes between two of the long ones.
        assert!(shorts > 4 * longs, "{shorts} beside {longs}");
    });
}

/// Takes as long as its request says, and expects a microsecond.
struct Spins;

impl Service for Spins {
    type Request = Duration;

    const IS_TIMED: bool = true;

    fn bytes(_: &Duration) -> usize {
        1
    }

    fn work_ns(&self, _: &Duration) -> u64 {
        1000
    }

    fn process(&mut self, requests: Batch<'_, Duration>, outcomes: &mut Outcomes<'_, Duration>) {
        for (index, length) in requests.iter().enumerate() {
            let begin = Instant::now();
            while begin.elapsed() < *length {}
            outcomes.complete(index, Status::Ok);
            outcomes.publish();
        }
    }
}

#[test]
fn what_a_request_takes_beside_the_back_end_is_charged() {
    const COUNT: usize = 20_000;
    let nothing = Instead::of_aws_lc(|_, _, _, statuses| statuses.fill(Status::Ok));
    let (_engine, function, mut lane, session) = counter_mode(nothing);
    let block = [Span::slab(0, 16)];
    let call = call(session, Operation::Encrypt, &block, &block);
    for _ in 0..COUNT / 64 {
        (0..64).for_each(|_| lane.enqueue(&call, 0).unwrap());
        ends(&mut lane);
    }
    // Of a back-end that does nothing, a chunk takes no time: its clock's alone.
    let charged_ns = function.counters().work_ns / COUNT as u64;
    assert!(charged_ns >= 10, "{charged_ns} ns");
}

/// Work that is expected, and that it takes beyond that.
#[derive(Clone, Copy, Debug)]
struct Dear {
    who: usize,
    work_ns: u64,
    beyond_ns: u64,
}

struct Counts(Arc<Mutex<[u64; 2]>>);

impl Service for Counts {
    type Request = Dear;

    fn bytes(_: &Dear) -> usize {
        1
    }

    fn work_ns(&self, request: &Dear) -> u64 {
        request.work_ns
    }

    fn process(&mut self, requests: Batch<'_, Dear>, outcomes: &mut Outcomes<'_, Dear>) {
        let mut done = self.0.lock().unwrap();
        for (index, dear) in requests.iter().enumerate() {
            // Only what was done for both while both had work.
            done[dear.who] += 1;
            outcomes.charge(index, dear.beyond_ns);
            outcomes.complete(index, Status::Ok);
        }
    }
}

#[test]
fn who_takes_more_than_expected_gets_fewer_turns() {
    let counts = Arc::<Mutex<[u64; 2]>>::default();
    let shared = Arc::clone(&counts);
    let engine = Engine::start(&[WORKER], move |_| Counts(Arc::clone(&shared))).unwrap();
    const COUNT: usize = 2000;
    let config = LaneConfig {
        depth: COUNT,
        ..LaneConfig::default()
    };
    let functions = [(); 2].map(|()| engine.function(FunctionConfig::default()).unwrap());
    let mut lanes = functions.each_ref().map(|one| one.lane(0, config).unwrap());
    // The worker waits until all is there.
    let held = counts.lock().unwrap();
    for (who, lane) in lanes.iter_mut().enumerate() {
        let (work_ns, beyond_ns) = [(1000, 0), (100, 900)][who];
        for _ in 0..COUNT {
            let dear = Dear {
                who,
                work_ns,
                beyond_ns,
            };
            lane.enqueue(dear, 0).unwrap();
        }
        lane.kick();
    }
    drop(held);
    let mut first = None;
    while first.is_none() {
        let done = *counts.lock().unwrap();
        first = done
            .iter()
            .any(|&done| done >= COUNT as u64 / 2)
            .then_some(done);
    }
    let done = first.unwrap();
    // A breath or two apart.
    assert!(done[0].abs_diff(done[1]) < COUNT as u64 / 8, "{done:?}");
    for lane in &mut lanes {
        while lane.in_flight() > 0 {
            lane.wait(1, LONG).unwrap();
            lane.reap(usize::MAX, |_| ());
        }
    }
    let charged = functions.each_ref().map(|one| one.counters().work_ns);
    // And half a microsecond for each notification, of which there are few.
    let least = COUNT as u64 * 1000;
    let is_all = charged
        .iter()
        .all(|charged| (least..least + least / 8).contains(charged));
    assert!(is_all, "{charged:?}");
}

/// A tenant that is notified of each of its requests pays for that, too.
#[test]
fn notifications_are_charged() {
    let counts = Arc::<Mutex<[u64; 2]>>::default();
    let engine = Engine::start(&[WORKER], move |_| Counts(Arc::clone(&counts))).unwrap();
    let function = engine.function(FunctionConfig::default()).unwrap();
    let config = LaneConfig {
        moderation: Moderation::Each,
        ..LaneConfig::default()
    };
    let mut lane = function.lane(0, config).unwrap();
    let cheap = Dear {
        who: 0,
        work_ns: 10,
        beyond_ns: 0,
    };
    (0..64).for_each(|_| lane.submit(cheap, 0).unwrap());
    while lane.in_flight() > 0 {
        lane.wait(1, LONG).unwrap();
        lane.reap(usize::MAX, |_| ());
    }
    // What the last breath is charged, it is after its requests are reaped.
    until("not all is charged", || {
        function.counters().work_ns >= 64 * 500
    });
    assert_eq!(function.counters().notifications, 64);
}

#[derive(Clone, Copy, Debug)]
struct Pieces(usize);

/// Processes a batch a message, and says when it waits for one.
struct Stepped(mpsc::Receiver<()>, mpsc::Sender<()>);

impl Service for Stepped {
    type Request = Pieces;

    fn bytes(request: &Pieces) -> usize {
        request.0 * PIECE
    }

    fn split(&mut self, request: &mut Pieces, _: usize) -> Option<Pieces> {
        request.0 -= 1;
        Some(Pieces(1))
    }

    fn process(&mut self, requests: Batch<'_, Pieces>, outcomes: &mut Outcomes<'_, Pieces>) {
        let _ = self.1.send(());
        let _ = self.0.recv_timeout(LONG);
        (0..requests.len()).rev().for_each(|index| {
            outcomes.complete(index, Status::Ok);
            outcomes.publish();
        });
    }
}

const BREATH: usize = 32;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    /// A client that waits for a barrier is notified in the breath that completes it,
    /// and of nothing else, whatever follows and for however long.
    #[test]
    fn a_barrier_waits_for_what_was_before_it_alone(
        requests in proptest::collection::vec((1usize..12, 0u8..4), 1..BREATH - 1),
    ) {
        let ((step, steps), (waits, waiting)) = (mpsc::channel(), mpsc::channel());
        let stepped = Mutex::new(Some(Stepped(steps, waits)));
        let engine = Engine::start(&[WORKER], move |_| stepped.lock().unwrap().take().unwrap());
        let engine = engine.unwrap();
        // Dropped before the engine, which ends when it has done all.
        let step = step;
        let config = LaneConfig {
            settings: Settings::coalesce(64, 1_000_000).unwrap(),
            piece_bytes: Some(PIECE),
            ..lane_config(64, Moderation::Each)
        };
        let mut lane: Lane<Pieces> = engine.lane(0, config).unwrap();
        // The worker has this one in hand while the others come.
        lane.submit(Pieces(1), 99).unwrap();
        waiting.recv_timeout(LONG).unwrap();
        for &(pieces, hint) in &requests {
            let hint = if hint == 0 { Hint::Barrier } else { Hint::None };
            lane.enqueue_with(Pieces(pieces), 0, hint).unwrap();
        }
        // And this one is never done.
        lane.submit(Pieces(1000), 99).unwrap();
        let is_due = |breath: usize| {
            let mut last = 0;
            requests.iter().any(|&(pieces, hint)| {
                last = last.max(pieces);
                hint == 0 && last == breath
            })
        };
        for breath in 0..15 {
            let before = lane.counters().notifications;
            step.send(()).unwrap();
            waiting.recv_timeout(LONG).unwrap();
            let told = lane.counters().notifications - before;
            let expected = u64::from(breath > 0 && is_due(breath));
            prop_assert_eq!(told, expected, "breath {} of {:?}", breath, requests);
        }
    }
}
