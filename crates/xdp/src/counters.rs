//! What a program that forwards counts: `bpf/counters.h`.

use sys::failure::Failure;

use crate::object::{Map, number};

/// Why a frame went to the kernel instead of being forwarded by the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    NotIp,
    OtherHost,
    /// A VLAN that is not a port of the router, or more than one tag.
    Vlan,
    /// The length or the version is not what a header says.
    Malformed,
    Checksum,
    Options,
    Martian,
    Ttl,
    Mtu,
    NoRoute,
    NoNeighbour,
    Source,
    /// It would leave by the port it came from: the kernel sends a redirect.
    SamePort,
    NotAPort,
    SwitchedOff,
    Unwatched,
    /// The first frame to a neighbour that was not heard of for a while: the kernel
    /// asks whether it is still there.
    Stale,
    /// Its route is one that only the kernel follows, e.g. with several next hops.
    Special,
    /// Netfilter has hooks between the ports for its family: nftables, iptables, ….
    Firewall,
    /// Something decides about what comes in by its port: tc, nftables' ingress, ….
    FilterIn,
    /// Something decides about, or queues, what leaves by its port.
    FilterOut,
    /// IPsec policies say who may pass.
    Policies,
    /// None of these.
    Other,
}

impl Reason {
    pub const ALL: [Self; 23] = [
        Self::NotIp,
        Self::OtherHost,
        Self::Vlan,
        Self::Malformed,
        Self::Checksum,
        Self::Options,
        Self::Martian,
        Self::Ttl,
        Self::Mtu,
        Self::NoRoute,
        Self::NoNeighbour,
        Self::Source,
        Self::SamePort,
        Self::NotAPort,
        Self::SwitchedOff,
        Self::Unwatched,
        Self::Stale,
        Self::Special,
        Self::Firewall,
        Self::FilterIn,
        Self::FilterOut,
        Self::Policies,
        Self::Other,
    ];
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub received: u64,
    /// Frames sent to another port; its queue may still have refused them.
    pub forwarded: u64,
    pub dropped: u64,
    pub hits: u64,
    pub misses: u64,
    /// When a frame was forwarded last, by the kernel's ticks
    /// ([`Look::ticks`](crate::path::Look::ticks)).
    pub last_ticks: u64,
    /// Frames handed to the kernel, by [`Reason`] in its order.
    passed: [u64; Reason::ALL.len()],
}

impl Counters {
    pub fn passed(&self, reason: Reason) -> u64 {
        self.passed[reason as usize]
    }

    /// Of all devices by which frames came in.
    pub(crate) fn read<'m>(maps: impl IntoIterator<Item = &'m Map>) -> Result<Self, Failure> {
        let mut sum = Self::default();
        for map in maps {
            for device in 0..map.entries() {
                sum.add_device(map, device)?;
            }
        }
        Ok(sum)
    }

    /// Of the device at that place.
    pub(crate) fn read_of(map: &Map, device: u32) -> Result<Self, Failure> {
        let mut sum = Self::default();
        sum.add_device(map, device)?;
        Ok(sum)
    }

    fn add_device(&mut self, map: &Map, device: u32) -> Result<(), Failure> {
        for value in map.read_per_cpu(device)? {
            self.add(&value);
        }
        Ok(())
    }

    /// Adds a `struct counters`.
    fn add(&mut self, value: &[u8]) {
        let Self {
            received,
            forwarded,
            dropped,
            hits,
            misses,
            last_ticks,
            passed,
        } = self;
        let counts = [received, forwarded, dropped, hits, misses];
        let ticks = counts.len();
        let counts = (0..).zip(counts).chain((ticks + 1..).zip(passed));
        for (index, count) in counts {
            *count += number(value, index);
        }
        *last_ticks = number(value, ticks).max(*last_ticks);
    }
}
