//! Follows what changes in a router's namespace, so that a program never
//! forwards by what was true more than 100 ms ago.
//!
//! The kernel tells of a change before the call that made it returns. The thread
//! here is woken, looks at what the router is now, and tells the program. Should
//! it not run in time, or fail, the program's lease ends: [`xdp::path::LEASE`]
//! after the last look whose every change was told, all frames are the kernel's.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use net::monitor::{Event, Monitor, RouteChange, Topic};
use net::netlink::{Neighbour, Route};
use net::{Decider, Namespace};
use sys::failure::Failure;
use xdp::path::{Concern, Control};

use super::describe::{Describer, Description};
use super::neighbours::{Neighbours, Place};
use super::settings::Settings;
use super::special::{Prefix, prefix};
use super::tables::{Reading, Tables};
use crate::pinned::Pinned;
use crate::router::Firewall;

/// How often it looks: several times in a lease, so that one late wake-up does no
/// harm.
const LOOK_EVERY: Duration = Duration::from_millis(15);
/// How far apart looks are while changes come: one for each of a flood would take all of
/// a CPU. Far less than a lease; the first change after a while is told at once.
const FLOOD_EVERY: Duration = Duration::from_millis(2);
/// More changes at once concern everything: to tell of each would take longer.
const CONCERNS_MAX: usize = 1000;
/// All routes are read anew for what is in doubt, but not for more than so much of the
/// time.
const READING_SHARE_MAX: u32 = 20;
/// How long the first reading may take, of a table ten times the Internet's.
const FIRST_MAX: Duration = Duration::from_secs(60);

pub struct Watch {
    shared: Arc<Shared>,
    thread: Pinned<()>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    failed: Mutex<Option<Failure>>,
    deciders: Mutex<Vec<Decider>>,
}

/// Listens from before the first look at the router.
pub struct Listening {
    monitor: Monitor,
    describer: Describer,
    settings: Settings,
    tables: Tables,
    neighbours: Neighbours,
    last: Description,
    reading: Option<Reading>,
    /// Not before then for what is in doubt.
    next_reading: Instant,
    /// A change was seen and not passed on: the program, or the router, could not be
    /// reached, or not all was told. Until all was read there is no lease.
    is_behind: bool,
}

impl Listening {
    pub fn begin(
        namespace: &Namespace,
        links: Vec<String>,
        firewall: Firewall,
    ) -> Result<Self, Failure> {
        namespace.run(|| Self::begin_inside(namespace, links, firewall))?
    }

    fn begin_inside(
        namespace: &Namespace,
        links: Vec<String>,
        firewall: Firewall,
    ) -> Result<Self, Failure> {
        let monitor = Monitor::open(namespace, &Topic::ALL)?;
        let mut describer = Describer::of(namespace, links, firewall)?;
        Ok(Self {
            monitor,
            settings: describer.settings(),
            last: describer.describe()?,
            describer,
            tables: Tables::without_routes(),
            neighbours: Neighbours::default(),
            reading: None,
            next_reading: Instant::now(),
            is_behind: true,
        })
    }

    pub fn description(&self) -> &Description {
        &self.last
    }

    /// Tells the program about the router, and continues on a thread of its own.
    pub fn follow(mut self, control: Control) -> Result<Watch, Failure> {
        let namespace = self.describer.namespace().clone();
        let first = || -> Result<(), Failure> {
            let began = Instant::now();
            while self.is_behind && began.elapsed() < FIRST_MAX {
                self.step(&control, Duration::from_millis(1))?;
            }
            Ok(())
        };
        namespace.run(first)??;
        let shared = Arc::new(Shared::default());
        shared.tell(&self.last.deciders);
        let inside = Arc::clone(&shared);
        let work = move || match namespace.enter() {
            Ok(()) => inside.run(self, &control),
            Err(error) => *inside.failed() = Some(error),
        };
        let thread = Pinned::start("lockgate-watch", None, work)?;
        Ok(Watch { shared, thread })
    }

