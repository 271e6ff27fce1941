//! What one tenant may not do to the others: submit what cannot be interrupted,
//! use more than its quota, or end their worker.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use crate::common::crypto_lane::{attach, aws_lc, call, ends, engine};
use crate::common::instead::Instead;
use crate::common::works::{Client, free_running};
use crate::common::{LONG, Tally, WORKER, cells, until, with_quota};
use crypto::{Algorithm, Backend, KeyError, Operation, RsaBits, RsaScheme, Status, generate_key};
use lockgate_engine::{
    Call, CallError, CryptoEngine, CryptoFunction, CryptoLane, Engine, FUNCTION_LANES_PER_S,
    FunctionConfig, FunctionError, LaneConfig, LaneError, LocalLane, RegionId, RequestLimit,
    SessionError, SessionId, Span,
};
use policy::{Moderation, Quota};

const SLAB_BYTES: usize = 1 << 20;

struct Tenant {
    function: CryptoFunction,
    lane: CryptoLane,
    session: SessionId,
    operation: Operation,
}

impl Tenant {
    fn of(engine: &CryptoEngine, algorithm: Algorithm, config: FunctionConfig) -> Self {
        let function = engine.function(config).unwrap();
        let lane = function.lane(0, LaneConfig::default(), SLAB_BYTES, 1024);
        let mut lane = lane.unwrap();
        let session = function.session(algorithm, &generate_key(algorithm));
        let session = attach(&mut lane, session);
        Self {
            function,
            lane,
            session,
            operation: algorithm.operations()[0],
        }
    }

    fn submit(
        &mut self,
        source: &[Span],
        destination: &[Span],
        aad: Span,
    ) -> Result<(), CallError> {
        let is_aead = self.operation == Operation::Encrypt;
        let tag = Span::slab(SLAB_BYTES - 16, if is_aead { 16 } else { 0 });
        let call = Call {
            aad,
            tag,
            ..call(self.session, self.operation, source, destination)
        };
        self.lane.submit(&call, 0)
    }

    fn ends(&mut self) -> Vec<Status> {
        ends(&mut self.lane)
    }
}

const DIGEST: Span = Span::slab(SLAB_BYTES - 64, 32);

#[test]
fn a_request_beyond_the_largest_is_refused_when_it_is_submitted() {
    let engine = engine(aws_lc());
    let usual = FunctionConfig::default();
    let mut hash = Tenant::of(&engine, Algorithm::Sha256, usual);
    let slab = |bytes| Span::slab(0, bytes);
    // The slab once, and the same memory named again and again.
    let refused = hash.submit(&[slab(65_537)], &[DIGEST], Span::EMPTY);
    let limit = 65_536;
    let bytes = 65_537;
    assert_eq!(refused, Err(CallError::TooLong { bytes, limit }));
    let refused = hash.submit(&[slab(4096); 17], &[DIGEST], Span::EMPTY);
    let bytes = 17 * 4096;
    assert_eq!(refused, Err(CallError::TooLong { bytes, limit }));
    let refused = hash.submit(&[slab(16); 1024], &[DIGEST], Span::EMPTY);
    let (count, limit) = (1024, 64);
    assert_eq!(refused, Err(CallError::Segments { count, limit }));
    for most in [&[slab(65_536)][..], &[slab(1024); 64]] {
        hash.submit(most, &[DIGEST], Span::EMPTY).unwrap();
        assert_eq!(hash.ends(), [Status::Ok]);
    }
    // Of an AEAD, what is only authenticated counts as well.
    let mut seal = Tenant::of(&engine, Algorithm::Aes128Gcm, usual);
    let text = Span::slab(0, 32_768);
    let aad = |len| Span::slab(500_000, len);
    let refused = seal.submit(&[text], &[text], aad(32_769));
    assert!(matches!(refused, Err(CallError::TooLong { .. })));
    seal.submit(&[text], &[text], aad(32_768)).unwrap();
    assert_eq!(seal.ends(), [Status::Ok]);
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("65537") && text.contains("65536"), "{text}");
}

