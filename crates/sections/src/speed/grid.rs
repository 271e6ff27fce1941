//! Which cells and arms a configuration means on this host.

use kit::host::Host;
use std::collections::BTreeSet;

use crypto::{Kind, Workload};
use policy::Policy;

use crate::speed::config::Config;
use kit::load::fresh::arm::{Arm, Cell, Mode, Role};
use kit::openssl;
use kit::place::Placement;

/// Depth of batch and async where the user names none.
const DEPTH: usize = 16;
/// The ladder that finds how many requests in flight are enough.
const LADDER_DEPTHS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
const LADDER_BLOCK_BYTES: usize = 1024;
/// Where the open loop is measured by default: a small and a large block.
const PACED_BLOCK_BYTES: [usize; 2] = [1024, 16_384];
/// Where lanes as deep as half of L2 are measured, and how deep at most.
const DEEP_BLOCK_BYTES: [usize; 2] = [4096, 16_384];
const DEEP_MAX: usize = 128;
const LINE: usize = 64;

/// A cell with its arms, in the order of reports.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) cell: Cell,
    pub(super) arms: Vec<Arm>,
}

/// Everything that will be measured, before the budget is looked at.
pub(super) fn grid(config: &Config, host: &Host) -> Vec<Row> {
    let mut rows = Vec::new();
    for placement in placements(config, host) {
        for &kind in &config.kinds {
            for block_bytes in sizes(config, kind) {
                for depth in depths(config, host, block_bytes) {
                    for (&lanes, &workers) in pairs(&config.lanes, &config.workers) {
                        let cell = Cell {
                            placement,
                            kind,
                            block_bytes,
                            depth,
                            lanes,
                            workers,
                            role: Role::Grid,
                        };
                        rows.push(Row {
                            cell,
                            arms: arms(config, host, &cell),
                        });
                    }
                }
            }
        }
    }
    let more = [ladder(config, host), deep(config, host)].concat();
    rows.extend(
        more.into_iter()
            .filter(|row| !rows.iter().any(|own| is_rung(&own.cell, &row.cell)))
            .collect::<Vec<_>>(),
    );
    without_repeats(rows)
}

/// Leaves each arm only in the first of the cells where its points would be
/// the same: sync has one depth, a yardstick one worker and no lanes.
fn without_repeats(mut rows: Vec<Row>) -> Vec<Row> {
    let mut seen = BTreeSet::new();
    for Row { cell, arms } in &mut rows {
        let policy = |arm: Arm| arm.policy().map(|policy| policy.to_string());
        arms.retain(|&arm| seen.insert((arm.place_in(cell), arm.mode(), policy(arm))));
    }
    rows.retain(|row| !row.arms.is_empty());
    rows
}

fn pairs<'a>(
    lanes: &'a [usize],
    workers: &'a [usize],
) -> impl Iterator<Item = (&'a usize, &'a usize)> {
    lanes
        .iter()
        .flat_map(move |lanes| workers.iter().map(move |workers| (lanes, workers)))
}

fn placements(config: &Config, host: &Host) -> Vec<Placement> {
    match (&config.placements[..], host.cpus.len()) {
        ([], 0 | 1) => vec![Placement::Shared],
        ([], _) => vec![Placement::Split, Placement::Shared],
        (chosen, _) => chosen.to_vec(),
    }
}

/// An algorithm with public keys has a size of its own: one cell.
fn sizes(config: &Config, kind: Kind) -> Vec<usize> {
    if kind.algorithm.is_public_key() {
        vec![Workload::input_bytes(kind, 0)]
    } else {
        config.sizes_bytes.clone()
    }
}

fn depths(config: &Config, host: &Host, block_bytes: usize) -> Vec<usize> {
    if !config.depths.is_empty() {
        return config.depths.clone();
    }
    let half = usize::try_from(host.l2_bytes / 2).unwrap_or(usize::MAX);
    let fits = |depth: &usize| host.l2_bytes == 0 || depth * block_bytes <= half;
    vec![[DEPTH, 8, 4, 2].into_iter().find(fits).unwrap_or(1)]
}

