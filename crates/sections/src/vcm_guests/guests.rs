//! QEMU guests, each booted once, with a device for each controller. Their driver has
//! one device at a time, and all that are at work are asked at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use engine::{CryptoEngine, WorkerConfig};
use kit::guest::crypto::{CryptoGuest, DRIVER, Given, LIMIT, REMEDY, TESTED, bind, find};
use kit::guest::kspeed::module::{self, Start};
use kit::guest::kspeed::{Driver, Recipe};
use kit::guest::{Herd, Member, Parts, Watching, not_measured, run, said};
use kit::load::device::{Served, serve};
use kit::prelude::*;
use sys::temporary::Folder;
use trial::{Sink, Validity, Verdict};
use vm::Outcome;

use super::case::{Case, Home, Tenant};
use super::rig::Did;
use super::window::{Course, Shared, Window};
use super::{Place, VcmGuests};

/// Controllers whose sources look once a second look so often here, ns.
const INTERVAL_NS: u64 = 50_000_000;
/// Before a trial counts.
const SETTLE: Duration = Duration::from_millis(150);
/// Guests do not begin at the same moment: how much longer each is at work.
const APART: Duration = Duration::from_millis(700);
/// What a hostile guest asks for. Linux's driver lists the n pages of a request
/// n(n + 1)/2 times on each side (6.1): of 32 the list is longer than a queue may be, and
/// the device refuses it.
const HOSTILE_BYTES: usize = 31 * 4096;
const HOSTILE_DEPTH: usize = 64;
const HOSTILE_THREADS: usize = 8;

/// One of them.
struct Own {
    /// Its devices, and how it calls them, one a controller.
    served: Vec<Served>,
    names: Vec<String>,
    /// The one that its driver has.
    bound: Option<usize>,
}

pub(super) struct Guests {
    section: VcmGuests,
    cpus: Vec<usize>,
    engine: CryptoEngine,
    folder: Folder,
    herd: Herd<usize>,
    own: Vec<Own>,
    /// What this host lacks for any, and the remedy.
    missing: Option<(String, String)>,
}

impl Guests {
    pub(super) fn new(section: &VcmGuests, host: &Host) -> Result<Self, Stopped> {
        // What it would look for in vain is CPU time that guests need.
        let worker = WorkerConfig {
            idle_spin: Some(Duration::ZERO),
            ..WorkerConfig::default()
        };
        let backend = Arc::clone(section.0.backend.get());
        Ok(Self {
            section: section.clone(),
            cpus: host.cpus.clone(),
            engine: CryptoEngine::start(backend, &[worker]).map_err(Stopped::failed)?,
            folder: Folder::new("lockgate-vcm-guests").map_err(Stopped::failed)?,
            herd: Herd::default(),
            own: Vec::new(),
            missing: None,
        })
    }

    /// What they are, where there are any.
    pub(super) fn about(&self) -> Option<Spot> {
        (!self.own.is_empty()).then(|| self.herd.about())
    }

    /// None runs.
    pub(super) fn rest(&mut self) -> Result<(), Stopped> {
        self.herd.pause_but(None)
    }

    pub(super) fn boot(&mut self, count: usize, sink: &mut dyn Sink) -> Result<(), Stopped> {
        if count == 0 {
            return Ok(());
        }
        let parts = match find(&self.section.0.kernel) {
            Ok(parts) => parts,
            Err(PlanError::NotSupported { reason, remedy }) => {
                self.missing = Some((reason, remedy));
                return Ok(());
            }
            Err(error) => return Err(Stopped::failed(error)),
        };
        for number in 0..count {
            let now = format!("booting guest {} of {count}", number + 1);
            sink.emit(Event::Progress(number as f64 / count as f64, now));
            self.boot_one(number, &parts, &|| !sink.is_interrupted())?;
        }
        Ok(())
    }

    fn boot_one(
        &mut self,
        number: usize,
        parts: &Parts,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), Stopped> {
        self.rest()?;
        let config = &self.section.0;
        let serve = |(index, name): (usize, &Name<_>)| {
            let path = format!("guest{number}-{index}.sock");
            let path = self.folder.path().join(path);
            let controller: &kit::controllers::contender::ControllerName = &name.0;
            serve(
                &self.engine,
                path,
                &TESTED,
                Some((controller.0, INTERVAL_NS)),
            )
        };
        let served = config.controllers.iter().enumerate().map(serve);
        let served: Vec<_> = served.collect::<Result<_, _>>()?;
        let given = Given {
            vcpus: config.vcpus.get(),
            cpu: config.cpu.clone(),
            built_in: 0,
            sockets: served
                .iter()
                .map(|own| own.device.socket().to_owned())
                .collect(),
        };
        let guest = CryptoGuest::boot(parts, given, go_on)?;
        let words = (guest.shell, guest.about);
        self.herd.add(number, words, String::new());
        self.own.push(Own {
            served,
            names: guest.names,
            bound: None,
        });
        Ok(())
    }

