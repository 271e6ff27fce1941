//! Front-ends that play guests, all on the clients' core, one worker on another.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crypto::Kind;
use engine::{CryptoEngine, WorkerConfig};
use kit::evidence::Evidence;
use kit::load::device::{Served, serve};
use kit::load::rig::Cores;
use kit::prelude::*;
use sys::affinity::pin_to;
use sys::temporary::Folder;
use vhost::Device;
use vhost::front::{Hostile, Hostility, Interrupts, Load, LoadConfig};

use super::case::{Case, Home, Tenant};
use super::rig::Did;
use super::window::{Course, Shared, Window};
use super::{ALGORITHM, Place, VcmGuests};

/// Controllers whose sources look once a second look so often here, ns.
const INTERVAL_NS: u64 = 10_000_000;
/// Before a trial counts.
const SETTLE: Duration = Duration::from_millis(60);
/// The least that a thread can claim of its core.
const NICE: i32 = 19;
/// Longer than any trial.
const LONG: Duration = Duration::from_secs(3600);

pub(super) struct Fronts {
    section: VcmGuests,
    /// One whose worker sleeps as soon as it has nothing to do, so that it is seen whether
    /// tenants keep it busy; and for controllers one whose worker looks for a while.
    engines: [CryptoEngine; 2],
    cores: Cores,
    /// A CPU that no good one needs, where there is one.
    hostile_cpu: usize,
    folder: Folder,
}

impl Fronts {
    pub(super) fn start(section: &VcmGuests, host: &Host) -> Result<Self, Stopped> {
        let cores = VcmGuests::cores(host).expect("else there are no such subjects");
        let backend = section.0.backend.get();
        let start = |idle_spin| {
            let worker = WorkerConfig {
                cpu: Some(cores.worker),
                idle_spin,
                ..WorkerConfig::default()
            };
            CryptoEngine::start(Arc::clone(backend), &[worker]).map_err(Stopped::failed)
        };
        let is_spare = |cpu: &&usize| !cores.all().contains(cpu);
        Ok(Self {
            section: section.clone(),
            engines: [start(Some(Duration::ZERO))?, start(None)?],
            cores,
            hostile_cpu: *host.cpus.iter().find(is_spare).unwrap_or(&cores.client),
            folder: Folder::new("lockgate-vcm-guests").map_err(Stopped::failed)?,
        })
    }

    pub(super) fn trial(
        &self,
        (place, case): (&Place, Case),
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Did, Stopped> {
        let controller = case.controller(Home::FrontEnd, &self.section.0);
        let engine = &self.engines[usize::from(controller.is_some())];
        let served = self.serve(engine, (case, controller))?;
        let ran = || -> Result<_, Stopped> {
            let shared = Shared {
                engine,
                devices: served.iter().map(|own| &own.device).collect(),
            };
            let (window, turns) = self.run((place, case), &shared, slice, go_on)?;
            let requests = window.tenants.iter().map(|own| own.requests).sum();
            Ok(((window, turns), requests))
        };
        let ((window, turns), evidence) = Evidence::around(self.cores, ran)?;
        Ok(Did {
            window,
            evidence,
            turns_per_s: turns,
            also: Spot::new(),
        })
    }

    /// A device for each tenant.
    fn serve(
        &self,
        engine: &CryptoEngine,
        (case, controller): (Case, Option<&str>),
    ) -> Result<Vec<Served>, Stopped> {
        let tenants = case.tenants().into_iter().enumerate();
        let all = tenants.map(|(index, tenant)| {
            let path = self.folder.path().join(format!("vf{index}.sock"));
            let controller = controller.map(|name| (name, INTERVAL_NS));
            let served = serve(engine, path, &[ALGORITHM], controller)?;
            let function = served.device.function();
            function
                .set_weight(tenant.weight)
                .map_err(Stopped::failed)?;
            Ok(served)
        });
        all.collect()
    }

    /// With the turns of a hostile one, a second.
    fn run(
        &self,
        (place, case): (&Place, Case),
        shared: &Shared<'_>,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(Window, Option<f64>), Stopped> {
        let tenants = case.tenants();
        let asking: Vec<_> = tenants.iter().map(|own| own.hostile.is_none()).collect();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let start = |(device, tenant): (&&Device, &Tenant)| {
                let (socket, hostile) = (device.socket().to_owned(), tenant.hostile);
                let is_over = &is_over;
                scope.spawn(move || match hostile {
                    None => self
                        .good(&socket, place.block_bytes, is_over)
                        .map(|()| None),
                    Some(how) => self.hostile(&socket, how, is_over).map(Some),
                })
            };
            let running: Vec<_> = shared.devices.iter().zip(&tenants).map(start).collect();
            let course = Course {
                settle: SETTLE,
                slice,
                is_ended: &|| running.iter().any(ScopedJoinHandle::is_finished),
                go_on,
            };
            let window = shared.watch(&asking, &course);
            is_over.store(true, Ordering::Relaxed);
            let mut turns = None;
            for one in running {
                let ended = one.join();
                let ended = ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                turns = turns.or(ended?);
            }
            match window {
                Some(window) => Ok((window, turns)),
                None if go_on() => Err(Stopped::Failed("a front-end got nothing".into())),
                None => Err(Stopped::Interrupted),
            }
        })
    }

    fn good(&self, socket: &Path, block_bytes: usize, is_over: &AtomicBool) -> Result<(), Stopped> {
        pin_to(self.cores.client).map_err(Stopped::failed)?;
        let config = LoadConfig {
            kind: Kind::from(ALGORITHM),
            block_bytes,
            depth: self.section.0.depth.get(),
            interrupts: Interrupts::EventIndex,
            delays: false,
        };
        let mut load = Load::start(socket, config).map_err(Stopped::failed)?;
        let go_on = || !is_over.load(Ordering::Relaxed);
        load.run(LONG, &go_on).map(drop).map_err(Stopped::failed)
    }

    fn hostile(&self, socket: &Path, how: Hostility, is_over: &AtomicBool) -> Result<f64, Stopped> {
        pin_to(self.hostile_cpu).map_err(Stopped::failed)?;
        // What it takes of a core that it shares with the good one is no device's affair.
        rustix::process::nice(NICE).map_err(Stopped::failed)?;
        let mut hostile = Hostile::start(socket, how).map_err(Stopped::failed)?;
        let (begin, mut turns) = (Instant::now(), 0_u64);
        while !is_over.load(Ordering::Relaxed) {
            hostile.turn().map_err(Stopped::failed)?;
            turns += 1;
        }
        Ok(turns as f64 / begin.elapsed().as_secs_f64())
    }
}