    /// Whether something had changed, and all of it was read.
    fn step(&mut self, control: &Control, wait: Duration) -> Result<bool, Failure> {
        let mut events = self.monitor.wait(wait)?;
        let look = control.look()?;
        events.extend(self.monitor.wait(Duration::ZERO)?);
        let is_all = self.monitor.is_drained();
        if self.settings.have_changed() || self.describer.have_deciders_changed()? {
            events.push(Event::Other);
        }
        self.read_if_due(&events)?;
        if !self.is_behind && !events.is_empty() {
            self.is_behind = true;
            self.tell(&events, control)?;
            self.is_behind = false;
        }
        self.adopt_if_read(control)?;
        if is_all && !self.is_behind {
            control.renew(look)?;
        }
        Ok(is_all && !events.is_empty())
    }

    /// Begins to read all routes, or notes for those who do what changed meanwhile.
    fn read_if_due(&mut self, events: &[Event]) -> Result<(), Failure> {
        let is_lost = events.contains(&Event::Lost);
        self.is_behind |= is_lost;
        match &mut self.reading {
            Some(reading) if is_lost => reading.spoil(),
            Some(reading) => {
                for (route, change) in events.iter().filter_map(route_of) {
                    reading.note(route, change);
                }
            }
            None => {
                let is_in_doubt = self.tables.specials.is_in_doubt();
                let is_due = is_in_doubt && Instant::now() >= self.next_reading;
                if self.is_behind || is_due {
                    self.reading = Some(Reading::begin(self.describer.namespace())?);
                }
            }
        }
        Ok(())
    }

    /// All routes were read: what the program knows is set anew.
    fn adopt_if_read(&mut self, control: &Control) -> Result<(), Failure> {
        let Some(reading) = &mut self.reading else {
            return Ok(());
        };
        let is_spoilt = reading.is_spoilt();
        let read = reading.done();
        if !matches!(read, Ok(None)) {
            self.reading = None;
        }
        let Some((tables, took)) = read?.filter(|_| !is_spoilt) else {
            return Ok(());
        };
        self.next_reading = Instant::now() + took * READING_SHARE_MAX;
        let was_behind = std::mem::replace(&mut self.is_behind, true);
        let before = std::mem::replace(&mut self.tables, tables);
        let old = before.specials.networks();
        let all: BTreeSet<_> = old.chain(self.tables.specials.networks()).collect();
        self.tell_special(&all, control)?;
        if was_behind {
            self.tell_all_neighbours(control)?;
        }
        // Some may be alike that were not, and what is kept of one is not for all.
        control.pause()?;
        control.set_alike(&self.tables.alike)?;
        self.describe(control, was_behind)?;
        control.forget(Concern::Everything);
        self.is_behind = false;
        Ok(())
    }

    fn tell(&mut self, events: &[Event], control: &Control) -> Result<(), Failure> {
        let mut concerns = Vec::new();
        self.tell_routes(events, control, &mut concerns)?;
        for event in events {
            match event {
                Event::Route { .. } => {}
                Event::Neighbour { neighbour, removed } => {
                    concerns.extend(self.tell_neighbour(neighbour, *removed, control)?);
                }
                Event::Link { .. } | Event::Address { .. } => {
                    self.tables.specials.doubt();
                    concerns.push(Concern::Everything);
                }
                Event::Other | Event::Lost => concerns.push(Concern::Everything),
            }
        }
        if concerns.contains(&Concern::Everything) {
            self.describe(control, false)?;
        }
        if concerns.contains(&Concern::Everything) || concerns.len() > CONCERNS_MAX {
            control.forget(Concern::Everything);
        } else {
            concerns.iter().for_each(|concern| control.forget(*concern));
        }
        Ok(())
    }

    /// What could not be told may have been told in part: then it is told `anew`.
    fn describe(&mut self, control: &Control, anew: bool) -> Result<(), Failure> {
        // Before they are read, so that a change meanwhile is seen.
        self.settings = self.describer.settings();
        let mut now = self.describer.describe()?;
        now.options.all_to_kernel |= self.tables.specials.are_too_many();
        if now != self.last || anew {
            control.describe(&now.ports, now.options)?;
        }
        self.last = now;
        Ok(())
    }