fn arms(config: &Config, host: &Host, cell: &Cell) -> Vec<Arm> {
    let mut arms: Vec<_> = config
        .modes
        .iter()
        .flat_map(|&mode| lane_arms(config, cell, mode))
        .collect();
    if config.modes.contains(&Mode::Async) && is_paced(config, cell) {
        // A generator that sends on time keeps its core busy: it may as well look.
        let policy = config.policies.first().copied();
        arms.push(Arm::Paced(policy.unwrap_or(Policy::POLLED)));
    }
    // One core's yardsticks, where one worker on a core of its own is measured.
    if cell.placement == Placement::Split && cell.workers == 1 {
        arms.push(Arm::Raw);
        if config.peers && host.has(openssl::PROGRAM) && openssl::knows(cell.kind) {
            arms.push(Arm::OpenSsl);
        }
    }
    arms
}

fn lane_arms(config: &Config, cell: &Cell, mode: Mode) -> Vec<Arm> {
    let policies: Vec<_> = match (&config.policies[..], mode) {
        ([], Mode::Sync | Mode::Batch) => vec![Policy::ARMED],
        // On a shared core polling only takes the worker's time away.
        ([], Mode::Async) if cell.placement == Placement::Shared => {
            vec![Policy::ARMED, Policy::EACH]
        }
        ([], Mode::Async) => vec![Policy::ARMED, Policy::EACH, Policy::POLLED],
        (chosen, _) => chosen.to_vec(),
    };
    policies
        .into_iter()
        .map(|policy| Arm::Lane(mode, policy))
        .collect()
}

fn is_paced(config: &Config, cell: &Cell) -> bool {
    let is_size = PACED_BLOCK_BYTES.contains(&cell.block_bytes) || !config.sizes_are_default();
    config.rate_per_s.is_some() || (is_size && cell.placement == Placement::Split)
}

/// The deepest lanes that half of L2 holds, for the sizes at which one
/// request is short against a wake-up, unless the user chose depths.
fn deep(config: &Config, host: &Host) -> Vec<Row> {
    let is_default = config.depths.is_empty() && config.policies.is_empty();
    let is_possible = placements(config, host).contains(&Placement::Split) && host.l2_bytes > 0;
    if !is_default || !is_possible || !config.modes.contains(&Mode::Async) {
        return Vec::new();
    }
    let cells = config.kinds.iter().flat_map(|&kind| {
        let measured = sizes(config, kind);
        let deep = DEEP_BLOCK_BYTES.into_iter();
        deep.filter(move |size| measured.contains(size))
            .map(move |size| (kind, size))
    });
    let row = |(kind, block_bytes)| Row {
        cell: Cell {
            placement: Placement::Split,
            kind,
            block_bytes,
            depth: deepest(host, block_bytes),
            lanes: 1,
            workers: 1,
            role: Role::Deep,
        },
        arms: vec![Arm::ASYNC, Arm::HYBRID, Arm::POLLED, Arm::Raw],
    };
    cells.map(row).collect()
}

/// Requests of that size that half of L2 holds, tags and all, in eights.
fn deepest(host: &Host, block_bytes: usize) -> usize {
    let half = usize::try_from(host.l2_bytes / 2).unwrap_or(usize::MAX);
    let depth = (half / (block_bytes + LINE)).clamp(1, DEEP_MAX);
    if depth < 8 { depth } else { depth / 8 * 8 }
}

/// Whether a cell of the grid is already that rung of the ladder.
fn is_rung(own: &Cell, rung: &Cell) -> bool {
    Cell {
        role: Role::Ladder,
        ..*own
    } == *rung
}

