//! What a worker is at, as its overseer sees it.
//!
//! Memory that a tenant shares can hold its reader up: a page that is being taken away, a
//! page on its way back from a disk, huge pages that are cleared. The kernel does not
//! break that off. So a worker says whose memory it goes to before it does, in plain
//! stores; another thread looks whether it stays there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use sys::clock::{now_ns, ticks};
use sys::usage::{ThreadUsage, thread_usage};

use crate::pool::Control;
use crate::relief::Ask;

/// A visit that lasts longer and does not compute is a stall.
pub const STALL: Duration = Duration::from_millis(5);

/// A visit or a batch is slow when it took so many ticks more than expected: some 30 µs,
/// more than a few page faults take, and less than losing the CPU does.
const SLOW_TICKS: u64 = 100_000;

/// What a slow visit is charged at most, ns, whose worker may have lost its CPU.
const SLOW_NS: u64 = 30_000;

/// What such a visit is charged at most for each page fault, ns: as long as a huge page
/// takes to be cleared.
const FAULT_NS_MAX: u64 = 200_000;

/// What a slow visit is charged at most, ns, whose worker lost its CPU to no other thread:
/// a hypervisor or an interrupt may still have had it.
const COMPUTED_NS_MAX: u64 = 5_000_000;

/// A worker that is about to sleep looks again at what the kernel charged it after so
/// long, ns: such a look takes a thousandth of that.
const OLD_NS: u64 = 1_000_000;

/// These stand in the place of an owner.
const NOBODY: u64 = 0;
const MANY: u64 = 1;
const FIRST: u64 = 2;

/// On lines of its own: written with each visit.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Standpoint {
    at: AtomicU64,
    visits: AtomicU64,
    /// The visit that lasts was seen to stall.
    is_stalled: AtomicBool,
    /// The thread's `stat` and `wchan` in `/proc/self/task/TID`.
    state: OnceLock<[File; 2]>,
}

/// Whose memory a worker goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Host(u64);

impl Host {
    pub(crate) const NOBODY: Self = Self(NOBODY);
    pub(crate) const MANY: Self = Self(MANY);

    pub(crate) fn function(id: u64) -> Self {
        Self(FIRST + id)
    }

    /// The virtual function, if it is of one.
    pub(crate) fn one(self) -> Option<u64> {
        self.0.checked_sub(FIRST)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::NOBODY, one) | (one, Self::NOBODY) => one,
            (one, other) if one == other => one,
            _ => Self::MANY,
        }
    }
}

impl Standpoint {
    /// Called by the worker's own thread.
    pub(crate) fn begin(&self) {
        // Without it, where `/proc` is not mounted, no stall is told: a worker that lost
        // its CPU looks the same.
        if let Ok(files) = own_state() {
            let _ = self.state.set(files);
        }
    }

    #[inline]
    pub(crate) fn enter(&self, host: Host) {
        let visits = self.visits.load(Ordering::Relaxed);
        self.visits.store(visits.wrapping_add(1), Ordering::Relaxed);
        self.at.store(host.0, Ordering::Release);
    }

