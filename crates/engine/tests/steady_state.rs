//! In a process of its own: it stands before `malloc`, locks and system calls.
//!
//! In steady state no request allocates, locks, or calls the system except
//! to notify. Proved by counting: this binary's own `malloc`, `free`, mutex
//! and system-call wrappers stand before the C library's, so that Rust's,
//! AWS-LC's and the kernel's doors are all watched.

use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crypto::{Algorithm, Operation, SectorIv, SectorMode, Sectors, Status};
use lockgate_engine::{
    Call, CryptoEngine, CryptoFunction, CryptoLane, FunctionConfig, LaneConfig, Order, SessionId,
    Span, WorkerConfig,
};
use policy::{Moderation, Quota};

static IS_WATCHING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static LOCKS: AtomicU64 = AtomicU64::new(0);
static CALLS: AtomicU64 = AtomicU64::new(0);

fn count(counter: &AtomicU64) {
    if IS_WATCHING.load(Ordering::Relaxed) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(old: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(old: *mut c_void);
    fn dlsym(handle: *mut c_void, name: *const std::ffi::c_char) -> *mut c_void;
}

/// Stands before the C library's function of the same name, counts, and
/// calls glibc's own entry.
macro_rules! stand_before_malloc {
    ($name:ident => $real:ident ($($arg:ident: $type:ty),*) $(-> $return:ty)?) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $type),*) $(-> $return)? {
            count(&ALLOCATIONS);
            // SAFETY: the caller's arguments, passed on unchanged.
            unsafe { $real($($arg),*) }
        }
    };
}

stand_before_malloc!(malloc => __libc_malloc(size: usize) -> *mut c_void);
stand_before_malloc!(calloc => __libc_calloc(n: usize, size: usize) -> *mut c_void);
stand_before_malloc!(realloc => __libc_realloc(old: *mut c_void, size: usize) -> *mut c_void);
stand_before_malloc!(memalign => __libc_memalign(alignment: usize, size: usize) -> *mut c_void);
stand_before_malloc!(aligned_alloc => __libc_memalign(alignment: usize, size: usize) -> *mut c_void);
stand_before_malloc!(free => __libc_free(old: *mut c_void));

/// As above, for functions whose real one must be looked up by name.
macro_rules! stand_before {
    ($counter:ident, $name:ident ($($arg:ident: $type:ty),*) -> $return:ty) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $type),*) -> $return {
            type Real = unsafe extern "C" fn($($type),*) -> $return;
            static REAL: AtomicU64 = AtomicU64::new(0);
            count(&$counter);
            let mut real = REAL.load(Ordering::Relaxed);
            if real == 0 {
                // SAFETY: RTLD_NEXT and a C string.
                let next = unsafe { dlsym(libc::RTLD_NEXT, concat!(stringify!($name), "\0").as_ptr().cast()) };
                real = next as u64;
                REAL.store(real, Ordering::Relaxed);
            }
            // SAFETY: the C library's function of that name and signature.
            let real: Real = unsafe { std::mem::transmute(real as *const c_void) };
            // SAFETY: the caller's arguments, passed on unchanged.
            unsafe { real($($arg),*) }
        }
    };
}

stand_before!(LOCKS, pthread_mutex_lock(mutex: *mut c_void) -> c_int);
stand_before!(LOCKS, pthread_rwlock_rdlock(lock: *mut c_void) -> c_int);
stand_before!(LOCKS, pthread_rwlock_wrlock(lock: *mut c_void) -> c_int);
stand_before!(CALLS, read(fd: c_int, buffer: *mut c_void, len: usize) -> isize);
stand_before!(CALLS, write(fd: c_int, buffer: *const c_void, len: usize) -> isize);
stand_before!(CALLS, ppoll(fds: *mut c_void, n: u64, time: *const c_void, mask: *const c_void) -> c_int);
stand_before!(CALLS, sched_yield() -> c_int);
stand_before!(CALLS, syscall(number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long) -> c_long);