#[test]
fn the_largest_request_is_the_owners_to_set() {
    let engine = engine(aws_lc());
    let with = |bytes, segments| FunctionConfig {
        request_max: RequestLimit { bytes, segments },
        ..FunctionConfig::default()
    };
    let spans = [Span::slab(0, 16); 3];
    let mut small = Tenant::of(&engine, Algorithm::Sha256, with(47, 3));
    assert!(small.submit(&spans, &[DIGEST], Span::EMPTY).is_err());
    let mut exact = Tenant::of(&engine, Algorithm::Sha256, with(48, 3));
    exact.submit(&spans, &[DIGEST], Span::EMPTY).unwrap();
    assert_eq!(exact.ends(), [Status::Ok]);
    let config = FunctionConfig {
        request_max: RequestLimit::NONE,
        ..FunctionConfig::default()
    };
    let mut any = Tenant::of(&engine, Algorithm::Sha256, config);
    let half = Span::slab(0, SLAB_BYTES / 2);
    any.submit(&[half; 8], &[DIGEST], Span::EMPTY).unwrap();
    assert_eq!(any.ends(), [Status::Ok]);
    for limit in [with(0, 1), with(1, 0)] {
        let refused = engine.function(limit).unwrap_err();
        assert!(matches!(refused, FunctionError::RequestMax { .. }));
        assert!(refused.to_string().contains("1 at least"), "{refused}");
    }
}

/// Before, a gigabyte a second was authenticated under a quota of bytes.
#[test]
fn additional_data_counts_for_quotas() {
    const PER_S: u64 = 1_000_000;
    let engine = engine(aws_lc());
    let quota = Quota::UNLIMITED.and_bytes(PER_S).unwrap();
    let config = with_quota(quota);
    let mut tenant = Tenant::of(&engine, Algorithm::Aes128Gcm, config);
    let aad = Span::slab(0, 16_384);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(60) {
        while tenant.lane.room() > 0 {
            tenant.submit(&[], &[], aad).unwrap();
        }
        tenant.lane.reap(usize::MAX, |_| ());
    }
    let counters = tenant.function.counters();
    // Read before the time is. Ten milliseconds at once, and a breath beyond.
    let most = PER_S as f64 * (begin.elapsed().as_secs_f64() + 0.01) + 16_384.0;
    let authenticated = counters.requests * 16_384;
    assert!(authenticated as f64 <= most, "{counters:?} of {most}");
    tenant.function.set_quota(Quota::UNLIMITED);
    assert!(tenant.ends().iter().all(|status| *status == Status::Ok));
    let counters = tenant.function.counters();
    assert_eq!(counters.bytes, counters.requests * 16_384, "{counters:?}");
}

#[test]
fn keys_that_protect_nothing_are_for_measuring() {
    let algorithm = Algorithm::Rsa(RsaBits::B1024, RsaScheme::Pkcs1);
    let material = generate_key(algorithm);
    let refused = || Some(KeyError::ForMeasuringOnly { algorithm });
    let strict = engine(aws_lc());
    assert_eq!(strict.session(algorithm, &material).err(), refused());
    let function = strict.function(FunctionConfig::default()).unwrap();
    let of_function = function.session(algorithm, &material).err();
    assert_eq!(of_function, refused().map(SessionError::Key));
    let measuring = strict.for_measuring();
    assert!(measuring.session(algorithm, &material).is_ok());
    let function = measuring.function(FunctionConfig::default()).unwrap();
    assert!(function.session(algorithm, &material).is_ok());
}

const BREAKS: usize = 48;

fn fragile() -> Arc<dyn Backend> {
    Instead::of_aws_lc(|aws_lc, kind, jobs, statuses| {
        let breaks = jobs.iter().any(|job| job.source.first.len == BREAKS);
        assert!(!breaks, "told to");
        // SAFETY: as of the caller, who calls it in the place of this one.
        unsafe { aws_lc.process(kind, jobs, statuses) }
    })
}

#[test]
fn a_back_end_that_panics_fails_its_chunk_and_no_more() {
    let engine = engine(fragile());
    let of = || Tenant::of(&engine, Algorithm::Sha256, FunctionConfig::default());
    let (mut one, mut other) = (of(), of());
    for round in 1..=3 {
        let breaks = [Span::slab(0, BREAKS)];
        one.submit(&breaks, &[DIGEST], Span::EMPTY).unwrap();
        assert_eq!(one.ends(), [Status::BackendFailed]);
        assert_eq!(engine.counters(0).panics, round);
        for tenant in [&mut one, &mut other] {
            let good = [Span::slab(0, 64)];
            tenant.submit(&good, &[DIGEST], Span::EMPTY).unwrap();
            assert_eq!(tenant.ends(), [Status::Ok]);
            let mut digest = [0; 32];
            tenant.lane.read(DIGEST, &mut digest).unwrap();
            assert_ne!(digest, [0; 32]);
            tenant
                .lane
                .write(RegionId::SLAB, DIGEST.offset, &[0; 32])
                .unwrap();
        }
    }
}

