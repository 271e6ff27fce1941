//! A plain reading of what a guest writes: byte by byte from the specifications, with no
//! thought of speed.

use std::collections::BTreeSet;

use sys::memory::Mapping;
use vhost::RegionSpec;
use vhost::inside::{Geometry, Run};

use super::super::bytes::Bytes;
use super::{FILE_BYTES, PAGE, USER};

const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;

const REGIONS_MAX: usize = 32;
const QUEUE_SIZE_MAX: u16 = 1024;

/// A table of memory, in the order of the guest's addresses.
#[derive(Debug)]
pub(super) struct Regions(pub(super) Vec<RegionSpec>);

impl Regions {
    /// One of them, or else none in particular.
    pub(super) fn pick(&self, input: &mut Bytes<'_>) -> RegionSpec {
        let which = input.below(8);
        self.0.get(which).copied().unwrap_or(RegionSpec {
            guest: 1 << 20,
            bytes: PAGE,
            user: USER,
            offset: 0,
        })
    }

    /// Whether it may be added, as it is then.
    pub(super) fn add(&mut self, new: RegionSpec) -> bool {
        let RegionSpec { bytes, offset, .. } = new;
        let end = |begin: u64| u128::from(begin) + u128::from(bytes);
        let is_sound = bytes > 0
            && self.0.len() < REGIONS_MAX
            && end(new.guest) <= u64::MAX.into()
            && end(new.user) <= u64::MAX.into()
            && end(offset) <= FILE_BYTES.into()
            && offset.is_multiple_of(PAGE);
        let meets = |a: u64, b: u64, b_bytes: u64| {
            u128::from(a) < u128::from(b) + u128::from(b_bytes) && u128::from(b) < end(a)
        };
        let may = is_sound
            && !self.0.iter().any(|old| {
                meets(new.guest, old.guest, old.bytes) || meets(new.user, old.user, old.bytes)
            });
        if may {
            self.0.push(new);
            self.0.sort_by_key(|one| one.guest);
        }
        may
    }

    pub(super) fn remove(&mut self, gone: RegionSpec) -> bool {
        let before = self.0.len();
        self.0
            .retain(|one| (one.guest, one.bytes) != (gone.guest, gone.bytes));
        self.0.len() < before
    }

    /// Region, offset in it, bytes from there.
    pub(super) fn find(&self, address: u64) -> Option<(usize, usize, u64)> {
        self.within(address, |one| one.guest)
    }

    pub(super) fn find_user(&self, address: u64) -> Option<(usize, usize, u64)> {
        self.within(address, |one| one.user)
    }

    fn within(
        &self,
        address: u64,
        begin: impl Fn(&RegionSpec) -> u64,
    ) -> Option<(usize, usize, u64)> {
        let mut all = self.0.iter().enumerate();
        let is_it = |one: &RegionSpec| (begin(one)..begin(one) + one.bytes).contains(&address);
        let (region, one) = all.find(|(_, one)| is_it(one))?;
        let offset = address - begin(one);
        Some((region, offset as usize, one.bytes - offset))
    }

    /// Where a place in a region lies in the file.
    pub(super) fn in_file(&self, (region, offset): (usize, usize)) -> usize {
        self.0[region].offset as usize + offset
    }

    /// Where the parts of a queue lie in the file, if it is one (virtio 1.2 §2.7).
    pub(super) fn queue(&self, geometry: &Geometry) -> Option<[usize; 3]> {
        let size = geometry.size;
        if size == 0 || size > QUEUE_SIZE_MAX || size & (size - 1) != 0 {
            return None;
        }
        let size = u64::from(size);
        let parts = [
            (geometry.descriptors, 16, 16 * size),
            (geometry.available, 2, 6 + 2 * size),
            (geometry.used, 4, 6 + 8 * size),
        ];
        let mut places = [0; 3];
        for (place, (address, alignment, bytes)) in places.iter_mut().zip(parts) {
            let (region, offset, there) = self.find_user(address)?;
            let is_aligned =
                address.is_multiple_of(alignment) && (offset as u64).is_multiple_of(alignment);
            if !is_aligned || there < bytes {
                return None;
            }
            *place = self.in_file((region, offset));
        }
        Some(places)
    }
}

struct Descriptor {
    address: u64,
    bytes: u32,
    flags: u16,
    next: u16,
}

fn descriptor(own: &Mapping, at: usize) -> Descriptor {
    let mut bytes = [0; 16];
    own.read(at, &mut bytes).expect("it lies in the file");
    Descriptor {
        address: u64::from_le_bytes(bytes[..8].try_into().expect("eight")),
        bytes: u32::from_le_bytes(bytes[8..12].try_into().expect("four")),
        flags: u16::from_le_bytes([bytes[12], bytes[13]]),
        next: u16::from_le_bytes([bytes[14], bytes[15]]),
    }
}

/// The bytes of a chain, to read and to write (virtio 1.2 §2.7.4, §2.7.5). `None` if it
/// makes no sense.
pub(super) fn chain(
    own: &Mapping,
    regions: &Regions,
    (table, size): (usize, u16),
    head: u16,
) -> Option<[Vec<Run>; 2]> {
    let mut runs = [Vec::new(), Vec::new()];
    let (mut table, mut count, mut is_indirect) = (table, u32::from(size), false);
    let (mut seen, mut total) = (BTreeSet::new(), 0_u64);
    let mut index = head;
    loop {
        // One that comes again comes for ever.
        if u32::from(index) >= count || !seen.insert(index) {
            return None;
        }
        let one = descriptor(own, table + 16 * usize::from(index));
        if one.flags & INDIRECT != 0 {
            let fits =
                one.bytes.is_multiple_of(16) && (16..=16 * u32::from(size)).contains(&one.bytes);
            if is_indirect || one.flags & NEXT != 0 || !fits {
                return None;
            }
            let (region, offset, there) = regions.find(one.address)?;
            if there < u64::from(one.bytes) {
                return None;
            }
            table = regions.in_file((region, offset));
            (count, is_indirect, index) = (one.bytes / 16, true, 0);
            seen.clear();
            continue;
        }
        total += u64::from(one.bytes);
        let is_write = one.flags & WRITE != 0;
        if total >> 32 > 0 || !is_write && !runs[1].is_empty() {
            return None;
        }
        add(regions, &one, &mut runs[usize::from(is_write)])?;
        if one.flags & NEXT == 0 {
            return Some(runs);
        }
        index = one.next;
    }
}

fn add(regions: &Regions, one: &Descriptor, runs: &mut Vec<Run>) -> Option<()> {
    let (mut address, mut left) = (u128::from(one.address), u64::from(one.bytes));
    while left > 0 {
        let (region, offset, there) = regions.find(u64::try_from(address).ok()?)?;
        let bytes = there.min(left);
        address += u128::from(bytes);
        left -= bytes;
        match runs.last_mut() {
            Some(last) if last.0 == region && last.1 + last.2 == offset => last.2 += bytes as usize,
            _ => runs.push((region, offset, bytes as usize)),
        }
    }
    Some(())
}
