//! What a router's watcher tells its program: `bpf/lease.h`, `bpf/special.h`,
//! `bpf/stale.h`, and of one that keeps answers `bpf/alike.h` and `bpf/ages.h`.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_getres};

use sys::failure::Failure;

use crate::attached::Entry;
use crate::object::{Map, Object};

use super::ages::{Ages, Concern};
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
/// loop { look; see what changed; describe, set_special, set_stale, set_alike, forget; renew }
/// ```
#[derive(Clone)]
pub struct Control(Arc<Inner>);

struct Inner {
    object: Object,
    ports: Ports,
    stale: Map,
    specials: Map,
    kept: Option<Kept>,
    lease_ticks: u64,
}

struct Kept {
    alike: Map,
    ages: Ages,
}

/// The most networks that [`Control::set_special`] takes: a full table.
pub const SPECIAL_MAX: usize = 1 << 20;

/// What of the routes to a network the kernel's answers do not tell a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Special {
    /// Longer packets are the kernel's, e.g. by a route's MTU; 0: all, e.g. of a
    /// route with several next hops.
    pub bytes_max: u32,
    /// An answer depends on more than the destination, and is for one packet only.
    pub is_not_kept: bool,
}

impl Special {
    /// Nothing is special.
    pub const NONE: Self = Self {
        bytes_max: u32::MAX,
        is_not_kept: false,
    };

    /// Of both.
    pub fn and(self, other: Self) -> Self {
        Self {
            bytes_max: self.bytes_max.min(other.bytes_max),
            is_not_kept: self.is_not_kept | other.is_not_kept,
        }
    }
}

/// A look for changes, and its time.
#[derive(Debug)]
#[must_use = "a lease is renewed by the look that it counts from"]
pub struct Look {
    ticks: u64,
}

impl Look {
    /// When it was, by the kernel's ticks.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }
}

impl Control {
    /// [`LEASE`] by the kernel's ticks.
    pub fn lease_ticks(&self) -> u64 {
        self.0.lease_ticks
    }

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
            ages: Ages::new(&object.map(".bss.ages")?)?,
        };
        let control = Self::of(object, ports, options, Some(kept))?;
        // An entry of zeros is none.
        control.forget(Concern::Everything);
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
            specials: object.map("specials")?,
            kept,
            object,
            lease_ticks: ticks(LEASE),
        })))
    }

    pub(super) fn object(&self) -> &Object {
        &self.0.object
    }

    pub(super) fn device(&self, ifindex: u32) -> Option<u32> {
        self.0.ports.device(ifindex)
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
        self.pause()?;
        self.0.ports.write(ports, options)?;
        self.forget(Concern::Everything);
        Ok(())
    }

    /// Ends the lease, and waits until no frame is forwarded by it any more.
    ///
    /// # Errors
    /// [`Failure`]; then do not renew.
    pub fn pause(&self) -> Result<(), Failure> {
        self.0.object.run("renew", &mut [0; 8])?;
        if sys::quiescence::wait_for_every_cpu().is_err() {
            // Longer than a program can take.
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Sets which addresses go the same way, by the tables that the look found; until
    /// then none do. Has no effect on a program without a cache. Must be followed by
    /// [`forget`](Self::forget), and comes after [`pause`](Self::pause) where some may go
    /// the same way that did not before.
    ///
    /// # Errors
    /// [`Failure`]; then do not renew.
    pub fn set_alike(&self, alike: &Alike) -> Result<(), Failure> {
        match &self.0.kept {
            Some(kept) => kept.alike.write(0, alike.as_bytes()),
            None => Ok(()),
        }
    }

    /// Something changed: no kept answer that it may concern is used.
    pub fn forget(&self, concern: Concern) {
        if let Some(kept) = &self.0.kept {
            kept.ages.count(concern);
        }
    }

    /// Sets what is special of a network's routes, or that nothing is. The longest of
    /// the networks that an address lies in decides, so one within another has what
    /// that has. Must be followed by [`forget`](Self::forget).
    ///
    /// # Errors
    /// [`Failure`], e.g. with more than [`SPECIAL_MAX`]; then do not renew.
    pub fn set_special(
        &self,
        network: IpAddr,
        prefix_length: u8,
        special: Option<Special>,
    ) -> Result<(), Failure> {
        let (family, address) = family_and_address(network);
        let bits = (32 + u32::from(prefix_length)).to_ne_bytes();
        let mut key = bits.to_vec();
        key.extend(family);
        key.extend(address);
        let Some(special) = special else {
            return self.0.specials.remove_key(&key);
        };
        let is_not_kept = u32::from(special.is_not_kept);
        let value = [special.bytes_max.to_ne_bytes(), is_not_kept.to_ne_bytes()];
        self.0.specials.write_key(&key, &value.concat())
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
pub(super) fn neighbour(interface: u32, address: IpAddr) -> [u8; 24] {
    let (family, octets) = family_and_address(address);
    let mut key = [0; 24];
    key[..16].copy_from_slice(&octets);
    key[16..20].copy_from_slice(&interface.to_ne_bytes());
    key[20..].copy_from_slice(&family);
    key
}

/// As the kernel numbers families, and an IPv4 address with zeros behind it.
fn family_and_address(address: IpAddr) -> ([u8; 4], [u8; 16]) {
    let mut octets = [0; 16];
    let family = match address {
        IpAddr::V4(address) => {
            octets[..4].copy_from_slice(&address.octets());
            FAMILIES[0]
        }
        IpAddr::V6(address) => {
            octets = address.octets();
            FAMILIES[1]
        }
    };
    (family.to_ne_bytes(), octets)
}

/// A time in ticks of the kernel's clock, rounded down so that a lease is not longer
/// than stated: it counts from within a tick, and one has passed when the count is
/// equal.
fn ticks(time: Duration) -> u64 {
    let tick = clock_getres(ClockId::MonotonicCoarse);
    let tick_ns = u64::try_from(tick.tv_nsec).unwrap_or(0).max(1);
    (u64::try_from(time.as_nanos()).unwrap_or(0) / tick_ns).saturating_sub(1)
}
