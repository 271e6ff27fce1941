//! What a router's watcher tells its program: `bpf/lease.h`,
//! `bpf/stale.h`, and of one that keeps answers `bpf/alike.h` and the generation
//! of `bpf/cache.h`.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_getres};

use sys::failure::Failure;

use crate::attached::Entry;
use crate::object::{Map, Object};

use super::alike::Alike;
use super::ports::{Ports, RouterOptions, RouterPort};

/// How long after a look its information is used, at most. Less than the 100 ms
/// within which a change must show: a host that takes the CPU away may delay some of
/// the kernel's ticks.
pub const LEASE: Duration = Duration::from_millis(80);

/// `AF_INET` and `AF_INET6`.
const FAMILIES: [u32; 2] = [2, 10];

/// Keeps a program's description of its router. Clones are for the same program.
///
/// A program forwards only under a lease: before the first [`renew`](Self::renew),
/// and from [`LEASE`] after the last renewed look, every frame goes to the kernel. So
/// a watcher that is late, stuck or dead makes a router slow, never wrong.
///
/// ```text
/// loop { look; see what changed; describe, set_stale, set_alike, forget; renew }
/// ```
#[derive(Clone)]
pub struct Control(Arc<Inner>);

struct Inner {
    object: Object,
    ports: Ports,
    stale: Map,
    kept: Option<Kept>,
    lease_ticks: u64,
}

struct Kept {
    alike: Map,
    generation: Map,
    now: Mutex<u32>,
}

/// A look for changes, and its time.
#[derive(Debug)]
#[must_use = "a lease is renewed by the look that it counts from"]
pub struct Look {
    ticks: u64,
}

impl Control {
    pub(super) fn new(
        object: Object,
        ports: &[RouterPort],
        options: RouterOptions,
    ) -> Result<Self, Failure> {
        Self::of(object, ports, options, None)
    }

    pub(super) fn with_cache(
        object: Object,
        ports: &[RouterPort],
        options: RouterOptions,
    ) -> Result<Self, Failure> {
        let kept = Kept {
            alike: object.map(".bss.alike")?,
            generation: object.map(".data.generation")?,
            now: Mutex::new(0),
        };
        let control = Self::of(object, ports, options, Some(kept))?;
        control.forget()?;
        Ok(control)
    }

    fn of(
        object: Object,
        ports: &[RouterPort],
        options: RouterOptions,
        kept: Option<Kept>,
    ) -> Result<Self, Failure> {
        Ok(Self(Arc::new(Inner {
            ports: Ports::new(&object, ports, options)?,
            stale: object.map("stale")?,
            kept,
            object,
            lease_ticks: ticks(LEASE),
        })))
    }

    pub(super) fn object(&self) -> &Object {
        &self.0.object
    }

    pub(super) fn entries(&self, program: &'static str) -> Vec<Entry<'_>> {
        let entry = |ifindex: &u32| Entry {
            ifindex: *ifindex,
            program: self.0.object.program(program),
        };
        self.0.ports.carriers().iter().map(entry).collect()
    }

    /// Call it before looking for changes.
    pub fn look(&self) -> Result<Look, Failure> {
        let mut moment = [0; 8];
        self.0.object.run("look", &mut moment)?;
        Ok(Look {
            ticks: u64::from_ne_bytes(moment),
        })
    }

    /// Every change before this look was passed on: [`LEASE`] counts from it.
    pub fn renew(&self, look: Look) -> Result<(), Failure> {
        let until = look.ticks.saturating_add(self.0.lease_ticks);
        self.0.object.run("renew", &mut until.to_ne_bytes())
    }

    /// Sets the ports anew, e.g. after an address changed; empty when all are gone.
    /// The interfaces that carry them must stay the same. The cache is emptied, and
    /// the lease ends: no frame is forwarded by half of it.
    ///
    /// # Errors
    /// [`Failure`]; then do not renew.
    pub fn describe(&self, ports: &[RouterPort], options: RouterOptions) -> Result<(), Failure> {
        self.0.object.run("renew", &mut [0; 8])?;
        self.0.ports.write(ports, options)?;
        self.forget()
    }

    /// Sets which addresses go the same way, by the tables that the look found; until
    /// then none do. Has no effect on a program without a cache. Must be followed by
    /// [`forget`](Self::forget).
    ///
    /// # Errors
    /// [`Failure`]; then do not renew.
    pub fn set_alike(&self, alike: &Alike) -> Result<(), Failure> {
        match &self.0.kept {
            Some(kept) => kept.alike.write(0, alike.as_bytes()),
            None => Ok(()),
        }
    }

    /// Something changed: no cached answer may be used.
    ///
    /// # Errors
    /// [`Failure`]; then do not renew.
    pub fn forget(&self) -> Result<(), Failure> {
        let Some(kept) = &self.0.kept else {
            return Ok(());
        };
        let mut now = kept.now.lock().unwrap_or_else(PoisonError::into_inner);
        *now = now.checked_add(1).unwrap_or(1);
        kept.generation.write(0, &now.to_ne_bytes())
    }

    /// Sets whether a neighbour is stale (RFC 4861, section 7.3.2): then the first
    /// frame to it goes to the kernel, which asks whether it is still there. Must be
    /// followed by [`forget`](Self::forget).
    ///
    /// # Errors
    /// [`Failure`]; then do not renew.
    pub fn set_stale(
        &self,
        interface: u32,
        address: IpAddr,
        is_stale: bool,
    ) -> Result<(), Failure> {
        let key = neighbour(interface, address);
        if is_stale {
            self.0.stale.write_key(&key, &1_u32.to_ne_bytes())
        } else {
            self.0.stale.remove_key(&key)
        }
    }
}

/// `struct neighbour`.
fn neighbour(interface: u32, address: IpAddr) -> [u8; 24] {
    let mut key = [0; 24];
    let family = match address {
        IpAddr::V4(address) => {
            key[..4].copy_from_slice(&address.octets());
            FAMILIES[0]
        }
        IpAddr::V6(address) => {
            key[..16].copy_from_slice(&address.octets());
            FAMILIES[1]
        }
    };
    key[16..20].copy_from_slice(&interface.to_ne_bytes());
    key[20..].copy_from_slice(&family.to_ne_bytes());
    key
}

/// A time in ticks of the kernel's clock, rounded down so that a lease is not longer
/// than stated: it counts from within a tick, and one has passed when the count is
/// equal.
fn ticks(time: Duration) -> u64 {
    let tick = clock_getres(ClockId::MonotonicCoarse);
    let tick_ns = u64::try_from(tick.tv_nsec).unwrap_or(0).max(1);
    (u64::try_from(time.as_nanos()).unwrap_or(0) / tick_ns).saturating_sub(1)
}
