//! The two routers, and frames through both while their table changes.

use std::time::{Duration, Instant};

use forward::external::{Addressing, Ask, External, Setup, Tried};
use forward::plane::{Plan, Plane};
use forward::tester::stream::FrameSize;
use forward::tester::validity::{Claim, Evidence};
use forward::topology::Cpus;
use net::Tag;
use net::napi;
use sys::failure::Failure;
use sys::temporary::Folder;
use trial::{Histogram, Verdict};

use super::Config;
use super::bird::{self, BASE, FLAP};

/// One look at what passes.
const SLICE: Duration = Duration::from_millis(250);
/// Slices of phases that have no end of their own.
const STEADY_SLICES: usize = 8;
/// A flap, and the next: withdrawn, announced, withdrawn.
const FLAP_EVERY: Duration = Duration::from_millis(200);
/// Of the routes, the share that flaps.
const FLAPPING: u64 = 100;
/// Loading or withdrawing takes no longer.
const PHASE_MAX: Duration = Duration::from_secs(60);
/// BIRD is asked so often how many routes there are.
const COUNT_EVERY: Duration = Duration::from_secs(1);
/// A session comes up within some tries a second apart.
const SESSION_MAX: Duration = Duration::from_secs(20);
/// Of what they carry without changes.
const SHARE: f64 = 0.5;
/// Frames go to so many of the first networks at most; those that flap are among them.
const DESTINATIONS_MAX: u64 = 65_536;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    Kernel,
    Xdp,
}

impl Path {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Xdp => "xdp",
        }
    }

    pub(super) fn of(name: &str) -> Option<Self> {
        [Self::Kernel, Self::Xdp]
            .into_iter()
            .find(|path| path.name() == name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// A few routes, and none changes.
    Quiet,
    Loading,
    Loaded,
    Flapping,
    Withdrawing,
}

impl Phase {
    pub(super) const ALL: [Self; 5] = [
        Self::Quiet,
        Self::Loading,
        Self::Loaded,
        Self::Flapping,
        Self::Withdrawing,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Loading => "loading",
            Self::Loaded => "loaded",
            Self::Flapping => "flapping",
            Self::Withdrawing => "withdrawing",
        }
    }
}

/// What passed in one phase.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OfPhase {
    pub phase: Phase,
    pub seconds: f64,
    pub rate_pps: f64,
    pub offered: u64,
    pub lost: u64,
    pub latency: Histogram,
    /// Of the frames, those that the learning router's program sent on itself.
    pub xdp_share: Option<f64>,
    /// Routes that came, went or flapped.
    pub routes: u64,
    /// Looks at what passed, and those that are valid: the figures are of these, where
    /// there is one.
    pub slices: u32,
    pub valid: u32,
    /// Why most slices are not valid, if so.
    pub verdict: Verdict,
}

impl OfPhase {
    /// Adds a slice. Those that are not valid count as long as none is.
    fn note(&mut self, tried: &Tried, doubt: &mut Option<Verdict>) {
        let verdict = judged(tried);
        self.slices += 1;
        if verdict.is_valid() {
            if self.valid == 0 {
                (self.offered, self.lost) = (0, 0);
                self.latency.clear();
            }
            self.valid += 1;
        } else {
            doubt.get_or_insert(verdict);
            if self.valid > 0 {
                return;
            }
        }
        for one in &tried.directions {
            self.offered += one.sent.offered;
            self.lost += one.lost();
            self.latency.merge(&one.received.latency);
        }
    }

    pub(super) fn loss_percent(&self) -> f64 {
        100.0 * self.lost as f64 / self.offered.max(1) as f64
    }
}

pub(super) struct Routers {
    // The ports go back before the routers go.
    device: External,
    plane: Plane,
    names: [String; 2],
    routes: u64,
    pub carried_pps: f64,
    rate_pps: f64,
    folder: Folder,
}

pub(super) type Stop<'a> = &'a dyn Fn() -> bool;

fn file(names: &[String; 2], hosts: &[String; 2], path: Path, cpus: &[usize]) -> String {
    let [near, far] = names;
    format!(
        r#"schema = 1
[router.{near}]
path = "{path}"
threads = {cpus:?}
bird = "near.conf"
[[router.{near}.port]]
name = "lan"
veth = "{lan}"
addresses = ["192.0.2.1/30"]
[[router.{near}.port]]
name = "core"
to = "{far}.core"
addresses = ["198.51.100.0/31"]
[[router.{near}.route]]
to = "10.0.0.0/8"
via = "198.51.100.1"
[[router.{near}.route]]
to = "172.16.0.0/12"
via = "192.0.2.2"
[router.{far}]
path = "{path}"
threads = {cpus:?}
bird = "far.conf"
[[router.{far}.port]]
name = "lan"
veth = "{wan}"
addresses = ["192.0.2.5/30"]
[[router.{far}.port]]
name = "core"
to = "{near}.core"
addresses = ["198.51.100.1/31"]
[[router.{far}.route]]
to = "10.0.0.0/8"
via = "192.0.2.6"
[[router.{far}.route]]
to = "172.16.0.0/12"
via = "198.51.100.0"
"#,
        path = path.name(),
        lan = hosts[0],
        wan = hosts[1],
    )
}

