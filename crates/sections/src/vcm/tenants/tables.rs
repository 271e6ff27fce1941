//! Shares, what is kept beside hostile tenants, and limits.

use trial::stats::median;
use trial::{Cell, Column, Table};

use crate::vcm::tenants::case::Case;
use crate::vcm::tenants::context::{Context, Kept, sum_mb_per_s};
use crate::vcm::tenants::limits::limits;
use crate::vcm::tenants::trials::Measured;
use kit::load::rig::Window;

pub(super) fn tables(context: &Context<'_>, kept: &[Kept]) -> Vec<Table> {
    [shares(context), beside(context, kept), limited(context)]
        .into_iter()
        .flatten()
        .collect()
}

fn column(label: &str, unit: &str) -> Column {
    Column {
        label: label.to_owned(),
        unit: unit.to_owned(),
    }
}

fn text(text: impl Into<String>) -> Cell {
    Cell::Text(text.into())
}

fn number(value: Option<f64>) -> Cell {
    value.map_or(Cell::Empty, Cell::Number)
}

/// Three decimals: shares near 1 are told apart there.
fn share(value: Option<f64>) -> Cell {
    value.map_or(Cell::Empty, |value| text(format!("{value:.3}")))
}

/// How those share that all keep their lanes full.
fn shares(context: &Context<'_>) -> Option<Table> {
    let rows: Vec<_> = context
        .measured
        .iter()
        .filter(|one| one.case.is_shared_out() && !one.series.trials.is_empty())
        .filter_map(|Measured { case, series }| {
            let fairness = context.fairness(*case)?;
            let roles = context.roles(*case);
            let speeds = roles
                .iter()
                .filter_map(|role| series.median(|window| window.mb_per_s(role.seat)));
            let speeds: Vec<_> = speeds.map(|speed| format!("{speed:.0}")).collect();
            Some(vec![
                text(case.what(context.config)),
                number(sum_mb_per_s(series, &roles)),
                text(speeds.join(" ")),
                share(median(&fairness.least)),
                share(median(&fairness.jain)),
                number(series.median(Window::worker_cpus).map(|busy| busy * 100.0)),
            ])
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        title: "How virtual functions share one worker".to_owned(),
        note: "Each keeps its lane full. A share is a tenant's speed over what its weight entitles it to of the sum; Jain's index of speeds over weights is 1 when all have that.".to_owned(),
        columns: vec![
            column("virtual functions", ""),
            column("sum", "MB/s"),
            column("each", "MB/s"),
            column("least share", ""),
            column("Jain's index", ""),
            column("worker busy", "%"),
        ],
        rows,
        command: context.command.to_owned(),
    })
}

/// What each victim keeps.
fn beside(context: &Context<'_>, kept: &[Kept]) -> Option<Table> {
    let speed = |case, weight: u32| {
        let roles = context.roles(case);
        let seat = roles.iter().find(|role| role.weight == weight)?.seat;
        context.series(case)?.median(|window| window.mb_per_s(seat))
    };
    let row = |one: &Kept| {
        let ratio = &one.comparison;
        let verdict = match (&one.doubt, ratio.target) {
            (Some(reason), _) => format!("no evidence: {reason}"),
            (None, Some(target)) if target.met => "kept".to_owned(),
            (None, _) if ratio.high < crate::vcm::tenants::context::SHARE_KEPT => {
                "not kept".to_owned()
            }
            (None, _) => "not shown".to_owned(),
        };
        vec![
            text(one.hostile.what()),
            number(Some(f64::from(one.weight))),
            number(speed(Case::Polite, one.weight)),
            number(speed(Case::Beside(one.hostile), one.weight)),
            share(Some(ratio.ratio)),
            share(Some(ratio.low)),
            share(Some(ratio.high)),
            text(verdict),
        ]
    };
    let rows: Vec<_> = kept.iter().map(row).collect();
    (!rows.is_empty()).then(|| Table {
        title: "What a tenant keeps of its speed beside a hostile one".to_owned(),
        note: "Beside a polite tenant and, interleaved, beside a hostile one of the same weight in its place. Kept: the lower bound of the ratio is at least 0.95. Above 1: the hostile one leaves some of its own share.".to_owned(),
        columns: vec![
            column("beside", ""),
            column("weight", ""),
            column("beside a polite one", "MB/s"),
            column("beside it", "MB/s"),
            column("ratio", ""),
            column("low", ""),
            column("high", ""),
            column("share", ""),
        ],
        rows,
        command: context.command.to_owned(),
    })
}

/// A cap and a quota, counted.
fn limited(context: &Context<'_>) -> Option<Table> {
    let rows: Vec<_> = limits(context)
        .iter()
        .map(|limit| {
            let verdict = if limit.broken == 0 {
                format!("kept in all {}", limit.trials)
            } else {
                format!("broken in {} of {}", limit.broken, limit.trials)
            };
            vec![
                text(limit.what),
                number(Some(limit.per_s)),
                number(Some(limit.highest_per_s)),
                number(Some(limit.counted as f64)),
                text(verdict),
            ]
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        title: "Limits of one virtual function beside another without any".to_owned(),
        note: "A quota may be used for 10 ms in advance.".to_owned(),
        columns: vec![
            column("limited", ""),
            column("limit", "1/s"),
            column("highest of any trial", "1/s"),
            column("counted in all", ""),
            column("trials", ""),
        ],
        rows,
        command: context.command.to_owned(),
    })
}
