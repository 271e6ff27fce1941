//! A split virtqueue as its device sees it (virtio 1.2 §2.7).
//!
//! The other side may write any of it at any time. So every field is read once and
//! checked then; an index that no driver could have written breaks the queue, which is
//! told once and then left alone. Entries are used in the order in which they came, so
//! that one number says what is done: the used index.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering, fence};

use policy::Standing;
use sys::memory::Mapping;

use crate::chain::Chain;
use crate::memory::GuestMemory;

/// Largest size of a queue that is taken: what QEMU gives a crypto device.
pub const SIZE_MAX: u16 = 1024;

const NO_INTERRUPT: u16 = 1;
const NO_NOTIFY: u16 = 1;

const NEXT: u16 = 1;
pub(crate) const WRITE: u16 = 2;
const INDIRECT: u16 = 4;

const DESCRIPTOR_BYTES: usize = 16;

/// Where a queue lies, in addresses of the front-end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Geometry {
    pub size: u16,
    pub descriptors: u64,
    pub available: u64,
    pub used: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    #[error("a queue of {0} entries: give a power of 2 up to {SIZE_MAX}")]
    Size(u16),
    #[error("the queue's {part} at {address:#x} must be aligned to {to} bytes")]
    Alignment {
        part: &'static str,
        address: u64,
        to: u64,
    },
    #[error("the queue's {part} at {address:#x} is not within one region of memory")]
    Outside { part: &'static str, address: u64 },
}

/// What no driver writes. The queue takes nothing more until it is set up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("{ahead} entries are available in a queue of {size}")]
    Available { ahead: u16, size: u16 },
    #[error("entry {head} does not exist in a queue of {size}")]
    Head { head: u16, size: u16 },
}

/// A chain of descriptors that makes no sense. Its entry is used up with nothing written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    #[error("the chain has more descriptors than its table")]
    Endless,
    #[error("descriptor {0} does not exist in its table")]
    Next(u16),
    #[error("{bytes} bytes at {address:#x} lie outside the guest's memory")]
    Outside { address: u64, bytes: u32 },
    #[error("a table of descriptors of {0} bytes is not a whole number of them, or too large")]
    Table(u32),
    #[error("a table of descriptors within a table, or one that the chain goes on after")]
    Nested,
    #[error("bytes to read follow bytes to write")]
    Order,
    #[error("the chain has more than 2^32 bytes")]
    Long,
    #[error(
        "the chain names memory that nobody has written, beyond what may be made for it (`made_max`)"
    )]
    Unwritten,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Descriptor {
    pub(crate) address: u64,
    pub(crate) bytes: u32,
    pub(crate) flags: u16,
    next: u16,
}

/// Part of a queue: where it lies in one mapping.
#[derive(Clone, Debug)]
struct Area {
    mapping: Arc<Mapping>,
    offset: usize,
}

impl Area {
    fn number(&self, at: usize) -> &AtomicU16 {
        let number = self.mapping.number(self.offset + at);
        number.expect("the queue's geometry was checked")
    }

    fn descriptor(&self, index: u16) -> Descriptor {
        let mut bytes = [0; DESCRIPTOR_BYTES];
        let at = self.offset + usize::from(index) * DESCRIPTOR_BYTES;
        let read = self.mapping.read(at, &mut bytes);
        read.expect("the queue's geometry was checked");
        Descriptor::parse(&bytes)
    }
}

impl Descriptor {
    fn parse(bytes: &[u8; DESCRIPTOR_BYTES]) -> Self {
        let (address, rest) = bytes.split_first_chunk().expect("sixteen bytes");
        let (len, rest) = rest.split_first_chunk().expect("eight bytes");
        let (flags, next) = rest.split_first_chunk().expect("four bytes");
        Self {
            address: u64::from_le_bytes(*address),
            bytes: u32::from_le_bytes(*len),
            flags: u16::from_le_bytes(*flags),
            next: u16::from_le_bytes(next.try_into().expect("two bytes")),
        }
    }
}

