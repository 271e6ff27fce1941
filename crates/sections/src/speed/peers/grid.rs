//! Which rows there are, and which arms each could have on this host.

use crypto::{Algorithm, Ceiling, Kind, Workload};

use crate::speed::peers::arm::Arm;
use crate::speed::peers::ceiling;
use crate::speed::peers::config::Config;
use crate::speed::peers::dpdk;
use crate::speed::peers::ring_loop;
use kit::host::Host;
use kit::load::fresh::arm::{Cell, Role};
use kit::openssl;
use kit::place::Placement;
use kit::words::size;
use kit::words::what;

/// The block size that every algorithm is compared at.
pub(super) const BLOCK_BYTES: usize = 16_384;
/// Most requests in flight, however small.
const DEPTH_MAX: usize = 512;
/// Where the size of L2 is not known: what half of 1 MiB holds.
const HALF_L2_BYTES: usize = 512 << 10;
/// Public keys: each request takes long, few keep a worker busy.
const PUBLIC_KEY_DEPTH: usize = 16;

/// What is there to be measured beside us.
#[derive(Clone, Debug)]
pub(super) struct Peers {
    pub(super) host: Host,
    pub(super) has_dpdk: bool,
    pub(super) has_ring: bool,
    pub(super) has_ceiling: bool,
}

impl Peers {
    /// Looks what is installed, of what the configuration wants, and takes a
    /// mask where one is set.
    pub(super) fn of(config: &Config, host: Host) -> Self {
        let wants = |arm: Arm| config.peers.contains(&arm) && arm.cannot_mask().is_none();
        Self {
            has_dpdk: (wants(Arm::Dpdk32) || wants(Arm::Dpdk1)) && dpdk::is_installed(),
            has_ring: wants(Arm::Ring),
            has_ceiling: wants(Arm::Ceiling) && Ceiling::new(10).is_some(),
            host,
        }
    }

    fn has(&self, config: &Config, arm: Arm, kind: Kind) -> bool {
        let is_there = match arm {
            Arm::Engine | Arm::OwnLoop => return true,
            Arm::OpenSsl => self.host.has(openssl::PROGRAM) && openssl::knows(kind),
            Arm::Dpdk32 | Arm::Dpdk1 => self.has_dpdk && dpdk::knows(kind),
            Arm::Ring => self.has_ring && ring_loop::knows(kind),
            Arm::Ceiling => self.has_ceiling && ceiling::rounds(kind).is_some(),
        };
        is_there && config.peers.contains(&arm)
    }
}

/// An algorithm at a block size, and how often each of its arms is measured.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) cell: Cell,
    /// Whether a target of this project is about it.
    pub(super) is_claim: bool,
    /// With the number of rounds; 0 is left out.
    pub(super) arms: Vec<(Arm, usize)>,
}

impl Row {
    /// `aes-128-cbc, 16 KiB`.
    pub(super) fn name(&self) -> String {
        name(&self.cell)
    }

    pub(super) fn rounds(&self, arm: Arm) -> usize {
        self.arms
            .iter()
            .find(|(own, _)| *own == arm)
            .map_or(0, |(_, rounds)| *rounds)
    }
}

/// `aes-128-cbc, 16 KiB`; public keys have no block.
pub(super) fn name(cell: &Cell) -> String {
    let what = what(cell.kind);
    if cell.kind.algorithm.is_public_key() {
        what
    } else {
        format!("{what}, {}", size(cell.block_bytes))
    }
}

/// Every row, with no rounds yet.
pub(super) fn rows(config: &Config, peers: &Peers) -> Vec<Row> {
    let of = |&kind: &Kind| {
        sizes(config, kind)
            .into_iter()
            .map(move |block_bytes| (kind, block_bytes))
    };
    let row = |(kind, block_bytes): (Kind, usize)| Row {
        cell: Cell {
            placement: Placement::Split,
            kind,
            block_bytes,
            depth: depth(&peers.host, kind, block_bytes),
            lanes: 1,
            workers: 1,
            role: Role::Deep,
        },
        is_claim: claim_sizes(kind).contains(&block_bytes),
        arms: Arm::ALL
            .into_iter()
            .filter(|&arm| peers.has(config, arm, kind))
            .map(|arm| (arm, 0))
            .collect(),
    };
    config.kinds.iter().flat_map(of).map(row).collect()
}

fn sizes(config: &Config, kind: Kind) -> Vec<usize> {
    if kind.algorithm.is_public_key() {
        vec![Workload::input_bytes(kind, 0)]
    } else if !config.sizes_bytes.is_empty() {
        config.sizes_bytes.clone()
    } else {
        match claim_sizes(kind) {
            [] => vec![BLOCK_BYTES],
            sizes => sizes.to_vec(),
        }
    }
}

/// The sizes that a target is about.
fn claim_sizes(kind: Kind) -> &'static [usize] {
    if kind.operation != kind.algorithm.operations()[0] {
        return &[];
    }
    match kind.algorithm {
        Algorithm::Aes128Cbc => &[64, 1024, 4096, BLOCK_BYTES],
        Algorithm::Aes128Gcm => &[64, 4096, BLOCK_BYTES],
        Algorithm::Sha256 | Algorithm::Aes128Ctr => &[4096, BLOCK_BYTES],
        _ => &[],
    }
}

/// As many requests as half of L2 holds, in eights.
fn depth(host: &Host, kind: Kind, block_bytes: usize) -> usize {
    if kind.algorithm.is_public_key() {
        return PUBLIC_KEY_DEPTH;
    }
    let half = match usize::try_from(host.l2_bytes / 2) {
        Ok(0) | Err(_) => HALF_L2_BYTES,
        Ok(half) => half,
    };
    let depth = (half / block_bytes).clamp(1, DEPTH_MAX);
    if depth < 8 { depth } else { depth / 8 * 8 }
}

#[cfg(test)]
pub(super) fn equipped() -> Peers {
    Peers {
        host: Host {
            l2_bytes: 1 << 20,
            ..Host::with_cpus([0, 1])
        },
        has_dpdk: true,
        has_ring: true,
        has_ceiling: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::peers::config::configured;

    #[test]
    fn every_algorithm_has_a_row_at_16_kib_or_of_its_own_size() {
        let config = configured("").unwrap();
        let rows = rows(&config, &equipped());
        for &kind in &config.kinds {
            let is_there = rows.iter().any(|row| {
                row.cell.kind == kind
                    && (kind.algorithm.is_public_key() || row.cell.block_bytes == BLOCK_BYTES)
            });
            assert!(is_there, "{kind:?}");
        }
        let in_flight = |row: &Row| row.cell.depth * row.cell.block_bytes;
        assert!(rows.iter().all(|row| in_flight(row) <= 512 << 10));
        assert!(
            rows.iter()
                .any(|row| row.cell.block_bytes == BLOCK_BYTES && row.cell.depth == 32)
        );
    }

    #[test]
    fn what_is_not_installed_has_no_arm() {
        let bare = Peers {
            has_dpdk: false,
            has_ring: true,
            has_ceiling: false,
            host: Host {
                missing: vec![openssl::PROGRAM],
                ..equipped().host
            },
        };
        let config = configured("").unwrap();
        let arms = rows(&config, &bare).into_iter().flat_map(|row| row.arms);
        let mut arms: Vec<_> = arms.map(|(arm, _)| arm).collect();
        arms.sort_unstable();
        arms.dedup();
        assert_eq!(arms, [Arm::Engine, Arm::OwnLoop, Arm::Ring]);
    }
}