impl Routers {
    /// Both are up, and a frame has passed them.
    pub(super) fn start(config: &Config, path: Path, go_on: Stop<'_>) -> Result<Self, Failure> {
        let folder = Folder::new("lockgate-router-bgp")
            .map_err(Failure::of("cannot make a temporary folder"))?;
        let write = |name: &str, text: String| {
            std::fs::write(folder.path().join(name), text)
                .map_err(Failure::of(format!("cannot write {name}")))
        };
        write("near.conf", bird::learns())?;
        write(
            "far.conf",
            bird::announces(config.routes, config.routes / FLAPPING),
        )?;
        let tag = Tag::fresh();
        let name = |role: &str| -> Result<String, Failure> {
            let name = tag.name(role).map_err(Failure::as_is)?;
            Ok(name.trim_start_matches("lockgate-").to_owned())
        };
        let link = |role: &str| tag.interface(role).map_err(Failure::as_is);
        let names = [name("near")?, name("far")?];
        let hosts = [link("a")?, link("b")?];
        let cpus = Cpus::of_host().map_err(Failure::of("the CPUs are not known"))?;
        let text = file(&names, &hosts, path, &cpus.router);
        let plan = Plan::read(&text, folder.path()).map_err(Failure::new)?;
        let mut plane = Plane::new(folder.path()).map_err(Failure::as_is)?;
        // Control planes, and who tells the programs of changes, stay where their
        // starter was: on the routers' CPUs, so that the generator has its own.
        let become_there = || {
            sys::affinity::keep_to(&cpus.router)
                .map_err(Failure::of("cannot keep to the routers' CPUs"))?;
            plane.become_(&plan).map_err(Failure::as_is)
        };
        std::thread::scope(|scope| scope.spawn(become_there).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let tasks = tasks(&mut plane)?;
        let mut addressing = Addressing::of_standard(forward::topology::Family::V4);
        // As large: first frames go both ways.
        addressing.0[0].behind = "172.16.0.0/12".parse().map_err(Failure::as_is)?;
        addressing.0[1].behind = "10.0.0.0/8".parse().map_err(Failure::as_is)?;
        let setup = Setup {
            addressing,
            destinations: 1 << config.routes.min(DESTINATIONS_MAX).ilog2(),
            stride: 1 << 4,
            tasks,
            ..Setup::new(hosts, cpus)
        };
        let device = External::connect(&setup, go_on).map_err(Failure::as_is)?;
        let mut routers = Self {
            device,
            plane,
            names,
            routes: config.routes,
            carried_pps: 0.0,
            rate_pps: 0.0,
            folder,
        };
        // What comes at overload is what they carry.
        let flood = routers.slice(None, go_on)?;
        routers.carried_pps = flood.received_pps();
        routers.rate_pps = routers.carried_pps * SHARE;
        Ok(routers)
    }

    fn slice(&mut self, rate_pps: Option<f64>, go_on: Stop<'_>) -> Result<Tried, Failure> {
        let ask = Ask {
            size: FrameSize::Fixed(64),
            rate_pps,
            duration: SLICE,
            frames: None,
        };
        self.device.trial(&ask, go_on).map_err(Failure::as_is)
    }

    /// Sends until `is_over`, which is asked after each slice.
    fn during(
        &mut self,
        phase: Phase,
        go_on: Stop<'_>,
        mut is_over: impl FnMut(&mut Self, usize) -> Result<bool, Failure>,
    ) -> Result<OfPhase, Failure> {
        let (begun, before) = (Instant::now(), self.forwarded()?);
        let mut found = OfPhase {
            phase,
            seconds: 0.0,
            rate_pps: self.rate_pps,
            offered: 0,
            lost: 0,
            latency: Histogram::new(),
            xdp_share: None,
            routes: 0,
            slices: 0,
            valid: 0,
            verdict: Verdict::valid(),
        };
        let (mut slices, mut all, mut doubt) = (0, 0, None);
        loop {
            let tried = self.slice(Some(self.rate_pps), go_on)?;
            slices += 1;
            all += tried.sum(|one| one.sent.offered);
            found.note(&tried, &mut doubt);
            if is_over(self, slices)? || begun.elapsed() > PHASE_MAX {
                break;
            }
        }
        found.seconds = begun.elapsed().as_secs_f64();
        if let (Some(before), Some(after)) = (before, self.forwarded()?) {
            let own = after.saturating_sub(before);
            found.xdp_share = Some(own as f64 / all.max(1) as f64);
        }
        if found.valid * 2 < found.slices {
            found.verdict = doubt.unwrap_or_else(Verdict::valid);
        }
        Ok(found)
    }

    /// What the learning router's program sent on, if it has one.
    fn forwarded(&mut self) -> Result<Option<u64>, Failure> {
        Ok(self
            .plane
            .xdp(&self.names[0])
            .map(|counted| counted.forwarded))
    }

    fn ask(&self, router: usize, words: &[&str]) -> Result<String, Failure> {
        let socket = format!("lockgate-{}.ctl", self.names[router]);
        bird::ask(&self.folder.path().join(socket), words)
    }

    /// Routes that the learning router has.
    fn learnt(&self) -> Result<u64, Failure> {
        let text = self.ask(0, &["show", "route", "count"])?;
        Ok(bird::count(&text).unwrap_or(0))
    }

    fn await_session(&self, go_on: Stop<'_>) -> Result<(), Failure> {
        let deadline = Instant::now() + SESSION_MAX;
        while !self
            .ask(0, &["show", "protocols", "core"])?
            .contains("Established")
        {
            if Instant::now() > deadline || !go_on() {
                return Err(Failure::new(
                    "the two routers have no BGP session within 20 s",
                ));
            }
            std::thread::sleep(FLAP_EVERY);
        }
        Ok(())
    }

    pub(super) fn phase(&mut self, phase: Phase, go_on: Stop<'_>) -> Result<OfPhase, Failure> {
        match phase {
            Phase::Quiet => {
                self.await_session(go_on)?;
                self.during(phase, go_on, |_, slices| Ok(slices >= STEADY_SLICES))
            }
            Phase::Loading => {
                let all = self.routes;
                self.ask(1, &["enable", BASE])?;
                self.ask(1, &["enable", FLAP])?;
                let mut found = self.until(phase, go_on, move |count| count >= all)?;
                found.routes = self.learnt()?;
                Ok(found)
            }
            Phase::Loaded => self.during(phase, go_on, |_, slices| Ok(slices >= STEADY_SLICES)),
            Phase::Flapping => {
                let mut turns = 0;
                let mut found = self.during(phase, go_on, |routers, slices| {
                    let what = if slices % 2 == 1 { "disable" } else { "enable" };
                    routers.ask(1, &[what, FLAP])?;
                    turns += 1;
                    Ok(slices >= 2 * STEADY_SLICES)
                })?;
                found.routes = turns * (self.routes / FLAPPING);
                Ok(found)
            }
            Phase::Withdrawing => {
                let before = self.learnt()?;
                self.ask(1, &["disable", BASE])?;
                self.ask(1, &["disable", FLAP])?;
                let mut found = self.until(phase, go_on, |count| count == 0)?;
                found.routes = before - self.learnt()?.min(before);
                Ok(found)
            }
        }
    }

    /// Until BIRD's count is as wanted and the kernel's table holds still.
    fn until(
        &mut self,
        phase: Phase,
        go_on: Stop<'_>,
        is_there: impl Fn(u64) -> bool,
    ) -> Result<OfPhase, Failure> {
        let (mut before, mut are_there, mut asked) = (None, false, Instant::now());
        self.during(phase, go_on, |routers, _| {
            // To count a million routes is work, which is not to be measured.
            if !are_there && asked.elapsed() > COUNT_EVERY {
                are_there = is_there(routers.learnt()?);
                asked = Instant::now();
                before = None;
                return Ok(false);
            }
            let busy = routers.bird_cpu_ns();
            let idle = before.is_some_and(|before| busy - before < SLICE.as_nanos() as u64 / 50);
            before = Some(busy);
            Ok(are_there && idle)
        })
    }

    /// CPU time of both control planes.
    fn bird_cpu_ns(&self) -> u64 {
        let pids = self.names.iter();
        let pids = pids.flat_map(|name| self.plane.control_pids(name));
        let used = pids.map(|pid| napi::thread_cpu_ns(pid.cast_signed()).unwrap_or(0));
        used.sum()
    }
}

/// Threads that receive for the routers, and their control planes.
fn tasks(plane: &mut Plane) -> Result<Vec<i32>, Failure> {
    let shown = plane.show().map_err(Failure::as_is)?;
    let controls = shown.iter().flat_map(|one| plane.control_pids(&one.name));
    let ports = shown.iter().flat_map(|one| &one.ports);
    let threads = ports.flat_map(|port| port.threads.iter().copied());
    Ok(threads.chain(controls.map(u32::cast_signed)).collect())
}

/// The routers are ours: who of them waited for whom is their own affair.
fn judged(tried: &Tried) -> Verdict {
    let mut seen = tried.seen.clone();
    seen.kept_waiting = None;
    seen.waited_behind = Some(Duration::ZERO);
    Evidence {
        claim: Claim::Loss,
        directions: &tried.directions,
        counters: None,
        seen: &seen,
    }
    .verdict()
}
