//! Since when what a program keeps holds: `bpf/ages.h`.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use sys::failure::Failure;

use super::control::neighbour;
use crate::mapped::Mapped;
use crate::object::Map;

const CELLS: usize = 1 << 16;
/// A prefix that reaches into more of them concerns everything.
const REACHED_MAX: u32 = 1 << 12;
/// The bits of an address that choose its cell: IPv4, IPv6.
const CHOOSING: [u8; 2] = [16, 32];
const NEIGHBOUR_CELLS_SHIFT: u32 = 10;
const NEIGHBOUR_CELLS: usize = 1 << NEIGHBOUR_CELLS_SHIFT;

/// What a change may concern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    Everything,
    /// Packets to, and from, the addresses whose first so many bits are these.
    Network(IpAddr, u8),
    /// Packets that go by a neighbour, which has this address at this interface.
    Neighbour(u32, IpAddr),
}

/// `struct ages`: where its parts begin.
const ALL: usize = 8;
const V4: usize = 16;
const V6: usize = V4 + 4 * CELLS;
const NEIGHBOURS: usize = V6 + 4 * CELLS;
const BYTES: usize = NEIGHBOURS + 4 * NEIGHBOUR_CELLS;

pub(super) struct Ages {
    counts: Mapped,
    writer: Mutex<()>,
}

impl Ages {
    pub fn new(map: &Map) -> Result<Self, Failure> {
        Ok(Self {
            counts: map.mapped(BYTES)?,
            writer: Mutex::new(()),
        })
    }

    /// What is kept and may concern this is old from now on.
    pub fn count(&self, concern: Concern) {
        let _one = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // First: whoever sees an age of now, sees that something changed.
        self.counts.number(0).fetch_add(1, Ordering::SeqCst);
        match concern {
            Concern::Network(address, prefix_length) => {
                let begin = if address.is_ipv4() { V4 } else { V6 };
                let of_family = self.counts.words(begin, CELLS);
                match reached(address, prefix_length) {
                    Some(cells) => cells.for_each(|cell| self.count_in(&of_family[cell])),
                    None => self.count_all(1),
                }
            }
            Concern::Neighbour(interface, address) => {
                let cells = self.counts.words(NEIGHBOURS, NEIGHBOUR_CELLS);
                self.count_in(&cells[neighbour_cell(interface, address)]);
            }
            Concern::Everything => self.count_all(1),
        }
    }

    fn count_all(&self, more: u64) {
        self.counts.number(ALL).fetch_add(more, Ordering::SeqCst);
    }

    /// Where it would begin anew, the sum must grow all the same.
    fn count_in(&self, cell: &AtomicU32) {
        let next = cell.load(Ordering::Relaxed).checked_add(1);
        if next.is_none() {
            self.count_all(1 << 32);
        }
        cell.store(next.unwrap_or(0), Ordering::SeqCst);
    }
}

/// The cells of the addresses of a network; `None`: more than [`REACHED_MAX`].
fn reached(address: IpAddr, prefix_length: u8) -> Option<impl Iterator<Item = usize>> {
    let (first, choosing) = match address {
        IpAddr::V4(address) => (address.to_bits() >> 16, CHOOSING[0]),
        IpAddr::V6(address) => ((address.to_bits() >> 96) as u32, CHOOSING[1]),
    };
    let open = u32::from(choosing.saturating_sub(prefix_length));
    let count = 1_u32
        .checked_shl(open)
        .filter(|count| *count <= REACHED_MAX)?;
    let begin = first & !(count - 1);
    // Of IPv4 the high half is zero.
    let folded = |first: u32| usize::from((first ^ first >> 16) as u16);
    Some((0..count).map(move |more| folded(begin + more)))
}

/// `neighbour_cell` of `bpf/stale.h`.
fn neighbour_cell(interface: u32, address: IpAddr) -> usize {
    let key = neighbour(interface, address);
    let word = |at: usize| {
        let bytes = key[at..].first_chunk().expect("a key has three words");
        u64::from_ne_bytes(*bytes)
    };
    let mix = (word(0) ^ u64::from(interface)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ word(8).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    usize::try_from(mix >> (64 - NEIGHBOUR_CELLS_SHIFT)).unwrap_or(0)
}
