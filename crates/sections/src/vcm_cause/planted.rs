//! Runs planted faults: through real lanes, spending real CPU time told by the
//! clock, so that the outcome depends little on the machine.
//!
//! ```text
//!  client: prepares (spends) ─► lane ─► device: works (spends)
//!          handles each notification (spends) ◄─┘
//! ```

use std::thread;
use std::time::{Duration, Instant};

use crypto::Status;
use engine::{Batch, Engine, Lane, Outcomes, Service};
use kit::load::rig::Cores;
use sys::affinity::pin_to;
use sys::clock::{now_ns, thread_cpu};

use super::done::{Done, Failure, STUCK, lane, on_own_thread, worker};
use super::place::Setting;
use super::plant::Plant;

/// A request: nothing but its size and when it was sent.
#[derive(Clone, Copy, Debug)]
struct Work {
    bytes: usize,
    sent_ns: u64,
}

struct Device {
    plant: Plant,
    in_flight_bytes: usize,
}

impl Service for Device {
    type Request = Work;

    fn bytes(request: &Work) -> usize {
        request.bytes
    }

    fn process(&mut self, requests: Batch<'_, Work>, outcomes: &mut Outcomes<'_, Work>) {
        for (index, &Work { bytes, sent_ns }) in requests.iter().enumerate() {
            // A distant device answers a while after it was asked, whatever
            // else it was asked meanwhile.
            if let Some(distance_ns) = self.plant.distance_ns(bytes) {
                let due_ns = sent_ns + distance_ns as u64;
                thread::sleep(Duration::from_nanos(due_ns.saturating_sub(now_ns())));
            }
            spend_ns(self.plant.device_ns(bytes, self.in_flight_bytes));
            outcomes.complete(index, Status::Ok);
            outcomes.publish();
        }
    }
}

/// Keeps a lane full for about `length`, then takes back the rest.
fn client(
    plant: Plant,
    setting: &Setting,
    mut lane: Lane<Work>,
    length: Duration,
) -> Result<Done, Failure> {
    let bytes = setting.block_bytes;
    let (prepare_ns, notification_ns) = plant.client_ns(bytes);
    let (begin, cpu_before) = (Instant::now(), thread_cpu());
    let mut done = Done::default();
    loop {
        let is_on = begin.elapsed() < length;
        while is_on && lane.in_flight() < setting.depth {
            spend_ns(prepare_ns);
            let sent_ns = now_ns();
            lane.submit(Work { bytes, sent_ns }, 0)?;
        }
        // Those sent while the last ones were handled, too.
        let notifications = lane.counters().notifications;
        let new = notifications - done.counters.notifications;
        spend_ns(new as f64 * notification_ns);
        done.counters.notifications = notifications;
        if lane.in_flight() == 0 {
            break;
        }
        lane.wait_to_refill(STUCK)?;
        done.requests += lane.reap(usize::MAX, |_| {}) as u64;
    }
    let seen = lane.watch().counters();
    (done.counters.in_flight, done.counters.looks) = (seen.in_flight, seen.looks);
    done.client = thread_cpu() - cpu_before;
    done.time = begin.elapsed();
    Ok(done)
}

/// Runs it on those cores for about `length`.
pub fn run(
    plant: Plant,
    setting: &Setting,
    cores: Cores,
    length: Duration,
) -> Result<Done, Failure> {
    let in_flight_bytes = setting.in_flight_bytes();
    let engine = Engine::start(&[worker(cores)], move |_| Device {
        plant,
        in_flight_bytes,
    })?;
    let lane = engine.lane(0, lane(setting.depth, setting.policy.moderation, cores))?;
    let busy = || engine.cpu_time(0).unwrap_or_default();
    let before = busy();
    let mut done = on_own_thread(|| {
        pin_to(cores.client)?;
        client(plant, setting, lane, length)
    })?;
    done.worker = busy().saturating_sub(before);
    // On a shared core that never idles the time that counts is what the two
    // used of it, so that other programs do not.
    if cores.is_shared() && plant.distance_ns(setting.block_bytes).is_none() {
        done.time = done.time.min(done.client + done.worker);
    }
    Ok(done)
}

/// The client alone, for about `length`.
pub fn alone(plant: Plant, block_bytes: usize, length: Duration) -> Result<Done, Failure> {
    on_own_thread(|| {
        let (begin, cpu_before) = (Instant::now(), thread_cpu());
        let mut done = Done::default();
        while begin.elapsed() < length {
            spend_ns(plant.client_ns(block_bytes).0);
            done.requests += 1;
        }
        done.time = thread_cpu() - cpu_before;
        Ok(done)
    })
}

/// Keeps the calling thread busy for that long by its own CPU time: what other
/// programs take does not count.
fn spend_ns(ns: f64) {
    if ns <= 0.0 {
        return;
    }
    let end = thread_cpu() + Duration::from_nanos(ns as u64);
    while thread_cpu() < end {
        std::hint::spin_loop();
    }
}