    /// The number of the last visit.
    pub(crate) fn visits(&self) -> u64 {
        self.visits.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn leave(&self) {
        self.at.store(NOBODY, Ordering::Release);
    }

    /// Looks how its thread fares, beside what was `seen` of it before.
    fn look(&self, now_ns: u64, seen: &mut Seen) -> Look {
        let at = self.at.load(Ordering::Acquire);
        let visit = self.visits();
        // Who has not moved since has not faulted either.
        let is_still = visit == seen.visits;
        let state = if is_still && at == NOBODY {
            None
        } else {
            self.state()
        };
        let faults = state.as_ref().map_or(0, |state| {
            let before = seen.faults.replace(state.faults).unwrap_or(state.faults);
            state.faults.saturating_sub(before)
        });
        // What the kernel said is of this visit if it lasts still.
        let lasts = self.at.load(Ordering::Acquire) == at && self.visits() == visit;
        // Who computes, or waits for its CPU, is held up by nobody.
        let waits_in = state.and_then(|state| state.waits_in).filter(|_| lasts);
        let before = std::mem::replace(&mut seen.waits_in, waits_in.clone());
        if at == NOBODY || !is_still || !lasts {
            (seen.visits, seen.since_ns) = (visit, now_ns);
            let stall = None;
            return Look { faults, stall };
        }
        // Two looks one after the other found it there, so that it is not a moment's wait.
        // That one of them found it waiting is enough: it may wait for the same page again
        // and again.
        let stall = waits_in.or(before).map(|waits_in| Stall {
            host: Host(at),
            visit,
            lasts: Duration::from_nanos(now_ns.saturating_sub(seen.since_ns)),
            waits_in,
        });
        Look { faults, stall }
    }

    /// What the kernel says of the thread; a read of a few microseconds.
    fn state(&self) -> Option<State> {
        let [stat, place] = self.state.get()?;
        let mut bytes = [0; 512];
        let text = read(stat, &mut bytes)?;
        // proc_pid_stat(5): fields follow the name, which may have brackets itself.
        let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
        let is_waiting = fields.next()? != "R";
        let minor: u64 = fields.nth(6)?.parse().ok()?;
        let major: u64 = fields.nth(1)?.parse().ok()?;
        let mut bytes = [0; PLACE_BYTES];
        let place = is_waiting.then(|| read(place, &mut bytes));
        let place = place.map(|place| place.unwrap_or_default());
        // It runs again since, and waits nowhere: "0" (proc_pid_wchan(5)).
        let is_own = |place: &str| place == "0" || OWN.iter().any(|own| place.contains(own));
        Some(State {
            waits_in: place.filter(|place| !is_own(place)).map(str::to_owned),
            faults: minor + major,
        })
    }
}

struct Look {
    /// The faults since the last look.
    faults: u64,
    stall: Option<Stall>,
}

struct Stall {
    host: Host,
    visit: u64,
    lasts: Duration,
    waits_in: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    /// Where in the kernel it waits; none of a thread that runs, or is kept from its CPU.
    waits_in: Option<String>,
    faults: u64,
}

/// Parts of the names of places where a thread waits for another of its own process: for
/// a lock of its own, or that of the process's mappings. That is no tenant's doing.
const OWN: [&str; 7] = [
    "futex",
    "rwsem",
    "mincore",
    "mmap",
    "lock_mm",
    "lock_vma",
    "user_addr_fault",
];

/// Longest name of such a place.
const PLACE_BYTES: usize = 64;

fn own_state() -> io::Result<[File; 2]> {
    Ok([
        File::open("/proc/thread-self/stat")?,
        File::open("/proc/thread-self/wchan")?,
    ])
}

fn read<'b>(file: &File, into: &'b mut [u8]) -> Option<&'b str> {
    let len = file.read_at(into, 0).ok()?;
    std::str::from_utf8(&into[..len]).ok()
}

/// How a worker's visits keep within what they are expected to take.
#[derive(Debug)]
pub(crate) struct Pace {
    begin_ticks: u64,
    begin_ns: u64,
    ticks_a_ns: f64,
    is_known: bool,
    /// What the kernel charged this thread when it was last looked at, and when that was.
    usage: ThreadUsage,
    usage_ns: u64,
    /// Sleeps of the worker's own since.
    sleeps: u64,
}

/// What a visit took beyond what was expected of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beyond {
    /// Below 0 where it took less.
    pub(crate) ns: i64,
    /// More than twice as long, and [`SLOW_TICKS`].
    pub(crate) is_slow: bool,
    /// It is known that memory held it up.
    pub(crate) is_held_up: bool,
    /// It waited for memory, so that all of this is due to that.
    pub(crate) has_waited: bool,
    /// Its worker may have lost its CPU meanwhile, which is nobody's fault.
    pub(crate) may_be_lost: bool,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self {
            begin_ticks: ticks(),
            begin_ns: now_ns(),
            // More than any has, until one is known.
            ticks_a_ns: 8.0,
            is_known: false,
            usage: thread_usage(),
            usage_ns: now_ns(),
            sleeps: 0,
        }
    }

    /// The worker is about to sleep by itself, at `idle_ns`.
    pub(crate) fn sleeps(&mut self, idle_ns: u64) {
        if idle_ns.saturating_sub(self.usage_ns) > OLD_NS {
            self.begin_anew(idle_ns);
        }
        self.sleeps += 1;
    }

    /// For what the thread waited until now is no visit's: locks of its own, too.
    pub(crate) fn begin_anew(&mut self, now_ns: u64) {
        (self.usage, self.usage_ns, self.sleeps) = (thread_usage(), now_ns, 0);
    }

    /// What a visit that began at `begin_ticks` took beyond what was expected of it.
    #[inline]
    pub(crate) fn beyond(
        &mut self,
        begin_ticks: u64,
        expected_ns: u64,
        standpoint: &Standpoint,
    ) -> Beyond {
        let took = ticks().wrapping_sub(begin_ticks);
        let expected = expected_ns as f64 * self.ticks_a_ns;
        // Estimates are rough, and learn.
        if took as f64 > 2.0 * expected + SLOW_TICKS as f64 {
            return self.slow(took, expected_ns, standpoint);
        }
        if !self.is_known && !self.learn() {
            return Beyond::default();
        }
        Beyond {
            ns: ((took as f64 - expected) / self.ticks_a_ns) as i64,
            ..Beyond::default()
        }
    }

    /// Learns how long a tick is; a worker that is older than this knows it well.
    #[cold]
    fn learn(&mut self) -> bool {
        let (ticks, ns) = (
            ticks().wrapping_sub(self.begin_ticks),
            now_ns().saturating_sub(self.begin_ns),
        );
        if ns > 10_000_000 {
            self.ticks_a_ns = ticks as f64 / ns as f64;
            self.is_known = true;
        }
        self.is_known
    }

    #[cold]
    fn slow(&mut self, took: u64, expected_ns: u64, standpoint: &Standpoint) -> Beyond {
        self.learn();
        let took_ns = (took as f64 / self.ticks_a_ns) as u64;
        let beyond_ns = took_ns.saturating_sub(expected_ns);
        let (before, sleeps) = (self.usage, self.sleeps);
        self.begin_anew(now_ns());
        let usage = self.usage;
        let faults = usage.faults() - before.faults();
        // Between its sleeps little else lets a worker wait; with a fault it was that. One
        // that lost its CPU, too, may have lost all the time so.
        let waits = (usage.voluntary_switches - before.voluntary_switches).saturating_sub(sleeps);
        let losses = usage.involuntary_switches - before.involuntary_switches;
        let is_stalled = standpoint.is_stalled.swap(false, Ordering::Relaxed);
        let has_waited = is_stalled || (waits > 0 && faults > 0 && losses == 0);
        let may_be_lost = !has_waited && (losses > 0 || waits > 0);
        let charged_ns = if has_waited {
            beyond_ns
        } else if may_be_lost {
            beyond_ns.min(faults.saturating_mul(FAULT_NS_MAX).max(SLOW_NS))
        } else {
            beyond_ns.min(COMPUTED_NS_MAX)
        };
        Beyond {
            ns: i64::try_from(charged_ns).unwrap_or(i64::MAX),
            is_slow: true,
            is_held_up: has_waited || faults > 0,
            has_waited,
            may_be_lost,
        }
    }
}

