//! A guest with a device for each arm, of which its driver has one at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crypto::Kind;
use engine::{CryptoEngine, WorkerConfig};
use kit::guest::crypto::{CryptoGuest, DRIVER, Given, LIMIT, REMEDY, TESTED, bind, count, find};
use kit::guest::kspeed::module::{self, Start};
use kit::guest::kspeed::{Driver, Recipe};
use kit::guest::{Seen, Shell, not_measured, said, watched};
use kit::load::device::{Served, serve};
use kit::prelude::*;
use sys::temporary::Folder;
use trial::Sink;
use vhost::front::{Interrupts, Load, LoadConfig};
use vm::Outcome;

use super::{
    ALGORITHM, Arm, DEVICE_NS, GUEST_CPU, INTERRUPTS, PER_CPU_S, Place, REQUESTS, SPEED, VcmGuest,
    WORKER_NS,
};

/// Controllers whose sources look once a second look so often here, ns.
const INTERVAL_NS: u64 = 50_000_000;
pub(super) struct OnGuest {
    section: VcmGuest,
    cpus: Vec<usize>,
    guest: Option<Box<dyn Shell>>,
    /// As the guest calls them: QEMU's own, then ours.
    names: Vec<String>,
    about: Spot,
    /// Our devices.
    own: Vec<(Arm, Served)>,
    engine: CryptoEngine,
    _folder: Folder,
}

impl OnGuest {
    pub(super) fn new(section: VcmGuest, host: &Host) -> Result<Self, Stopped> {
        let backend = Arc::clone(section.0.backend.get());
        // What it would look for in vain is CPU time that QEMU's device does not take.
        let worker = WorkerConfig {
            idle_spin: Some(Duration::ZERO),
            ..WorkerConfig::default()
        };
        let engine = CryptoEngine::start(backend, &[worker]).map_err(Stopped::failed)?;
        let folder = Folder::new("lockgate-vcm-guest").map_err(Stopped::failed)?;
        let is_own = |arm: &Arm| *arm != Arm::BuiltIn;
        let mut own = Vec::new();
        for (index, arm) in section.arms().into_iter().filter(is_own).enumerate() {
            let path = folder.path().join(format!("vf{index}.sock"));
            let controller = match arm {
                Arm::Controlled(name) => Some((name, INTERVAL_NS)),
                _ => None,
            };
            let served = serve(&engine, path, &TESTED, controller)?;
            own.push((arm, served));
        }
        Ok(Self {
            section,
            cpus: host.cpus.clone(),
            guest: None,
            names: Vec::new(),
            about: Spot::new(),
            own,
            engine,
            _folder: folder,
        })
    }

    fn boot(&mut self, go_on: &dyn Fn() -> bool) -> Result<(), Stopped> {
        let parts = find(&self.section.0.kernel).map_err(Stopped::failed)?;
        let in_guest = self.own.iter().filter(|own| own.0 != Arm::Front);
        let given = Given {
            vcpus: self.section.0.vcpus.get(),
            cpu: self.section.0.cpu.clone(),
            built_in: 1,
            sockets: in_guest
                .map(|own| own.1.device.socket().to_owned())
                .collect(),
        };
        let guest = CryptoGuest::boot(&parts, given, go_on)?;
        self.names = guest.names;
        self.about = guest.about;
        self.guest = Some(guest.shell);
        Ok(())
    }

    /// The guest's name of an arm's device.
    fn name(&self, arm: Arm) -> &str {
        let in_guest = self.own.iter().filter(|own| own.0 != Arm::Front);
        let at = in_guest.map(|own| own.0).position(|own| own == arm);
        &self.names[at.map_or(0, |at| at + 1)]
    }

    fn in_guest(
        &mut self,
        (place, arm): (Place, Arm),
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let driver: Driver = DRIVER.parse().expect("a known driver");
        let start = Start {
            driver,
            recipe: Recipe::known(driver.kind, "encrypt", Some(true)),
            mode: if place.depth == 1 { "sync" } else { "async" },
            size_bytes: place.block_bytes,
            depth: place.depth,
            threads: place.tasks,
            duration: slice,
            latency: false,
        };
        let (name, measure) = (self.name(arm), start.script());
        let script = format!("{}\n{measure}\n{}", bind(name), count(name));
        let guest = self.guest.as_mut().expect("it was booted");
        let before_ns = guest.devices_ns() + worker_ns(&self.engine);
        let (begin, own_ns) = (Instant::now(), worker_ns(&self.engine));
        let ran = watched(guest.as_mut(), &self.cpus, &script, slice + LIMIT, go_on);
        let (output, mut seen) = ran?;
        // The worker is ours, and no other process's work.
        let own_ns = (worker_ns(&self.engine) - own_ns) as f64;
        seen.guest_cpus += own_ns / begin.elapsed().as_nanos() as f64;
        let device_ns = guest.devices_ns() + worker_ns(&self.engine) - before_ns;
        self.reading((place, &start), &output, seen, (device_ns as f64, own_ns))
    }

