//! From ids and paths to entries: open addressing, by a hash whose key nobody knows.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{IpAddr, SocketAddr};

use crypto::prefetch;
use wire::quic::{CONNECTION_ID_BYTES_MAX, ConnectionId};

const VACANT: u32 = u32::MAX;
/// Behind 20 bytes of an id; what no id has there is a path's.
const LENGTH_AT: u32 = 32;
const PATH: u64 = 0xff;

/// Where a packet came from, and which of the caller's sockets it came to. An IPv4 address
/// is the same as its mapped IPv6 address; a scope id is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    address: [u8; 16],
    port: u16,
    local: u16,
}

impl Path {
    /// `local` is the caller's number for the socket.
    pub fn new(peer: SocketAddr, local: u16) -> Self {
        let address = match peer.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        Self {
            address: address.octets(),
            port: peer.port(),
            local,
        }
    }

    pub fn peer(&self) -> SocketAddr {
        (IpAddr::from(self.address).to_canonical(), self.port).into()
    }

    pub fn local(&self) -> u16 {
        self.local
    }
}

/// What a connection is found by: an id with bytes, or a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Name([u64; 3]);

impl Name {
    /// `None` of more than 20 bytes.
    #[inline]
    pub(super) fn new(id: &[u8], path: &Path) -> Option<Self> {
        if id.is_empty() {
            let address = u128::from_le_bytes(path.address);
            let ports = u64::from(path.port) | u64::from(path.local) << 16;
            return Some(Self([
                address as u64,
                (address >> 64) as u64,
                ports | PATH << LENGTH_AT,
            ]));
        }
        if id.len() > CONNECTION_ID_BYTES_MAX {
            return None;
        }
        let mut words = [0; 3];
        for (word, bytes) in words.iter_mut().zip(id.chunks(8)) {
            // By whole words: bytes that are stored and then loaded as a word stall.
            *word = match bytes.first_chunk() {
                Some(all) => u64::from_le_bytes(*all),
                None => bytes
                    .iter()
                    .rev()
                    .fold(0, |word, byte| word << 8 | u64::from(*byte)),
            };
        }
        words[2] |= (id.len() as u64) << LENGTH_AT;
        Some(Self(words))
    }

    pub(super) fn of(id: ConnectionId, path: &Path) -> Self {
        Self::new(id.bytes(), path).expect("an id has 20 bytes at most")
    }
}

/// The hash stands for the name: SipHash with a key that nobody knows, of 64 bits. That a
/// packet of no connection meets one of a million has a chance of 2^-44; its tag tells.
#[derive(Clone, Copy)]
struct Slot {
    hash: Hash,
    owner: u32,
}

/// Of a name: where it belongs, and the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hash {
    /// A fraction of the slots; an entry keeps this half to find its names.
    pub(super) home: u32,
    rest: u32,
}

const EMPTY: Slot = Slot {
    hash: Hash { home: 0, rest: 0 },
    owner: VACANT,
};

/// At most half full, so that a look-up reads one line or two.
pub(super) struct Index {
    slots: Vec<Slot>,
    /// SipHash with a random key, another for each table: who chooses ids or addresses
    /// cannot make them collide.
    hasher: RandomState,
    count: usize,
}

impl Index {
    pub(super) const NAME_BYTES: usize = 2 * size_of::<Slot>();

    pub(super) fn new(names: usize) -> Result<Self, std::collections::TryReserveError> {
        let mut slots = Vec::new();
        // One is always empty: there a search ends.
        let count = 2 * names + 1;
        slots.try_reserve_exact(count)?;
        crypto::prefer_huge_pages(slots.spare_capacity_mut());
        slots.resize(count, EMPTY);
        Ok(Self {
            slots,
            hasher: RandomState::new(),
            count: 0,
        })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn is_full(&self) -> bool {
        self.count == self.slots.len() / 2
    }

    #[inline]
    pub(super) fn hash(&self, name: &Name) -> Hash {
        let mut hasher = self.hasher.build_hasher();
        name.0.iter().for_each(|word| hasher.write_u64(*word));
        let hash = hasher.finish();
        Hash {
            home: hash as u32,
            rest: (hash >> 32) as u32,
        }
    }

    /// Their number may be any.
    #[inline]
    fn home(&self, home: u32) -> usize {
        ((u64::from(home) * self.slots.len() as u64) >> 32) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.slots.len() {
            0
        } else {
            at + 1
        }
    }

    #[inline]
    pub(super) fn prefetch(&self, hash: Hash) {
        prefetch(&self.slots[self.home(hash.home)]);
    }

    #[inline]
    fn position(&self, home: u32, is: impl Fn(&Slot) -> bool) -> Option<usize> {
        let mut at = self.home(home);
        loop {
            let slot = &self.slots[at];
            if slot.owner == VACANT {
                return None;
            }
            if slot.hash.home == home && is(slot) {
                return Some(at);
            }
            at = self.after(at);
        }
    }

    /// Which entry has the name.
    #[inline]
    pub(super) fn find(&self, hash: Hash) -> Option<u32> {
        let at = self.position(hash.home, |slot| slot.hash == hash)?;
        Some(self.slots[at].owner)
    }

    /// A name that nobody has, while there is room.
    pub(super) fn insert(&mut self, hash: Hash, owner: u32) {
        assert!(!self.is_full(), "the caller looks first");
        let mut at = self.home(hash.home);
        while self.slots[at].owner != VACANT {
            at = self.after(at);
        }
        self.slots[at] = Slot { hash, owner };
        self.count += 1;
    }

    /// One name of an entry, by half of its hash; two of the same half are both removed in
    /// turn.
    pub(super) fn remove_of(&mut self, home: u32, owner: u32) {
        if let Some(at) = self.position(home, |slot| slot.owner == owner) {
            self.remove_at(at);
        }
    }

    pub(super) fn remove(&mut self, hash: Hash) {
        if let Some(at) = self.position(hash.home, |slot| slot.hash == hash) {
            self.remove_at(at);
        }
    }

    /// Moves those behind into the hole that may be there, so that no search ends early.
    fn remove_at(&mut self, mut hole: usize) {
        let slots = self.slots.len();
        let distance = |from: usize, to: usize| (to + slots - from) % slots;
        let mut at = self.after(hole);
        while self.slots[at].owner != VACANT {
            let slot = self.slots[at];
            if distance(self.home(slot.hash.home), at) >= distance(hole, at) {
                self.slots[hole] = slot;
                hole = at;
            }
            at = self.after(at);
        }
        self.slots[hole] = EMPTY;
        self.count -= 1;
    }
}
