//! A front-end's memory: which addresses of the guest lie where.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;

use sys::memory::{Mapping, ShareError};

use crate::limits::Made;

/// Most regions of a guest's memory: as many as one message can bring files.
pub const REGIONS_MAX: usize = 32;

/// One region as a front-end describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionSpec {
    /// Where the guest sees it.
    pub guest: u64,
    pub bytes: u64,
    /// Where the front-end itself sees it: addresses of rings are given so.
    pub user: u64,
    /// Where it begins in its file.
    pub offset: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Region {
    spec: RegionSpec,
    /// The file's own number: another run of a front-end has another.
    inode: u64,
    pub(crate) mapping: Arc<Mapping>,
}

#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error("{count} regions of memory: give 1 to {REGIONS_MAX}")]
    Count { count: usize },
    #[error("a region of {bytes} bytes at {guest:#x} wraps around, or is empty")]
    Size { guest: u64, bytes: u64 },
    #[error("two regions of memory overlap at {guest:#x}")]
    Overlap { guest: u64 },
    #[error("there is no region of {bytes} bytes at {guest:#x}")]
    Unknown { guest: u64, bytes: u64 },
    #[error(
        "{bytes} bytes of memory: at most {limit} may be mapped (`memory_max`, of this function or of all)"
    )]
    Limit { bytes: u64, limit: u64 },
    #[error("memory at {guest:#x} is not usable")]
    Share {
        guest: u64,
        #[source]
        source: ShareError,
    },
}

/// Where some bytes lie: a region's number, and an offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) region: usize,
    pub(crate) offset: usize,
}

/// The regions, in the order of their addresses in the guest. The memory stays mapped as
/// long as anyone holds this.
#[derive(Clone, Debug, Default)]
pub struct GuestMemory {
    pub(crate) regions: Vec<Region>,
    /// What requests may have made of it.
    pub(crate) made: Option<Arc<Made>>,
}

impl GuestMemory {
    /// # Errors
    /// [`MemoryError`]: nothing of it is used.
    pub fn new(parts: Vec<(RegionSpec, File)>) -> Result<Self, MemoryError> {
        if !(1..=REGIONS_MAX).contains(&parts.len()) {
            let count = parts.len();
            return Err(MemoryError::Count { count });
        }
        let mut memory = Self::default();
        for (spec, file) in parts {
            memory = memory.with(spec, &file)?;
        }
        Ok(memory)
    }

    /// This memory and one more region.
    ///
    /// # Errors
    /// [`MemoryError`].
    pub fn with(&self, spec: RegionSpec, file: &File) -> Result<Self, MemoryError> {
        let RegionSpec { guest, bytes, .. } = spec;
        let is_sound = |begin: u64| begin.checked_add(bytes).is_some();
        let len = usize::try_from(bytes).unwrap_or(0);
        if len == 0 || !is_sound(guest) || !is_sound(spec.user) {
            return Err(MemoryError::Size { guest, bytes });
        }
        if self.regions.len() >= REGIONS_MAX {
            let count = self.regions.len() + 1;
            return Err(MemoryError::Count { count });
        }
        let overlaps = |other: &Region| {
            let other = other.spec;
            let apart = |a: u64, b: u64| a + bytes <= b || b + other.bytes <= a;
            !apart(guest, other.guest) || !apart(spec.user, other.user)
        };
        if self.regions.iter().any(overlaps) {
            return Err(MemoryError::Overlap { guest });
        }
        let mapping = Mapping::shared_at(file.as_fd(), spec.offset, len);
        let mapping = Arc::new(mapping.map_err(|source| MemoryError::Share { guest, source })?);
        let mut regions = self.regions.clone();
        let at = regions.partition_point(|other| other.spec.guest < guest);
        let inode = rustix::fs::fstat(file).map_or(0, |status| status.st_ino);
        let region = Region {
            spec,
            inode,
            mapping,
        };
        regions.insert(at, region);
        let made = self.made.clone();
        Ok(Self { regions, made })
    }

    /// This memory without the region that lies there.
    ///
    /// # Errors
    /// [`MemoryError::Unknown`].
    pub fn without(&self, spec: RegionSpec) -> Result<Self, MemoryError> {
        let RegionSpec { guest, bytes, .. } = spec;
        let is_it = |other: &Region| other.spec.guest == guest && other.spec.bytes == bytes;
        let at = self.regions.iter().position(is_it);
        let at = at.ok_or(MemoryError::Unknown { guest, bytes })?;
        let mut regions = self.regions.clone();
        regions.remove(at);
        let made = self.made.clone();
        Ok(Self { regions, made })
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.regions.iter().map(|one| one.spec.bytes).sum()
    }

    /// Whether some of it was taken away: what is read there means nothing.
    pub(crate) fn is_lost(&self) -> bool {
        self.regions.iter().any(|one| one.mapping.is_lost())
    }

    /// Whether these bytes, which lie in one region, may be touched: pages that are not
    /// there are made for this process.
    #[inline]
    pub(crate) fn admits(&self, place: Place, bytes: usize) -> bool {
        let made = self.made.as_deref();
        made.is_none_or(|made| !made.is_counting() || self.counts(made, place, bytes))
    }

    #[cold]
    fn counts(&self, made: &Made, place: Place, bytes: usize) -> bool {
        let mapping = self.mapping(place.region);
        let pages = mapping.pages(place.offset, bytes);
        if pages.clone().all(|page| made.there().has(page)) {
            return true;
        }
        let absent = mapping.absent_bytes(place.offset, bytes);
        if absent > 0 && !made.admit(absent) {
            return false;
        }
        pages.for_each(|page| made.there().add(page));
        true
    }

    /// Where the guest's `address` lies, and how many bytes follow it in its region.
    pub(crate) fn find(&self, address: u64) -> Option<(Place, u64)> {
        let after = self
            .regions
            .partition_point(|one| one.spec.guest <= address);
        let region = after.checked_sub(1)?;
        self.within(region, address, |spec| spec.guest)
    }

    /// The same for an address of the front-end's.
    pub(crate) fn find_user(&self, address: u64) -> Option<(Place, u64)> {
        let all = 0..self.regions.len();
        all.into_iter()
            .find_map(|region| self.within(region, address, |spec| spec.user))
    }

    fn within(
        &self,
        region: usize,
        address: u64,
        begin: fn(&RegionSpec) -> u64,
    ) -> Option<(Place, u64)> {
        let spec = &self.regions[region].spec;
        let offset = address.checked_sub(begin(spec))?;
        let left = spec.bytes.checked_sub(offset).filter(|left| *left > 0)?;
        let offset = usize::try_from(offset).ok()?;
        Some((Place { region, offset }, left))
    }

    pub(crate) fn inode(&self, region: usize) -> u64 {
        self.regions[region].inode
    }

    pub(crate) fn mapping(&self, region: usize) -> &Arc<Mapping> {
        &self.regions[region].mapping
    }
}