const DEPTH: usize = 16;
const BLOCK: usize = 1040;
const KINDS: [(Algorithm, Operation); 8] = [
    (Algorithm::Aes128Cbc, Operation::Encrypt),
    (Algorithm::Aes256Cbc, Operation::Decrypt),
    (Algorithm::Aes128Ctr, Operation::Encrypt),
    (Algorithm::Aes256Ctr, Operation::Decrypt),
    (Algorithm::Aes128Gcm, Operation::Encrypt),
    (Algorithm::Aes256Gcm, Operation::Encrypt),
    (Algorithm::Aes256Xts, Operation::Encrypt),
    (Algorithm::Sha256, Operation::Hash),
];

/// Of the kernels alone.
fn sectors() -> Vec<(Algorithm, Operation)> {
    let of = |mode: SectorMode| {
        let [.., key_bytes] = mode.key_bytes();
        Sectors::new(mode, SectorIv::EssivSha256, key_bytes, 512)
    };
    let all = SectorMode::ALL.into_iter();
    let all = all.map(|mode| Algorithm::Sectors(of(mode).expect("sizes that there are")));
    let both = [Operation::Encrypt, Operation::Decrypt];
    all.flat_map(|one| both.map(|operation| (one, operation)))
        .collect()
}

struct Rig {
    kinds: Vec<(Algorithm, Operation)>,
    lane: CryptoLane,
    sessions: Vec<SessionId>,
    next: usize,
}

impl Rig {
    fn submit(&mut self) {
        let slot = self.next % DEPTH;
        let which = self.next % self.kinds.len();
        self.next += 1;
        let offset = slot * 2 * BLOCK;
        let (algorithm, operation) = self.kinds[which];
        let bytes = match algorithm {
            Algorithm::Sectors(_) => 1024,
            _ => BLOCK,
        };
        // Some in one piece, some scattered.
        let whole = [Span::slab(offset, bytes)];
        let halves = [Span::slab(offset, 80), Span::slab(offset + 80, bytes - 80)];
        let digest = [Span::slab(offset + BLOCK, 32)];
        let source: &[Span] = if slot.is_multiple_of(3) {
            &halves
        } else {
            &whole
        };
        let destination = if operation == Operation::Hash {
            &digest[..]
        } else {
            source
        };
        let tag = if algorithm.is_aead() {
            Span::slab(offset + BLOCK, 16)
        } else {
            Span::EMPTY
        };
        let call = Call {
            session: self.sessions[which],
            operation,
            source,
            destination,
            iv: Sectors::job_iv(1),
            aad: Span::EMPTY,
            tag,
        };
        self.lane
            .submit(&call, which as u64)
            .expect("there is room");
    }

    fn reap(&mut self) -> usize {
        self.lane.reap(usize::MAX, |done| {
            assert_eq!(done.status, Status::Ok, "kind {}", done.token)
        })
    }

    fn pump(&mut self, requests: usize) {
        let mut done = 0;
        while done < requests {
            while self.lane.room() > 0 {
                self.submit();
            }
            self.lane
                .wait(DEPTH / 2, Duration::from_secs(20))
                .expect("the worker works");
            done += self.reap();
        }
        while self.lane.in_flight() > 0 {
            self.lane
                .wait(1, Duration::from_secs(20))
                .expect("the worker works");
            self.reap();
        }
    }
}

fn rig(
    engine: &CryptoEngine,
    kinds: &[(Algorithm, Operation)],
    owner: Option<&CryptoFunction>,
    moderation: Moderation,
    order: Order,
) -> Rig {
    let config = LaneConfig {
        depth: DEPTH,
        moderation,
        order,
        // What can be cut is, twice.
        piece_bytes: (order == Order::Any).then_some(512),
        ..LaneConfig::default()
    };
    let slab_bytes = DEPTH * 2 * BLOCK;
    let lane = match owner {
        Some(function) => function.lane(0, config, slab_bytes, 2),
        None => engine.lane(0, config, slab_bytes, 2),
    };
    let mut lane = lane.expect("a lane");
    let attach = |&(algorithm, _): &(Algorithm, Operation)| {
        let key = crypto::generate_key(algorithm);
        let session = match owner {
            Some(function) => function.session(algorithm, &key),
            None => engine.session(algorithm, &key).map_err(Into::into),
        };
        let session = session.expect("a key");
        lane.attach(&session).expect("the engine's own")
    };
    let sessions = kinds.iter().map(attach).collect();
    Rig {
        kinds: kinds.to_vec(),
        lane,
        sessions,
        next: 0,
    }
}

