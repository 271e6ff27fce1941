//! Follows what changes in a router's namespace, so that a program never
//! forwards by what was true more than 100 ms ago.
//!
//! The kernel tells of a change before the call that made it returns. The thread
//! here is woken, looks at what the router is now, and tells the program. Should
//! it not run in time, or fail, the program's lease ends: [`xdp::path::LEASE`]
//! after the last look whose every change was told, all frames are the kernel's.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use net::monitor::{Event, Monitor, Topic};
use sys::failure::Failure;
use xdp::path::Control;

use super::describe::{Describer, Description, Special, Tables};
use crate::pinned::Pinned;
use crate::topology::Topology;

/// How often it looks: several times in a lease, so that one late wake-up does no
/// harm.
const LOOK_EVERY: Duration = Duration::from_millis(15);

pub struct Watch {
    shared: Arc<Shared>,
    thread: Pinned<()>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    failed: Mutex<Option<Failure>>,
}

/// Listens from before the first look at the router.
pub struct Listening {
    monitor: Monitor,
    describer: Describer,
    tables: Tables,
    stale: BTreeSet<(u32, IpAddr)>,
    last: Description,
    /// A change was seen and not passed on: the program, or the router, could not be
    /// reached. Until a full look there is no lease.
    is_behind: bool,
}

impl Listening {
    pub fn begin(topology: &Topology) -> Result<Self, Failure> {
        let monitor = Monitor::open(topology.router(), &Topic::ALL)?;
        let mut describer = Describer::of(topology)?;
        let tables = Tables::without_routes();
        let last = describer.describe(tables.special)?;
        Ok(Self {
            monitor,
            describer,
            tables,
            stale: BTreeSet::new(),
            last,
            is_behind: true,
        })
    }

    pub fn description(&self) -> &Description {
        &self.last
    }

    /// Tells the program about the router, and continues on a thread of its own.
    pub fn follow(mut self, control: Control) -> Result<Watch, Failure> {
        self.step(&control, Duration::ZERO)?;
        let shared = Arc::new(Shared::default());
        let inside = Arc::clone(&shared);
        let work = move || inside.run(self, &control);
        let thread = Pinned::start("lockgate-watch", None, work)?;
        Ok(Watch { shared, thread })
    }

    fn step(&mut self, control: &Control, wait: Duration) -> Result<(), Failure> {
        let mut events = self.monitor.wait(wait)?;
        let look = control.look()?;
        events.extend(self.monitor.wait(Duration::ZERO)?);
        let is_all = self.monitor.is_drained();
        if self.is_behind {
            events.push(Event::Lost);
        }
        if !events.is_empty() {
            self.is_behind = true;
            self.tell(&events, control)?;
            self.is_behind = false;
        }
        if is_all {
            control.renew(look)?;
        }
        Ok(())
    }

    /// Stale neighbours first: an answer that is kept from now on must take them into
    /// account.
    fn tell(&mut self, events: &[Event], control: &Control) -> Result<(), Failure> {
        self.tell_stale(events, control)?;
        let special = self.tables.special;
        self.tell_alike(events, control)?;
        let is_of_tables =
            |event: &Event| matches!(event, Event::Neighbour { .. } | Event::Route { .. });
        // Routes and neighbours come by the thousand.
        if special != self.tables.special || !events.iter().all(is_of_tables) {
            let now = self.describer.describe(self.tables.special)?;
            // What could not be told may have been told in part.
            if now != self.last || events.contains(&Event::Lost) {
                control.describe(&now.ports, now.options)?;
            }
            self.last = now;
        }
        control.forget()
    }

    fn tell_stale(&mut self, events: &[Event], control: &Control) -> Result<(), Failure> {
        let (mut gone, mut come) = (BTreeSet::new(), BTreeSet::new());
        if events.contains(&Event::Lost) {
            come = self.describer.stale()?;
            gone = &self.stale - &come;
        } else {
            for event in events {
                let Event::Neighbour { neighbour, removed } = event else {
                    continue;
                };
                let of = (neighbour.interface, neighbour.address);
                let [to, from] = if neighbour.stale && !removed {
                    [&mut come, &mut gone]
                } else {
                    [&mut gone, &mut come]
                };
                from.remove(&of);
                to.insert(of);
            }
        }
        for (interface, address) in gone.intersection(&self.stale) {
            control.set_stale(*interface, *address, false)?;
        }
        // Also those that were: the program strikes out what it has used.
        for (interface, address) in &come {
            control.set_stale(*interface, *address, true)?;
        }
        self.stale = &(&self.stale - &gone) | &come;
        Ok(())
    }

    /// Reads all routes where a special one goes, since it may have been the last.
    /// Other special routes are assumed to stay until then, which costs only time.
    fn tell_alike(&mut self, events: &[Event], control: &Control) -> Result<(), Failure> {
        let goes = |event: &Event| matches!(event, Event::Route { route, removed: true } if Special::is(route));
        let is_new = if events.contains(&Event::Lost) || events.iter().any(goes) {
            self.tables = self.describer.tables()?;
            true
        } else {
            let mut is_new = false;
            for event in events {
                if let Event::Route {
                    route,
                    removed: false,
                } = event
                {
                    is_new |= self.tables.add(route);
                }
            }
            is_new
        };
        if is_new {
            control.set_alike(&self.tables.alike)?;
        }
        Ok(())
    }
}

impl Shared {
    fn failed(&self) -> MutexGuard<'_, Option<Failure>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, mut listening: Listening, control: &Control) {
        // Seldom and short, and others wait for it. Without the right to it, it
        // is only slower, and frames are the kernel's meanwhile.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), -20);
        while !self.stop.load(Ordering::Relaxed) {
            let failed = listening.step(control, LOOK_EVERY).err();
            if failed.is_some() {
                listening.is_behind = true;
                std::thread::sleep(LOOK_EVERY);
            }
            *self.failed() = failed;
        }
    }
}

impl Watch {
    /// CPU time of the thread, ns.
    pub fn cpu_ns(&mut self) -> u64 {
        self.thread.cpu_ns()
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
