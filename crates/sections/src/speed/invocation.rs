//! The command that measures something again.

use trial::stats::PAIRS_FOR_A_CLAIM;

use crate::speed::config::Table;
use kit::load::fresh::arm::{Arm, Cell};
use kit::openssl;
use kit::place::Placement;
use probe::tier;

/// `lockgate speed` with every flag that differs from its default, and those
/// of `chosen` instead of the table's.
pub(super) fn invocation(table: &Table, chosen: &[(&str, String)]) -> String {
    let default = Table::default();
    let mut command = format!("{} speed", tier::program());
    for ((flag, own), (_, usual)) in flags(table).into_iter().zip(flags(&default)) {
        let chosen = chosen.iter().find(|(name, _)| *name == flag);
        match chosen {
            Some((_, value)) => command = format!("{command} {flag} {value}"),
            None if own != usual => command = format!("{command} {flag} {own}"),
            None => {}
        }
    }
    if table.peers {
        command
    } else {
        format!("{command} --no-peers")
    }
}

/// Only that placement.
pub(super) fn with_placement(table: &Table, placement: Placement) -> String {
    invocation(table, &[("--placement", placement.name().to_owned())])
}

fn flags(table: &Table) -> [(&'static str, String); 15] {
    [
        ("--algorithm", table.algorithms.join(",")),
        ("--operation", table.operations.join(",")),
        ("--size", list(&table.sizes_bytes)),
        ("--mode", table.modes.join(",")),
        ("--depth", list(&table.depths)),
        ("--lanes", list(&table.lanes)),
        ("--workers", list(&table.workers)),
        ("--placement", table.placements.join(",")),
        ("--policy", table.policies.join(",")),
        ("--backend", table.backend.clone()),
        ("--seconds", table.seconds.to_string()),
        ("--rate", table.rate_per_s.to_string()),
        ("--pairs", table.pairs.to_string()),
        ("--precision", table.precision.to_string()),
        ("--seed", table.seed.to_string()),
    ]
}

fn list(numbers: &[usize]) -> String {
    numbers
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

/// One cell, with what `arm` needs to be measured.
pub(super) fn of_arm(table: &Table, cell: &Cell, arm: Arm) -> String {
    if arm == Arm::OpenSsl {
        return format!(
            "{}openssl {}",
            tier::openssl_prefix(),
            openssl::arguments(cell.kind, cell.block_bytes).join(" ")
        );
    }
    let mut chosen = of_cell(cell);
    match arm {
        Arm::Lane(mode, policy) => {
            chosen.extend([
                ("--mode", mode.name().to_owned()),
                ("--policy", policy.to_string()),
            ]);
        }
        Arm::Paced(policy) => {
            chosen.extend([
                ("--mode", "async".to_owned()),
                ("--policy", policy.to_string()),
            ]);
        }
        Arm::Raw | Arm::OpenSsl => {}
    }
    invocation(table, &chosen)
}

/// The whole section with the pairs that a claim needs.
pub(super) fn of_pairs(table: &Table) -> String {
    invocation(
        table,
        &[("--pairs", table.pairs.max(PAIRS_FOR_A_CLAIM).to_string())],
    )
}

fn of_cell(cell: &Cell) -> Vec<(&'static str, String)> {
    vec![
        ("--algorithm", cell.kind.algorithm.to_string()),
        ("--operation", cell.kind.operation.to_string()),
        ("--size", cell.block_bytes.to_string()),
        ("--depth", cell.depth.to_string()),
        ("--lanes", cell.lanes.to_string()),
        ("--workers", cell.workers.to_string()),
        ("--placement", cell.placement.name().to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_said_and_each_flag_once() {
        let mut table = Table::default();
        assert_eq!(invocation(&table, &[]), "lockgate speed");
        table.sizes_bytes = vec![64, 512];
        table.placements = vec!["split".to_owned(), "shared".to_owned()];
        table.peers = false;
        let command = with_placement(&table, Placement::Shared);
        assert_eq!(
            command,
            "lockgate speed --size 64,512 --placement shared --no-peers"
        );
    }
}
