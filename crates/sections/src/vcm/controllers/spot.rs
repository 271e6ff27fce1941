//! Places in the grid.

use crypto::{Algorithm, Kind, Operation};

use crate::vcm::controllers::config::Config;
use kit::place::Placement;
use kit::words::size;
use kit::words::what;

/// Requests with public keys in flight: each is a millisecond of work or so,
/// and 32 would only make the queue longer.
const DEPTH_PUBLIC: usize = 8;

/// One place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) placement: Placement,
    pub(super) kind: Kind,
    /// 0 for public keys, whose input has the length of the key.
    pub(super) block_bytes: usize,
    pub(super) depth: usize,
}

impl Spot {
    /// In words: `aes-128-cbc, 1 KiB, depth 32`.
    pub(super) fn label(&self) -> String {
        let placement = match self.placement {
            Placement::Shared => "",
            Placement::Split => ", cores of their own",
        };
        format!("{}, depth {}{placement}", self.what(), self.depth)
    }

    /// Without the depth.
    pub(super) fn what(&self) -> String {
        if self.is_public() {
            return format!("{} {}", self.kind.algorithm, self.kind.operation);
        }
        format!("{}, {}", what(self.kind), size(self.block_bytes))
    }

    pub(super) fn is_public(&self) -> bool {
        self.kind.algorithm.is_public_key()
    }

    /// How early a short run has it: 0 is first; none of the last is left out
    /// but together.
    pub(super) fn rank(&self) -> usize {
        use Algorithm as A;
        match (self.kind.algorithm, self.kind.operation, self.block_bytes) {
            (A::Aes128Cbc, _, 1024) => 0,
            (A::Aes128Cbc, _, 16_384) => 1,
            (A::Sha256, _, 4096) => 2,
            (A::Rsa(crypto::RsaBits::B2048, _), Operation::Sign, _) => 3,
            (A::Aes128Cbc | A::Sha256, _, 512 | 4096 | 65_536) => 4,
            _ => RANK_MAX,
        }
    }
}

/// Of spots that only a rich budget has.
pub(super) const RANK_MAX: usize = 5;

/// All of a configuration; those in flight fit into half of L2 (0: unknown).
pub(super) fn spots(config: &Config, l2_bytes: u64) -> Vec<Spot> {
    let mut spots = Vec::new();
    for &placement in &config.placements {
        for &kind in &config.kinds {
            if kind.algorithm.is_public_key() {
                spots.push(Spot {
                    placement,
                    kind,
                    block_bytes: 0,
                    depth: config.depth.min(DEPTH_PUBLIC),
                });
                continue;
            }
            spots.extend(config.sizes_bytes.iter().map(|&block_bytes| Spot {
                placement,
                kind,
                block_bytes,
                depth: depth(config.depth, block_bytes, l2_bytes),
            }));
        }
    }
    spots
}

/// So many in flight as half of L2 holds.
pub(crate) fn depth(wanted: usize, block_bytes: usize, l2_bytes: u64) -> usize {
    let half = usize::try_from(l2_bytes / 2).unwrap_or(usize::MAX);
    if l2_bytes == 0 || block_bytes == 0 {
        return wanted;
    }
    wanted.min((half / block_bytes).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_l2_bounds_what_is_in_flight() {
        assert_eq!(depth(32, 65_536, 1 << 20), 8);
        assert_eq!(depth(32, 16_384, 1 << 20), 32);
        assert_eq!(depth(32, 1 << 20, 1 << 20), 1);
        assert_eq!(depth(32, 65_536, 0), 32);
    }
}
