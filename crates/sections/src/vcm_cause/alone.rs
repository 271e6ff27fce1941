//! How fast the client of a load is alone: only the time that it spends on
//! making requests and taking completions counts, not what passes until they
//! are done.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crypto::{Backend, Kind, Workload};
use engine::CryptoEngine;
use kit::load::rig::Cores;
use kit::load::slots::Slots;
use policy::Moderation;
use sys::affinity::pin_to;
use sys::clock::thread_cpu;

use super::done::{Done, Failure, STUCK, lane, on_own_thread, worker};
use super::place::Setting;

/// Runs it on those cores for about `length`.
pub fn run(
    backend: &Arc<dyn Backend>,
    kind: Kind,
    setting: &Setting,
    cores: Cores,
    length: Duration,
) -> Result<Done, Failure> {
    let workload = &Workload::new(backend, kind, setting.block_bytes)?;
    on_own_thread(|| {
        let depth = setting.depth;
        let engine = CryptoEngine::start(Arc::clone(backend), &[worker(cores)])?.for_measuring();
        // A worker started later could run nowhere else.
        pin_to(cores.client)?;
        let session = engine.session(kind.algorithm, &workload.material)?;
        let config = lane(depth, Moderation::Armed, cores);
        let mut lane = engine.lane(0, config, 1, 1)?;
        let slots = Slots::of_lane(&mut lane, workload, depth)?;
        let session = lane.attach(&session)?;
        let (begin, mut done) = (Instant::now(), Done::default());
        while done.requests == 0 || begin.elapsed() < length {
            let before = thread_cpu();
            for slot in 0..depth {
                let number = done.requests + slot as u64;
                slots.enqueue(&mut lane, session, slot, number)?;
            }
            done.time += thread_cpu() - before;
            while lane.wait(lane.in_flight(), STUCK)? < lane.in_flight() {}
            let before = thread_cpu();
            done.requests += lane.reap(usize::MAX, |_| {}) as u64;
            done.time += thread_cpu() - before;
        }
        Ok(done)
    })
}