/// More depths for the first kind, unless the user chose depths.
fn ladder(config: &Config, host: &Host) -> Vec<Row> {
    let has_block = config.sizes_bytes.contains(&LADDER_BLOCK_BYTES);
    if !config.depths.is_empty() || !config.modes.contains(&Mode::Async) || !has_block {
        return Vec::new();
    }
    let kind = config.kinds[0];
    if kind.algorithm.is_public_key() {
        return Vec::new();
    }
    let placement = placements(config, host)[0];
    LADDER_DEPTHS
        .iter()
        .map(|&depth| Row {
            cell: Cell {
                placement,
                kind,
                block_bytes: LADDER_BLOCK_BYTES,
                depth,
                lanes: 1,
                workers: 1,
                role: Role::Ladder,
            },
            arms: vec![Arm::ASYNC],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::config::Table;
    use crate::speed::points::dimensions;

    fn config(text: &str) -> Config {
        let table = kit::config::from_table::<Table>(text.parse().unwrap()).unwrap();
        Config::try_from(table).unwrap()
    }

    fn rows(text: &str, cpus: usize) -> Vec<Row> {
        let host = Host {
            l2_bytes: 1 << 20,
            ..Host::with_cpus((0..cpus).collect::<Vec<_>>())
        };
        grid(&config(text), &host)
    }

    #[test]
    fn the_default_depth_keeps_within_half_of_l2() {
        let rows = rows("", 2);
        assert!(
            rows.iter().all(|row| row.cell.role != Role::Grid
                || row.cell.depth * row.cell.block_bytes <= 512 << 10)
        );
        assert!(
            rows.iter()
                .any(|row| row.cell.block_bytes == 65_536 && row.cell.depth == 8)
        );
    }

    #[test]
    fn one_cpu_means_shared_and_no_yardstick_of_its_own_core() {
        let rows = rows("", 1);
        assert!(
            rows.iter()
                .all(|row| row.cell.placement == Placement::Shared)
        );
        assert!(
            rows.iter()
                .all(|row| !row.arms.contains(&Arm::Raw) && !row.arms.contains(&Arm::OpenSsl))
        );
    }

    #[test]
    fn no_two_points_have_equal_dimensions() {
        let many = "modes = ['sync', 'batch', 'async']\npolicies = ['armed', 'each', 'polled', 'armed']\ndepths = [8, 1, 32, 8]\nlanes = [1, 2]\nworkers = [1, 2]\nsizes_bytes = [1024, 1024]\nalgorithms = ['rsa-2048', 'aes-128-gcm']";
        for text in ["", "depths = [4, 16]", "lanes = [1, 3]", many] {
            for cpus in [1, 2, 4] {
                let config = config(text);
                let rows = rows(text, cpus);
                let arms = rows
                    .iter()
                    .flat_map(|row| row.arms.iter().map(|&arm| (&row.cell, arm)));
                let mut seen = Vec::new();
                for (cell, arm) in arms {
                    let dimensions = dimensions(&config, cell, arm);
                    assert!(!seen.contains(&dimensions), "{text}: {dimensions:?}");
                    seen.push(dimensions);
                }
            }
        }
    }

    #[test]
    fn a_yardstick_stands_in_the_first_of_its_cells() {
        let rows = rows(
            "sizes_bytes = [1024]\nalgorithms = ['aes-128-gcm']\ndepths = [8, 16]\nplacements = ['split']",
            4,
        );
        let has = |arm: Arm| -> Vec<_> { rows.iter().map(|row| row.arms.contains(&arm)).collect() };
        assert_eq!(has(Arm::SYNC), [true, false]);
        assert_eq!(has(Arm::OpenSsl), [true, false]);
        assert_eq!(has(Arm::Raw), [true, true]);
    }

    #[test]
    fn what_the_user_chose_is_what_is_measured() {
        let text = "algorithms = ['sha256']\nsizes_bytes = [512]\nmodes = ['async']\ndepths = [2, 64]\nlanes = [1, 2]\npolicies = ['spin']\npeers = false";
        let rows = rows(text, 4);
        assert_eq!(rows.len(), 2 * 2 * 2, "placements × depths × lanes");
        let spin = Arm::Lane(Mode::Async, Policy::SPIN);
        assert!(
            rows.iter()
                .all(|row| row.arms.contains(&spin) && !row.arms.contains(&Arm::ASYNC))
        );
    }
}