    /// Which addresses are alike first: an answer that is kept from now on must take it
    /// into account.
    fn tell_routes(
        &mut self,
        events: &[Event],
        control: &Control,
        concerns: &mut Vec<Concern>,
    ) -> Result<(), Failure> {
        let (mut is_narrower, mut special) = (false, BTreeSet::new());
        for (route, change) in events.iter().filter_map(route_of) {
            let changed = self.tables.change(route, change);
            let network = prefix(route);
            is_narrower |= changed.is_narrower;
            if changed.is_special {
                special.insert(network);
                special.extend(self.tables.specials.within(network));
            }
            concerns.push(Concern::Network(network.0, network.1));
        }
        if is_narrower {
            control.set_alike(&self.tables.alike)?;
        }
        if self.tables.specials.are_too_many() {
            // Described as the kernel's.
            concerns.push(Concern::Everything);
        }
        self.tell_special(&special, control)
    }

    fn tell_special(&self, networks: &BTreeSet<Prefix>, control: &Control) -> Result<(), Failure> {
        let specials = &self.tables.specials;
        if specials.are_too_many() {
            return Ok(());
        }
        for network in networks {
            control.set_special(network.0, network.1, specials.at(*network))?;
        }
        Ok(())
    }

    fn tell_neighbour(
        &mut self,
        neighbour: &Neighbour,
        is_removed: bool,
        control: &Control,
    ) -> Result<Option<Concern>, Failure> {
        let (interface, address) = (neighbour.interface, neighbour.address);
        let meaning = self.neighbours.change(neighbour, is_removed);
        if let Some(is_stale) = meaning.is_stale {
            control.set_stale(interface, address, is_stale)?;
        }
        Ok(
            if meaning.is_other_validity && self.tables.is_gateway_v6(address) {
                Some(Concern::Everything)
            } else {
                meaning
                    .is_another
                    .then_some(Concern::Neighbour(interface, address))
            },
        )
    }

    fn tell_all_neighbours(&mut self, control: &Control) -> Result<(), Failure> {
        let now = Neighbours::of(&self.describer.neighbours()?);
        let stale: BTreeSet<Place> = now.stale().collect();
        let before: BTreeSet<Place> = self.neighbours.stale().collect();
        for (interface, address) in before.difference(&stale) {
            control.set_stale(*interface, *address, false)?;
        }
        // Also those that were: the program strikes out what it has used.
        for (interface, address) in &stale {
            control.set_stale(*interface, *address, true)?;
        }
        self.neighbours = now;
        Ok(())
    }
}

fn route_of(event: &Event) -> Option<(&Route, RouteChange)> {
    match event {
        Event::Route { route, change } => Some((route, *change)),
        _ => None,
    }
}

impl Shared {
    fn failed(&self) -> MutexGuard<'_, Option<Failure>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deciders(&self) -> MutexGuard<'_, Vec<Decider>> {
        self.deciders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, now: &[Decider]) {
        let mut told = self.deciders();
        if *told != *now {
            *told = now.to_vec();
        }
    }

    fn run(&self, mut listening: Listening, control: &Control) {
        // Seldom and short, and others wait for it. Without the right to it, it
        // is only slower, and frames are the kernel's meanwhile.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), -20);
        while !self.stop.load(Ordering::Relaxed) {
            let began = Instant::now();
            let stepped = listening.step(control, LOOK_EVERY);
            let pause = match stepped {
                Ok(true) => FLOOD_EVERY.saturating_sub(began.elapsed()),
                Ok(false) => Duration::ZERO,
                Err(_) => LOOK_EVERY,
            };
            self.tell(&listening.last.deciders);
            listening.is_behind |= stepped.is_err();
            *self.failed() = stepped.err();
            std::thread::sleep(pause);
        }
    }
}

impl Watch {
    /// CPU time of the thread, ns.
    pub fn cpu_ns(&mut self) -> u64 {
        self.thread.cpu_ns()
    }

    /// What else decides about the router's frames, as it was seen last.
    pub fn deciders(&self) -> Vec<Decider> {
        self.shared.deciders().clone()
    }

    /// Why changes are not followed now, if so; reported once per look.
    pub fn failed(&self) -> Option<Failure> {
        self.shared.failed().take()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Within one look.
        self.thread.join();
    }
}