    fn reading(
        &self,
        (place, start): (Place, &Start),
        output: &Outcome,
        seen: Seen,
        (device_ns, own_ns): (f64, f64),
    ) -> Result<Reading, Stopped> {
        let doubted = |reason: &str| Stopped::Doubted(not_measured(reason, REMEDY));
        let text = output.text();
        // Interrupts before, the module's answer, interrupts after.
        let parts = text.trim().split_once('\n');
        let parts = parts.and_then(|(first, rest)| Some((first, rest.rsplit_once('\n')?)));
        let (before, (answer, after)) =
            parts.ok_or_else(|| doubted(&format!("the guest says: {}", said(output))))?;
        let run = module::read(answer, start).map_err(Stopped::Doubted)?;
        let run = run.ok_or_else(|| doubted("no request completed"))?;
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let interrupts = number(after).zip(number(before));
        let interrupts = interrupts.map(|(after, before)| after.saturating_sub(before));
        let requests = run.completed as f64;
        let mut values = vec![
            (REQUESTS, run.requests_per_s()),
            (SPEED, run.requests_per_s() * place.block_bytes as f64 / 1e6),
            (PER_CPU_S, requests * 1e9 / device_ns.max(1.0)),
            (DEVICE_NS, device_ns / requests),
            (WORKER_NS, own_ns / requests),
            (GUEST_CPU, seen.guest_cpus * 100.0),
        ];
        let interrupts = interrupts.map(|count| (INTERRUPTS, count as f64 / requests));
        values.extend(interrupts);
        let mut reading = Reading::new(values);
        let vcpus = self.section.0.vcpus.get();
        reading.evidence = Some(seen.evidence(run.completed, vcpus, &self.cpus));
        Ok(reading)
    }

    fn in_front(
        &self,
        place: Place,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let own = self.own.iter().find(|own| own.0 == Arm::Front);
        let (_, own) = own.expect("every arm has a device");
        let config = LoadConfig {
            kind: Kind::from(ALGORITHM),
            block_bytes: place.block_bytes,
            depth: place.depth,
            interrupts: Interrupts::EventIndex,
            delays: false,
        };
        let mut load = Load::start(own.device.socket(), config).map_err(Stopped::failed)?;
        let before_ns = worker_ns(&self.engine);
        let did = load.run(slice, go_on).map_err(Stopped::failed)?;
        let device_ns = (worker_ns(&self.engine) - before_ns) as f64;
        let (requests, rate) = (did.requests as f64, did.requests as f64 / did.seconds);
        Ok(Reading::new(vec![
            (REQUESTS, rate),
            (SPEED, rate * place.block_bytes as f64 / 1e6),
            (INTERRUPTS, did.interrupts as f64 / requests),
            (PER_CPU_S, requests * 1e9 / device_ns.max(1.0)),
            (DEVICE_NS, device_ns / requests),
            (WORKER_NS, device_ns / requests),
        ]))
    }
}

impl Rig<VcmGuest> for OnGuest {
    fn prepare(&mut self, _: &Subjects<VcmGuest>, sink: &mut dyn Sink) -> Result<(), Stopped> {
        sink.emit(Event::Progress(0.0, "booting the guest".to_owned()));
        self.boot(&|| !sink.is_interrupted())
    }

    fn trial(
        &mut self,
        subject: &Subject<Place, Arm>,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        match subject.arm {
            Arm::Front => self.in_front(subject.place, slice, go_on),
            arm => self.in_guest((subject.place, arm), slice, go_on),
        }
    }

    fn about(&self) -> Spot {
        self.about.clone()
    }
}

fn worker_ns(engine: &CryptoEngine) -> u64 {
    let time = engine.cpu_time(0).map_or(0, |time| time.as_nanos());
    u64::try_from(time).unwrap_or(u64::MAX)
}