fn watch(work: impl FnOnce()) -> (u64, u64, u64) {
    for counter in [&ALLOCATIONS, &LOCKS, &CALLS] {
        counter.store(0, Ordering::Relaxed);
    }
    IS_WATCHING.store(true, Ordering::SeqCst);
    work();
    IS_WATCHING.store(false, Ordering::SeqCst);
    let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    (value(&ALLOCATIONS), value(&LOCKS), value(&CALLS))
}

/// One test, since the counters belong to the whole process.
#[test]
fn a_request_allocates_nothing_locks_nothing_and_only_notifies() {
    // First that the doors are watched at all.
    let (allocations, locks, calls) = watch(|| {
        drop(std::hint::black_box(Vec::<u8>::with_capacity(
            std::hint::black_box(999),
        )));
        // SAFETY: a valid mutex; no arguments.
        unsafe {
            let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
            libc::pthread_mutex_lock(&raw mut mutex);
            libc::sched_yield();
        }
    });
    assert!(
        allocations >= 2 && locks == 1 && calls >= 1,
        "{allocations} {locks} {calls}"
    );

    let backend = crypto::by_name("aws-lc").expect("the base back-end");
    let engine = CryptoEngine::start(backend, &[WorkerConfig::default()]).expect("an engine");
    every_policy(&engine, &KINDS, None);
    // Beside others, in turns, and within a quota that never bites: all of it
    // is counted, too.
    let quota = Quota::UNLIMITED.and_requests(1_000_000_000);
    let config = FunctionConfig {
        weight: 3,
        quota: quota.expect("in range"),
        ..FunctionConfig::default()
    };
    let function = engine.function(config).expect("one");
    let one = |_| engine.lane(0, LaneConfig::default(), 1, 1).expect("a lane");
    let idle: Vec<CryptoLane> = (0..40).map(one).collect();
    every_policy(&engine, &KINDS, Some(&function));
    // Their worker sleeps, and looks up now and then.
    drop((idle, function, engine));
    let kernels = crypto::by_name("kernels").expect("ours");
    let engine = CryptoEngine::start(kernels, &[WorkerConfig::default()]).expect("an engine");
    every_policy(&engine, &sectors(), None);
}

fn every_policy(
    engine: &CryptoEngine,
    kinds: &[(Algorithm, Operation)],
    owner: Option<&CryptoFunction>,
) {
    for moderation in [
        Moderation::Spin,
        Moderation::Polled,
        Moderation::Armed,
        Moderation::Hybrid,
        Moderation::Each,
    ] {
        for order in [Order::Any, Order::Fifo] {
            let mut rig = rig(engine, kinds, owner, moderation, order);
            rig.pump(1000);
            let before = (rig.lane.counters(), engine.counters(0));
            // Not for a minute in all: then the harness says so, and allocates.
            let requests = testing::cases(4_000, 20_000) as usize;
            let (allocations, locks, calls) = watch(|| rig.pump(requests));
            assert_eq!((allocations, locks), (0, 0), "{moderation} {order:?}");
            let (lane, worker) = (rig.lane.counters(), engine.counters(0));
            let notifications = lane.notifications - before.0.notifications;
            let doorbells = lane.doorbells - before.0.doorbells;
            let sleeps = lane.sleeps - before.0.sleeps + worker.sleeps - before.1.sleeps;
            // A notification is a write; a sleep is a ppoll and, woken, a read.
            let most = notifications + doorbells + 2 * sleeps + 4;
            assert!(
                calls <= most,
                "{moderation} {order:?}: {calls} calls, {notifications} + {doorbells} + 2 × {sleeps}"
            );
            if moderation == Moderation::Spin {
                assert_eq!(calls, 0, "no thread sleeps, no thread calls");
            }
        }
    }
}