/// What is wrong with a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It ended without being asked: a panic.
    Ended { worker: usize },
    /// The memory of a virtual function, or of one of several, holds it up.
    Stalled {
        worker: usize,
        function: Option<u64>,
        lasts: Duration,
        /// The kernel's function that waits, where it tells.
        waits_in: String,
    },
    /// It had so many page faults since the last look.
    Faulted { worker: usize, count: u64 },
}

#[derive(Clone, Debug, Default)]
struct Seen {
    visits: u64,
    since_ns: u64,
    waits_in: Option<String>,
    faults: Option<u64>,
}

/// Looks after the workers of an engine, on any thread.
pub struct Overseer {
    controls: Vec<Arc<dyn Overseen>>,
    /// The last look at each member of each worker's crew.
    seen: Vec<Vec<Seen>>,
}

impl std::fmt::Debug for Overseer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Overseer({} workers)", self.controls.len())
    }
}

trait Overseen: Send + Sync {
    /// The crew's standpoints, one a member.
    fn standpoints(&self) -> &[Standpoint];
    fn has_failed(&self) -> bool;
    fn relieve(&self, ask: Ask);
}

impl<R: Copy + Send> Overseen for Control<R> {
    fn standpoints(&self) -> &[Standpoint] {
        self.standpoints()
    }

    fn relieve(&self, ask: Ask) {
        self.relief.ask(ask);
    }

    fn has_failed(&self) -> bool {
        self.has_failed()
    }
}

impl Overseer {
    pub(crate) fn new<R: Copy + Send + 'static>(
        controls: impl Iterator<Item = Arc<Control<R>>>,
    ) -> Self {
        let controls: Vec<_> = controls.map(|one| one as Arc<dyn Overseen>).collect();
        Self {
            seen: controls
                .iter()
                .map(|control| vec![Seen::default(); control.standpoints().len()])
                .collect(),
            controls,
        }
    }

    /// Tells `trouble` of each worker that has some, at `now_ns`. A stall is told with
    /// each look while it lasts. Where the worker has stand-ins, one takes over.
    pub fn look(&mut self, now_ns: u64, mut trouble: impl FnMut(Trouble)) {
        for (worker, (control, seen)) in self.controls.iter().zip(&mut self.seen).enumerate() {
            if control.has_failed() {
                trouble(Trouble::Ended { worker });
                continue;
            }
            let crew = control.standpoints().iter().zip(seen);
            for (member, (standpoint, seen)) in crew.enumerate() {
                let look = standpoint.look(now_ns, seen);
                if look.faults > 0 {
                    let count = look.faults;
                    trouble(Trouble::Faulted { worker, count });
                }
                let Some(stall) = look.stall else {
                    continue;
                };
                let function = stall.host.one();
                if function.is_some() {
                    let visit = stall.visit;
                    control.relieve(Ask { member, visit });
                }
                if stall.lasts >= STALL {
                    standpoint.is_stalled.store(true, Ordering::Relaxed);
                    trouble(Trouble::Stalled {
                        worker,
                        function,
                        lasts: stall.lasts,
                        waits_in: stall.waits_in,
                    });
                }
            }
        }
    }

    /// Whether some worker is at somebody's memory right now: else a look may wait.
    pub fn is_any_out(&self) -> bool {
        let is_out = |one: &Standpoint| one.at.load(Ordering::Relaxed) != NOBODY;
        let all = self.controls.iter();
        all.flat_map(|control| control.standpoints()).any(is_out)
    }
}
