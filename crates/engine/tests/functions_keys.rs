//! Keys of virtual functions are gone when they should be, even if clients still
//! hold sessions and lanes.

use std::any::{Any, TypeId};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::common::crypto_lane::{self, ends};
use crate::common::instead::Instead;
use crate::common::{LONG, WORKER, lane_config, until};
use crypto::{Algorithm, Key, KeyMaterial, Operation, Status, generate_key};
use lockgate_engine::{
    Call, CallError, CryptoEngine, CryptoFunction, CryptoLane, FunctionConfig, LaneConfig, Session,
    SessionId, Span, SubmitError,
};
use policy::Moderation;

const WORKERS: usize = 2;
const DEPTH: usize = 32;

/// One test at a time: each looks at all of the process.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

struct CountedKey {
    inner: Box<dyn Key>,
    keys: Arc<AtomicUsize>,
}

impl Key for CountedKey {
    fn part(&self, of: TypeId) -> Option<&dyn Any> {
        self.inner.part(of)
    }
}

impl Drop for CountedKey {
    fn drop(&mut self) {
        self.keys.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Rig {
    engine: CryptoEngine,
    keys: Arc<AtomicUsize>,
}

impl Rig {
    fn new() -> Self {
        let keys = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&keys);
        let held = move |inner| -> Box<dyn Key> {
            counted.fetch_add(1, Ordering::SeqCst);
            let keys = Arc::clone(&counted);
            Box::new(CountedKey { inner, keys })
        };
        let backend = Instead::with_keys_held(held, |aws_lc, kind, jobs, statuses| {
            // SAFETY: as of the caller, who calls it in the place of this one.
            unsafe { aws_lc.process(kind, jobs, statuses) }
        });
        let engine = CryptoEngine::start(backend, &[WORKER; WORKERS]).unwrap();
        Self { engine, keys }
    }

    fn keys(&self) -> usize {
        self.keys.load(Ordering::SeqCst)
    }

    fn function(&self) -> CryptoFunction {
        self.engine.function(FunctionConfig::default()).unwrap()
    }
}

fn lane(function: &CryptoFunction, worker: usize) -> CryptoLane {
    let config = lane_config(DEPTH, Moderation::Armed);
    function.lane(worker, config, 4096, 1).unwrap()
}

fn lanes(function: &CryptoFunction) -> Vec<CryptoLane> {
    (0..WORKERS).map(|worker| lane(function, worker)).collect()
}

fn call(session: SessionId) -> Call<'static> {
    const BLOCK: &[Span] = &[Span::slab(0, 64)];
    crypto_lane::call(session, Operation::Encrypt, BLOCK, BLOCK)
}

fn fill(lane: &mut CryptoLane, session: SessionId) -> usize {
    while lane.room() > 0 {
        lane.enqueue(&call(session), 0).unwrap();
    }
    lane.kick();
    lane.in_flight()
}

/// How many are done, and how many cancelled.
fn drain(lane: &mut CryptoLane) -> (usize, usize) {
    let ends = ends(lane);
    let count = |of| ends.iter().filter(|&&end| end == of).count();
    let (done, cancelled) = (count(Status::Ok), count(Status::Cancelled));
    assert_eq!(done + cancelled, ends.len(), "{ends:?}");
    (done, cancelled)
}

fn session(function: &CryptoFunction, algorithm: Algorithm) -> Arc<Session> {
    function
        .session(algorithm, &generate_key(algorithm))
        .unwrap()
}

#[test]
fn a_reset_takes_the_keys_from_sessions_and_lanes_that_outlive_it() {
    let _alone = alone();
    let rig = Rig::new();
    let (function, other) = (rig.function(), rig.function());
    let mut lanes = lanes(&function);
    let own = session(&function, Algorithm::Aes128Ctr);
    let others = session(&other, Algorithm::Aes128Ctr);
    let mut others_lane = lane(&other, 0);
    let others_id = others_lane.attach(&others).unwrap();
    let ids: Vec<SessionId> = lanes
        .iter_mut()
        .map(|lane| lane.attach(&own).unwrap())
        .collect();
    assert_eq!(rig.keys(), 2 * WORKERS);
    for (lane, id) in lanes.iter_mut().zip(&ids) {
        assert_eq!(fill(lane, *id), DEPTH);
    }
    function.reset(LONG).unwrap();
    assert_eq!(rig.keys(), WORKERS, "the other function's");
    assert!(own.is_ended() && !others.is_ended());
    for (lane, id) in lanes.iter_mut().zip(&ids) {
        let (done, cancelled) = drain(lane);
        assert_eq!(done + cancelled, DEPTH);
        let refused = lane.submit(&call(*id), 0);
        assert_eq!(refused, Err(CallError::SessionEnded));
        assert_eq!(lane.attach(&own), Err(CallError::SessionEnded));
        // A lane is as good as new.
        let again = session(&function, Algorithm::Aes128Ctr);
        let again = lane.attach(&again).unwrap();
        fill(lane, again);
        assert_eq!(drain(lane), (DEPTH, 0));
    }
    fill(&mut others_lane, others_id);
    assert_eq!(drain(&mut others_lane), (DEPTH, 0));
}