/// Whether and how the driver says that it wants to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wishes {
    /// By its flag.
    Flag,
    /// By its event index.
    EventIndex,
    /// QEMU does not tell what the driver of a crypto device negotiated. A driver that
    /// changes its event index uses it; until it does, it is told whatever its flag
    /// allows.
    Unknown,
}

#[derive(Debug)]
pub(crate) struct Queue {
    size: u16,
    descriptors: Area,
    available: Area,
    used: Area,
    next: u16,
    /// Entries used up to here are written, those up to `published` shown.
    written: u16,
    published: u16,
    /// Up to here the driver was told, or did not want to be.
    told: u16,
    reaped: u16,
    wishes: Wishes,
    event_at_first: u16,
    pub(crate) broken: Option<Broken>,
}

impl Queue {
    pub(crate) fn new(
        memory: &GuestMemory,
        geometry: &Geometry,
        wishes: Wishes,
    ) -> Result<Self, GeometryError> {
        let size = geometry.size;
        if !size.is_power_of_two() || size > SIZE_MAX {
            return Err(GeometryError::Size(size));
        }
        let count = u64::from(size);
        let area = |part, address: u64, to: u64, bytes| {
            let outside = GeometryError::Outside { part, address };
            let (place, there) = memory.find_user(address).ok_or(outside)?;
            let mapping = Arc::clone(memory.mapping(place.region));
            let offset = place.offset;
            if !address.is_multiple_of(to) || !(offset as u64).is_multiple_of(to) {
                return Err(GeometryError::Alignment { part, address, to });
            }
            if there < bytes {
                return Err(outside);
            }
            Ok(Area { mapping, offset })
        };
        let available = area("available ring", geometry.available, 2, 6 + count * 2)?;
        let used = area("used ring", geometry.used, 4, 6 + count * 8)?;
        // Entries are used in order: what is not used is still to be done, whoever
        // took it before.
        let next = used.number(2).load(Ordering::Acquire);
        let mut queue = Self {
            size,
            descriptors: area("descriptors", geometry.descriptors, 16, count * 16)?,
            used,
            available,
            next,
            written: next,
            published: next,
            told: next,
            reaped: next,
            wishes,
            event_at_first: 0,
            broken: None,
        };
        queue.event_at_first = queue.used_event().load(Ordering::Relaxed);
        Ok(queue)
    }

