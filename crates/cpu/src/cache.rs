//! Caches as CPUID states them.

use serde::Serialize;

use crate::{Leaf, Source};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheKind {
    Data,
    Instruction,
    Unified,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cache {
    pub level: u32,
    pub kind: CacheKind,
    pub bytes: u64,
    pub line_bytes: u32,
    pub ways: u32,
    /// Maximum number of logical processors that share it (an upper bound: ids are
    /// handed out in powers of two).
    pub sharing_max: u32,
}

const INTEL: u32 = 0x4;
const AMD: u32 = 0x8000_001d;
/// More than any processor has; bounds a source that never says "none".
const CACHES_MAX: u32 = 16;

/// The caches of leaf 4 (Intel) or 0x8000_001D (AMD), whichever answers.
pub(crate) fn caches(source: &dyn Source) -> Vec<Cache> {
    [INTEL, AMD]
        .into_iter()
        .map(|leaf| {
            (0..CACHES_MAX)
                .map_while(|index| decode(source.leaf(leaf, index)?))
                .collect()
        })
        .find(|caches: &Vec<Cache>| !caches.is_empty())
        .unwrap_or_default()
}

/// One cache (Intel SDM volume 2A, CPUID leaf 4); `None` after the last.
fn decode(leaf: Leaf) -> Option<Cache> {
    let kind = match leaf.eax & 0x1f {
        1 => CacheKind::Data,
        2 => CacheKind::Instruction,
        3 => CacheKind::Unified,
        _ => return None,
    };
    let line_bytes = (leaf.ebx & 0xfff) + 1;
    let partitions = (leaf.ebx >> 12 & 0x3ff) + 1;
    let ways = (leaf.ebx >> 22) + 1;
    let sets = u64::from(leaf.ecx) + 1;
    Some(Cache {
        level: leaf.eax >> 5 & 0x7,
        kind,
        // A made-up leaf can state 2^64 bytes; real ones stay far below.
        bytes: (u64::from(line_bytes) * u64::from(partitions) * u64::from(ways))
            .saturating_mul(sets),
        line_bytes,
        ways,
        sharing_max: (leaf.eax >> 14 & 0xfff) + 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_fields_do_not_overflow() {
        let cache = decode(Leaf {
            eax: 0xffff_ffe3,
            ebx: u32::MAX,
            ecx: u32::MAX,
            edx: 0,
        });
        assert_eq!(cache.expect("unified").bytes, u64::MAX);
    }
}