    pub(super) fn trial(
        &mut self,
        (place, case): (&Place, Case),
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Did, Stopped> {
        if let Some((what, remedy)) = self.missing.clone() {
            return Err(Stopped::NotSupported { what, remedy });
        }
        let also = self.herd.about();
        let tenants = case.tenants();
        let controller = self.controller(case);
        let starts: Vec<_> = (tenants.iter())
            .map(|tenant| self.start(place, tenant, slice))
            .collect();
        let numbers: Vec<_> = (0..tenants.len()).collect();
        let mut members = self.herd.awake_all(&numbers)?;
        let mut devices = Vec::new();
        for ((member, own), tenant) in members.iter_mut().zip(&mut self.own).zip(&tenants) {
            own.bind(member, controller, go_on)?;
            let device = &own.served[controller].device;
            let function = device.function();
            function
                .set_weight(tenant.weight)
                .map_err(Stopped::failed)?;
            devices.push(device);
        }
        let shared = Shared {
            engine: &self.engine,
            devices,
        };
        let cpu_s =
            |members: &[&mut Member<usize>]| members.iter().map(|own| own.shell.cpu_s()).sum();
        let watching = Watching::begin(&self.cpus, cpu_s(&members));
        let window = at_once(&mut members, &shared, (&starts, slice), go_on)?;
        let mut seen = watching.end(&self.cpus, cpu_s(&members));
        seen.guest_cpus += window.worker_ns as f64 / 1e9 / window.seconds;
        let requests = window.tenants.iter().map(|own| own.requests).sum();
        let vcpus = self.section.0.vcpus.get() * tenants.len();
        Ok(Did {
            window,
            evidence: seen.evidence(requests, vcpus, &self.cpus),
            turns_per_s: None,
            also,
        })
    }

    fn controller(&self, case: Case) -> usize {
        let wanted = case.controller(Home::Guest, &self.section.0);
        let mut all = self.section.0.controllers.iter();
        all.position(|name| Some(name.0.0) == wanted)
            .expect("cases are of these controllers")
    }

    fn start(&self, place: &Place, tenant: &Tenant, slice: Duration) -> Start {
        let driver: Driver = DRIVER.parse().expect("a known driver");
        let depth = self.section.0.depth.get();
        let (size_bytes, depth, threads) = match tenant.hostile {
            None => (place.block_bytes, depth, 1),
            Some(_) => (HOSTILE_BYTES, HOSTILE_DEPTH, HOSTILE_THREADS),
        };
        Start {
            driver,
            recipe: Recipe::known(driver.kind, "encrypt", Some(true)),
            mode: if depth == 1 { "sync" } else { "async" },
            size_bytes,
            depth,
            threads,
            duration: SETTLE + slice + APART,
            latency: false,
        }
    }
}

impl Own {
    fn bind(
        &mut self,
        member: &mut Member<usize>,
        controller: usize,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), Stopped> {
        if self.bound == Some(controller) {
            return Ok(());
        }
        let script = bind(&self.names[controller]);
        let output = run(member.shell.as_mut(), &script, LIMIT, go_on)?;
        if output.status != 0 {
            let reason = format!("the driver does not take its device: {}", said(&output));
            return Err(Stopped::Doubted(not_measured(reason, REMEDY)));
        }
        self.bound = Some(controller);
        Ok(())
    }
}

/// All guests ask at once; what their devices count while all of them do.
fn at_once(
    members: &mut [&mut Member<usize>],
    shared: &Shared<'_>,
    (starts, slice): (&[Start], Duration),
    go_on: &dyn Fn() -> bool,
) -> Result<Window, Stopped> {
    let is_stopped = AtomicBool::new(false);
    let window = thread::scope(|scope| -> Result<_, Stopped> {
        let mut running = Vec::new();
        for (member, start) in members.iter_mut().zip(starts) {
            let (shell, script) = (&mut member.shell, start.script());
            let (limit, is_stopped) = (start.duration + LIMIT, &is_stopped);
            let go_on = move || !is_stopped.load(Ordering::Relaxed);
            running.push(scope.spawn(move || run(shell.as_mut(), &script, limit, &go_on)));
        }
        let course = Course {
            settle: SETTLE,
            slice,
            is_ended: &|| running.iter().any(ScopedJoinHandle::is_finished),
            go_on: &|| {
                let goes_on = go_on();
                is_stopped.fetch_or(!goes_on, Ordering::Relaxed);
                goes_on
            },
        };
        let window = shared.watch(&vec![true; starts.len()], &course);
        for (one, start) in running.into_iter().zip(starts) {
            let output = one.join();
            let output = output.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            check(&output, start)?;
        }
        Ok(window)
    })?;
    window.ok_or_else(|| match go_on() {
        true => Stopped::Doubted(apart()),
        false => Stopped::Interrupted,
    })
}

/// What the module checked of its own run.
fn check(output: &Outcome, start: &Start) -> Result<(), Stopped> {
    let run = module::read(&output.text(), start).map_err(Stopped::Doubted)?;
    let none = || Stopped::Doubted(not_measured("no request completed", REMEDY));
    run.map(drop).ok_or_else(none)
}

fn apart() -> Verdict {
    let reason = "one guest had ended before all had been measured at once";
    let remedy = "measure on a quiet host, or fewer guests (--guests)";
    Verdict::new(Validity::Noisy, reason, remedy)
}