    /// Which queue this is: another run of its front-end, another place or another size
    /// has another number.
    pub(crate) fn identity(memory: &GuestMemory, geometry: &Geometry) -> u64 {
        let place = memory.find_user(geometry.used);
        let inode = place.map_or(0, |(place, _)| memory.inode(place.region));
        let parts = [
            inode,
            geometry.descriptors,
            geometry.available,
            geometry.used,
            geometry.size.into(),
        ];
        let mix = |mixed: u64, part: u64| {
            (mixed.rotate_left(29) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        parts.into_iter().fold(1, mix) | 1
    }

    /// The next entry that would be taken, and so, since entries are used in order, where
    /// to go on when all taken are used.
    pub(crate) fn next(&self) -> u16 {
        self.next
    }

    pub(crate) fn size(&self) -> u16 {
        self.size
    }

    pub(crate) fn published(&self) -> u16 {
        self.published
    }

    /// The driver's event index lies behind the available ring.
    fn used_event(&self) -> &AtomicU16 {
        self.available.number(4 + usize::from(self.size) * 2)
    }

    /// Entries that are available and not taken.
    pub(crate) fn waiting(&mut self) -> u16 {
        if self.broken.is_some() {
            return 0;
        }
        let index = self.available.number(2).load(Ordering::Acquire);
        let ahead = index.wrapping_sub(self.next);
        if ahead > self.size {
            let size = self.size;
            self.broken = Some(Broken::Available { ahead, size });
            return 0;
        }
        ahead
    }

    /// Takes the next entry. There is one: see [`waiting`](Self::waiting).
    pub(crate) fn take(&mut self) -> Option<u16> {
        let at = 4 + usize::from(self.next % self.size) * 2;
        let head = self.available.number(at).load(Ordering::Relaxed);
        if head >= self.size {
            let size = self.size;
            self.broken = Some(Broken::Head { head, size });
            return None;
        }
        self.next = self.next.wrapping_add(1);
        Some(head)
    }

    /// Puts the entry taken last back.
    pub(crate) fn give_back(&mut self) {
        self.next = self.next.wrapping_sub(1);
    }

    /// Follows the chain of an entry. Each descriptor is read once.
    pub(crate) fn follow(
        &self,
        memory: &GuestMemory,
        head: u16,
        chain: &mut Chain,
    ) -> Result<(), ChainError> {
        chain.clear();
        let (mut table, mut size) = (self.descriptors.clone(), self.size);
        let mut descriptor = table.descriptor(head);
        let (mut is_indirect, mut followed) = (false, 0);
        let mut bytes = 0_u64;
        loop {
            // A table of its own ends a chain, which may begin without one (§2.7.5.3.2).
            if descriptor.flags & INDIRECT != 0 {
                if is_indirect {
                    return Err(ChainError::Nested);
                }
                (table, size) = match self.indirect(memory, descriptor) {
                    Err(error) => {
                        chain.clear();
                        self.find_status(memory, descriptor, chain);
                        return Err(error);
                    }
                    there => there?,
                };
                descriptor = table.descriptor(0);
                (is_indirect, followed) = (true, 0);
                continue;
            }
            followed += 1;
            chain.descriptors += 1;
            bytes += u64::from(descriptor.bytes);
            if bytes > u64::from(u32::MAX) {
                return Err(ChainError::Long);
            }
            chain.add(memory, descriptor)?;
            if descriptor.flags & NEXT == 0 {
                return if chain.is_unwritten {
                    Err(ChainError::Unwritten)
                } else {
                    Ok(())
                };
            }
            if followed >= size {
                return Err(ChainError::Endless);
            }
            if descriptor.next >= size {
                return Err(ChainError::Next(descriptor.next));
            }
            descriptor = table.descriptor(descriptor.next);
        }
    }

    fn indirect(
        &self,
        memory: &GuestMemory,
        descriptor: Descriptor,
    ) -> Result<(Area, u16), ChainError> {
        let Descriptor {
            address,
            bytes,
            flags,
            ..
        } = descriptor;
        if flags & NEXT != 0 {
            return Err(ChainError::Nested);
        }
        let count = bytes / DESCRIPTOR_BYTES as u32;
        let is_whole = bytes.is_multiple_of(DESCRIPTOR_BYTES as u32);
        if !is_whole || count == 0 || count > u32::from(self.size) {
            return Err(ChainError::Table(bytes));
        }
        let outside = ChainError::Outside { address, bytes };
        let (place, there) = memory.find(address).ok_or(outside)?;
        if there < u64::from(bytes) {
            return Err(outside);
        }
        if !memory.admits(place, bytes as usize) {
            return Err(ChainError::Unwritten);
        }
        let mapping = Arc::clone(memory.mapping(place.region));
        let offset = place.offset;
        let count = u16::try_from(count).expect("no more than the queue's size");
        Ok((Area { mapping, offset }, count))
    }

    /// Of a table that is longer than the queue: its last descriptor, where the status
    /// goes. Linux's driver lists a text of n pages n times, each time from another page
    /// on. So it makes such tables of 32 pages, although it must not (§2.7.5.3.1), and
    /// takes a request whose status nobody wrote for done.
    fn find_status(&self, memory: &GuestMemory, table: Descriptor, chain: &mut Chain) {
        let count = table.bytes / DESCRIPTOR_BYTES as u32;
        let is_whole = table.bytes.is_multiple_of(DESCRIPTOR_BYTES as u32);
        if !is_whole || count <= u32::from(self.size) {
            return;
        }
        let Some(address) = table.address.checked_add(u64::from(table.bytes) - 16) else {
            return;
        };
        let mut bytes = [0; DESCRIPTOR_BYTES];
        if let Some((place, there)) = memory.find(address)
            && there >= DESCRIPTOR_BYTES as u64
            && memory.admits(place, DESCRIPTOR_BYTES)
            && memory
                .mapping(place.region)
                .read(place.offset, &mut bytes)
                .is_ok()
        {
            let last = Descriptor::parse(&bytes);
            // One that names nothing is no place for a status.
            if last.flags & WRITE == 0 || chain.add(memory, last).is_err() {
                chain.clear();
            }
        }
    }

    /// Writes that an entry is used, with that many bytes written.
    pub(crate) fn put_used(&mut self, head: u16, bytes: u32) {
        let at = self.used.offset + 4 + usize::from(self.written % self.size) * 8;
        let mut entry = [0; 8];
        entry[..2].copy_from_slice(&head.to_le_bytes());
        entry[4..].copy_from_slice(&bytes.to_le_bytes());
        let written = self.used.mapping.write(at, &entry);
        written.expect("the queue's geometry was checked");
        self.written = self.written.wrapping_add(1);
    }

    /// Shows the driver what was written.
    pub(crate) fn publish(&mut self) {
        if self.published != self.written {
            self.used.number(2).store(self.written, Ordering::Release);
            self.published = self.written;
        }
    }

    /// Entries shown of which the driver may not know.
    pub(crate) fn untold(&self) -> u16 {
        self.published.wrapping_sub(self.told)
    }

    /// Entries shown that the driver has not taken back, as far as is known.
    pub(crate) fn unreaped(&mut self) -> u16 {
        self.published
            .wrapping_sub(self.reaped())
            .max(self.untold())
    }

    /// Up to where the driver has taken back what was shown, as far as is known: its event
    /// index says so, when it asks to be told of the next; else what it was told of.
    fn reaped(&mut self) -> u16 {
        let event = match self.wishes {
            Wishes::EventIndex => self.used_event().load(Ordering::Relaxed),
            _ => self.told,
        };
        // Any other number that it may have put there means something else.
        let ahead = self.published.wrapping_sub(self.reaped);
        if event.wrapping_sub(self.reaped) <= ahead {
            self.reaped = event;
        }
        // No more than the queue holds can be left: a driver that polls does not say.
        if self.published.wrapping_sub(self.reaped) > self.size {
            self.reaped = self.told;
        }
        self.reaped
    }

    /// Where the driver stands.
    pub(crate) fn standing(&mut self) -> Standing {
        Standing {
            submitted: self.next.wrapping_add(self.waiting()),
            done: self.published,
            taken: self.reaped(),
        }
    }

    /// Whether the driver wants to be told of what was shown since it last was
    /// (§2.7.7.2, §2.7.10).
    pub(crate) fn is_awaited(&mut self) -> bool {
        if self.untold() == 0 {
            return false;
        }
        // What was shown is visible before the driver's wish is looked at.
        fence(Ordering::SeqCst);
        let event = self.used_event().load(Ordering::Relaxed);
        if self.wishes == Wishes::Unknown && event != self.event_at_first {
            self.wishes = Wishes::EventIndex;
        }
        if self.wishes == Wishes::EventIndex {
            // `vring_need_event`: whether the index lies within what was shown since.
            return self.published.wrapping_sub(event).wrapping_sub(1) < self.untold();
        }
        self.available.number(0).load(Ordering::Relaxed) & NO_INTERRUPT == 0
    }

    pub(crate) fn tell(&mut self) {
        self.told = self.published;
    }

    /// Asks the driver for a kick when so many entries are there, where it uses event
    /// indices, else with the next; whether they are there already.
    pub(crate) fn arm(&mut self, count: u16) -> bool {
        let event_at = 4 + usize::from(self.size) * 8;
        let event = self.used.number(event_at);
        event.store(self.next.wrapping_add(count - 1), Ordering::Relaxed);
        self.used.number(0).store(0, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.waiting() >= count
    }

    /// Asks the driver for no kicks. One that uses event indices gives none before the
    /// next [`arm`](Self::arm) anyway.
    pub(crate) fn disarm(&mut self) {
        self.used.number(0).store(NO_NOTIFY, Ordering::Relaxed);
    }
}