#[test]
fn a_removed_function_has_no_keys_though_its_lanes_live_on() {
    let _alone = alone();
    let rig = Rig::new();
    for is_dropped in [false, true] {
        let function = rig.function();
        let mut lanes = lanes(&function);
        let own = session(&function, Algorithm::Aes256Gcm);
        let id = lanes[0].attach(&own).unwrap();
        lanes[1].attach(&own).unwrap();
        if is_dropped {
            drop(function);
            until("keys are left", || rig.keys() == 0);
        } else {
            function.remove(LONG).unwrap();
        }
        assert_eq!(rig.keys(), 0);
        let refused = lanes[0].submit(&call(id), 0);
        assert!(matches!(
            refused,
            Err(CallError::SessionEnded | CallError::Submit(SubmitError::Closed(_)))
        ));
    }
}

#[test]
fn keys_end_after_the_engine_too() {
    let _alone = alone();
    let rig = Rig::new();
    let function = rig.function();
    let mut lane = lane(&function, 0);
    let own = session(&function, Algorithm::Aes128Ctr);
    lane.attach(&own).unwrap();
    let keys = Arc::clone(&rig.keys);
    drop(rig);
    assert_eq!(keys.load(Ordering::SeqCst), WORKERS);
    function.remove(LONG).unwrap();
    assert_eq!(keys.load(Ordering::SeqCst), 0);
    assert!(own.is_ended());
}

#[test]
fn sessions_are_their_functions_own() {
    let _alone = alone();
    let rig = Rig::new();
    let (one, other) = (rig.function(), rig.function());
    let session = session(&one, Algorithm::Aes128Ctr);
    let refused = lane(&other, 0).attach(&session);
    assert_eq!(refused, Err(CallError::ForeignSession));
    let mut plain = rig.engine.lane(0, LaneConfig::default(), 64, 1).unwrap();
    assert_eq!(plain.attach(&session), Err(CallError::ForeignSession));
    // A session that no one holds any more is gone at once.
    drop(session);
    assert_eq!(rig.keys(), 0);
}

/// What the key bytes are kept under, so that the test is not what is found.
const MASK: u8 = 0x5a;

/// How often the key that `masked` hides lies in this process's own writable
/// memory.
fn copies(masked: &[u8]) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let memory = std::fs::File::open("/proc/self/mem").unwrap();
    let mut chunk = vec![0_u8; 1 << 16];
    let mut count = 0;
    for line in maps.lines().filter(|line| line.contains(" rw-p ")) {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let mut at = u64::from_str_radix(from, 16).unwrap();
        let to = u64::from_str_radix(to, 16).unwrap();
        while at < to {
            let len = chunk.len().min((to - at) as usize);
            // Some, such as guard pages, cannot be read.
            if memory.read_exact_at(&mut chunk[..len], at).is_ok() {
                let is_key = |bytes: &[u8]| bytes.iter().zip(masked).all(|(a, b)| a ^ MASK == *b);
                count += chunk[..len]
                    .windows(masked.len())
                    .filter(|bytes| is_key(bytes))
                    .count();
            }
            chunk.fill(0);
            std::hint::black_box(&chunk);
            // The next chunk overlaps, for a key across the border.
            at += if at + (len as u64) < to {
                len - masked.len()
            } else {
                len
            } as u64;
        }
    }
    count
}

/// Round keys of AES begin with the key itself, so that it can be found.
#[test]
fn no_copy_of_a_key_is_left_in_memory() {
    let _alone = alone();
    for algorithm in [
        Algorithm::Aes128Ctr,
        Algorithm::Aes128Gcm,
        Algorithm::Aes128Cbc,
    ] {
        let rig = Rig::new();
        let function = rig.function();
        let masked: Vec<u8> = generate_key(algorithm)
            .expose()
            .iter()
            .map(|byte| byte ^ MASK)
            .collect();
        let mut raw: Vec<u8> = masked.iter().map(|byte| byte ^ MASK).collect();
        let material = KeyMaterial::take(&mut raw);
        let own = function.session(algorithm, &material).unwrap();
        drop(material);
        let mut lanes = lanes(&function);
        let tag = if algorithm == Algorithm::Aes128Gcm {
            Span::slab(64, 16)
        } else {
            Span::EMPTY
        };
        for lane in &mut lanes {
            let id = lane.attach(&own).unwrap();
            for token in 0..DEPTH as u64 {
                lane.enqueue(&Call { tag, ..call(id) }, token).unwrap();
            }
            assert_eq!(drain(lane), (DEPTH, 0));
        }
        assert!(
            copies(&masked) >= WORKERS,
            "{algorithm}: the scan finds keys"
        );
        function.reset(LONG).unwrap();
        assert_eq!(copies(&masked), 0, "{algorithm}");
    }
}