/// Before, the worker looked at the time of a quota that was gone, and never slept.
#[test]
fn a_worker_sleeps_when_a_throttled_function_is_gone() {
    let rig = free_running(1);
    let config = with_quota(Quota::UNLIMITED.and_requests(100).unwrap());
    let function = rig.engine.function(config).unwrap();
    let mut throttled = Client::new(function.lane(0, LaneConfig::default()).unwrap(), 0, 100);
    let _plain = rig.engine.lane(0, LaneConfig::default()).unwrap();
    throttled.fill();
    until("never throttled", || function.counters().throttled > 0);
    function.remove(LONG).unwrap();
    // Its time, 10 ms at most, comes and goes by.
    std::thread::sleep(Duration::from_millis(20));
    let worker = || rig.engine.cpu_time(0).unwrap();
    let (before, begin) = (worker(), Instant::now());
    std::thread::sleep(Duration::from_millis(100));
    let (used, of) = (worker() - before, begin.elapsed());
    assert!(used < of / 10, "{used:?} of CPU time in {of:?}");
}

/// Each costs its worker tens of microseconds, charged to no tenant. A tenant that
/// made and dropped lanes as fast as it could left an equal half of its share.
#[test]
fn lanes_are_made_only_so_often() {
    let rig = free_running(1);
    let function = rig.engine.function(FunctionConfig::default()).unwrap();
    let begin = Instant::now();
    let mut made = 0;
    let refused = loop {
        match function.lane(0, LaneConfig::default()) {
            Ok(_) => made += 1,
            // Until the worker has let go of one.
            Err(LaneError::Share { .. }) => std::thread::yield_now(),
            Err(error) => break error,
        }
        assert!(begin.elapsed() < LONG, "{made} lanes");
    };
    assert!(matches!(
        refused,
        LaneError::TooOften {
            per_s: FUNCTION_LANES_PER_S
        }
    ));
    assert!(refused.to_string().contains("256"));
    let most = FUNCTION_LANES_PER_S as f64 * (1.0 + begin.elapsed().as_secs_f64()) + 1.0;
    assert!(
        made as f64 <= most && made >= FUNCTION_LANES_PER_S,
        "{made} of {most}"
    );
    // And again, after a while.
    std::thread::sleep(Duration::from_millis(50));
    function.lane(0, LaneConfig::default()).unwrap();
}

struct Flag {
    is_woken: AtomicBool,
    panics: bool,
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        assert!(!self.panics, "told to");
    }
}

#[test]
fn a_waker_that_panics_does_not_leave_the_others_asleep() {
    let (cells, gate) = (cells(1), Arc::<Mutex<()>>::default());
    let behind = Arc::clone(&gate);
    let engine = Engine::start(&[WORKER], move |_| Tally::new(&cells).behind(&behind)).unwrap();
    let config = LaneConfig {
        moderation: Moderation::Armed,
        ..LaneConfig::default()
    };
    let lane = LocalLane::new(engine.lane(0, config).unwrap());
    let closed = gate.lock().unwrap();
    let job = crate::common::Job {
        cell: 0,
        panics: false,
    };
    let submit = || lane.submit(|lane, token| lane.submit(job, token)).unwrap();
    let mut tasks = [submit(), submit()];
    let flags = [true, false].map(|panics| {
        Arc::new(Flag {
            is_woken: AtomicBool::new(false),
            panics,
        })
    });
    for (task, flag) in tasks.iter_mut().zip(&flags) {
        let waker = Waker::from(Arc::clone(flag));
        let polled = std::pin::Pin::new(task).poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    }
    drop(closed);
    until("it sleeps on", || flags[1].is_woken.load(Ordering::Acquire));
    assert!(flags[0].is_woken.load(Ordering::Acquire));
}
