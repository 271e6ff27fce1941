//! The command that measures something again.

use trial::stats::PAIRS_FOR_A_CLAIM;

use crate::speed::config::Table as SpeedTable;
use crate::speed::invocation as speed;
use crate::speed::measure::Measured;
use crate::speed::peers::arm::Arm;
use crate::speed::peers::config::Table;
use crate::speed::peers::grid::Row;
use crate::speed::peers::schedule::Schedule;
use kit::load::fresh::arm::Arm as SpeedArm;
use kit::openssl;
use probe::tier;

/// `lockgate speed` with every flag that differs from its default.
pub(super) fn invocation(table: &Table, pairs: usize) -> String {
    let usual = Table::default();
    let mut command = format!(
        "{} speed --algorithm {}",
        tier::program(),
        table.algorithms.join(",")
    );
    let mut add = |flag: &str, value: String, is_usual: bool| {
        if !is_usual {
            command = format!("{command} {flag} {value}");
        }
    };
    let sizes: Vec<_> = table.sizes_bytes.iter().map(usize::to_string).collect();
    add(
        "--operation",
        table.operations.join(","),
        table.operations.is_empty(),
    );
    add("--size", sizes.join(","), sizes.is_empty());
    add(
        "--backend",
        table.backend.clone(),
        table.backend == usual.backend,
    );
    // Without `all` among the algorithms, `--peers` says which section.
    let is_usual = table.peers == usual.peers && table.algorithms == usual.algorithms;
    add(
        "--peers",
        table.peers.join(","),
        is_usual || table.peers.is_empty(),
    );
    add("--seconds", table.seconds.to_string(), table.seconds == 0.0);
    add("--pairs", pairs.to_string(), pairs == 0);
    add(
        "--precision",
        table.precision.to_string(),
        table.precision == 0.0,
    );
    add("--seed", table.seed.to_string(), table.seed == usual.seed);
    if table.peers.is_empty() {
        command.push_str(" --no-peers");
    }
    command
}

/// With the pairs that a claim needs.
pub(super) fn of_pairs(table: &Table) -> String {
    invocation(table, table.pairs.max(PAIRS_FOR_A_CLAIM))
}

/// One arm of one row.
pub(super) fn of_arm(
    table: &Table,
    schedule: &Schedule,
    row: &Row,
    measured: &Measured,
    arm: Arm,
) -> String {
    let cell = &row.cell;
    match (arm, &measured.cpus) {
        (Arm::Engine | Arm::OwnLoop, _) => {
            let speed = SpeedTable {
                backend: table.backend.clone(),
                ..SpeedTable::default()
            };
            speed::of_arm(&speed, cell, SpeedArm::POLLED)
        }
        (Arm::OpenSsl, _) => format!(
            "{}openssl {}",
            tier::openssl_prefix(),
            openssl::arguments(cell.kind, cell.block_bytes).join(" ")
        ),
        (Arm::Dpdk32 | Arm::Dpdk1, Some(cpus)) => schedule
            .dpdk_call(row, arm)
            .map_or_else(String::new, |call| {
                call.command(cpus.clients[0], cpus.workers[0])
            }),
        _ => {
            let one = Table {
                algorithms: vec![cell.kind.algorithm.to_string()],
                operations: vec![cell.kind.operation.to_string()],
                sizes_bytes: if cell.kind.algorithm.is_public_key() {
                    Vec::new()
                } else {
                    vec![cell.block_bytes]
                },
                peers: vec![arm.name().to_owned()],
                ..table.clone()
            };
            invocation(&one, table.pairs)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_said() {
        let mut table = Table::default();
        assert_eq!(invocation(&table, 0), "lockgate speed --algorithm all");
        table.precision = 0.05;
        table.peers = vec!["ring".to_owned()];
        assert_eq!(
            invocation(&table, 3),
            "lockgate speed --algorithm all --peers ring --pairs 3 --precision 0.05"
        );
        table.peers.clear();
        let command = of_pairs(&table);
        assert_eq!(
            command,
            "lockgate speed --algorithm all --pairs 9 --precision 0.05 --no-peers"
        );
    }
}
