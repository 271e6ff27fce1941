//! Devices on an engine for each placement, and the front-end that loads one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use engine::{CryptoEngine, WorkerConfig};
use kit::evidence::Evidence;
use kit::load::device::serve;
use kit::load::rig::Cores;
use kit::place::Placement;
use kit::prelude::*;
use sys::affinity::pin_to;
use sys::temporary::Folder;
use vhost::front::{Interrupts, Load, LoadConfig, LoadCounts};

use super::{Arm, INTERRUPTS, KICKS, Place, REQUESTS, SETTLE, SPEED, VcmDevice, WORKER_NS, cores};

/// Controllers whose sources look once a second look so often here, ns.
const INTERVAL_NS: u64 = 10_000_000;

/// Between two looks whether a trial is over.
const LOOK: Duration = Duration::from_millis(2);

pub(super) struct OnDevices {
    engines: BTreeMap<Placement, (Arc<CryptoEngine>, Cores)>,
    folder: Folder,
}

impl OnDevices {
    pub(super) fn start(section: &VcmDevice, host: &Host) -> Result<Self, Stopped> {
        let mut engines = BTreeMap::new();
        for (placement, _) in section.places(host).kept {
            let Some(cores) = cores(host, placement) else {
                continue;
            };
            let worker = WorkerConfig {
                cpu: Some(cores.worker),
                is_core_shared: cores.is_shared(),
                ..WorkerConfig::default()
            };
            let backend = Arc::clone(section.0.backend.get());
            let engine = CryptoEngine::start(backend, &[worker]).map_err(Stopped::failed)?;
            engines.insert(placement, (Arc::new(engine), cores));
        }
        let folder = Folder::new("lockgate-vcm-device").map_err(Stopped::failed)?;
        Ok(Self { engines, folder })
    }
}

impl Rig<VcmDevice> for OnDevices {
    fn trial(
        &mut self,
        subject: &Subject<Place, Arm>,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let Subject { place, arm, .. } = subject;
        let (engine, cores) = &self.engines[&place.placement];
        let controller = match arm {
            Arm::Controlled(name) => Some((*name, INTERVAL_NS)),
            _ => None,
        };
        let path = self.folder.path().join("vf.sock");
        let served = serve(engine, path, &[place.kind.algorithm], controller)?;
        let config = LoadConfig {
            kind: place.kind,
            block_bytes: place.block_bytes,
            depth: place.depth,
            interrupts: match arm {
                Arm::Polled => Interrupts::Polled,
                _ => Interrupts::EventIndex,
            },
            delays: *arm == Arm::Delayed,
        };
        let cpu_ns = || {
            engine
                .cpu_time(0)
                .map_or(0.0, |time| time.as_nanos() as f64)
        };
        let is_over = AtomicBool::new(false);
        let trial = || -> Result<(LoadCounts, f64), Stopped> {
            pin_to(cores.client).map_err(Stopped::failed)?;
            let go_on = || !is_over.load(Ordering::Relaxed);
            let mut load = Load::start(served.device.socket(), config).map_err(Stopped::failed)?;
            load.run(SETTLE, &go_on).map_err(Stopped::failed)?;
            let before_ns = cpu_ns();
            let did = load.run(slice, &go_on).map_err(Stopped::failed)?;
            Ok((did, cpu_ns() - before_ns))
        };
        // On a thread of its own, since this one is not to be pinned.
        let on_thread = || {
            let ended = thread::scope(|scope| {
                let running = scope.spawn(trial);
                while !running.is_finished() {
                    thread::sleep(LOOK);
                    is_over.fetch_or(!go_on(), Ordering::Relaxed);
                }
                running.join()
            });
            let ended = ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            ended.map(|(did, worker_ns)| ((did, worker_ns), did.requests))
        };
        let ((did, worker_ns), evidence) = Evidence::around(*cores, on_thread)?;
        drop(served);
        let mut reading = Reading::new(values(place, &did, worker_ns));
        reading.evidence = Some(evidence);
        Ok(reading)
    }
}

fn values(place: &Place, did: &LoadCounts, worker_ns: f64) -> Vec<(Measure, f64)> {
    let requests = did.requests.max(1) as f64;
    let rate = did.requests as f64 / did.seconds;
    vec![
        (REQUESTS, rate),
        (SPEED, rate * place.block_bytes as f64 / 1e6),
        (WORKER_NS, worker_ns / requests),
        (INTERRUPTS, did.interrupts as f64 / requests),
        (KICKS, did.kicks as f64 / requests),
    ]
}
