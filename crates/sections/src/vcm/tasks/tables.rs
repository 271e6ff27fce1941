//! Every figure, and the paper's beside ours.

use trial::{Cell as Entry, Comparison, Table};

use crate::vcm::tasks::context::{Context, sum_of};
use crate::vcm::tasks::grid::{Place, evenness, many};
use kit::drawing::{column, number, text};
use kit::load::moderated::Arm;
use kit::place::Placement;
use kit::places::on;
use kit::words::size;
use kit::words::what;

type Sums = [(Placement, Arm, usize, Comparison)];

pub(super) fn tables(context: &Context<'_>, sums: &Sums) -> Vec<Table> {
    [beside(context, sums), figures(context)]
        .into_iter()
        .flatten()
        .collect()
}

/// The paper's figure 3 beside this host's.
fn beside(context: &Context<'_>, sums: &Sums) -> Option<Table> {
    let lines: Vec<_> = context
        .placements()
        .flat_map(|placement| {
            let arms = context.config.policies.iter();
            arms.map(move |&arm| (placement, arm))
        })
        .filter(|&(placement, arm)| context.ends(placement, arm).is_some())
        .collect();
    let (placement, arm) = *lines.first()?;
    let ends = context.ends(placement, arm)?;
    let (few, most) = (ends.few.key.tasks, ends.many.key.tasks);
    let of = |say: &dyn Fn(Placement, Arm) -> Option<String>| -> Vec<Entry> {
        let said = |&(placement, arm): &(Placement, Arm)| say(placement, arm);
        lines
            .iter()
            .map(|line| said(line).map_or(Entry::Empty, Entry::Text))
            .collect()
    };
    let part = most as f64 / few as f64;
    let ratio = |placement, arm, of: f64| {
        let sum = sum_of(sums, placement, arm, most)?;
        Some(format!(
            "{:.3}× ({:.3} to {:.3})",
            sum.ratio / of,
            sum.low / of,
            sum.high / of
        ))
    };
    let even = |placement, arm| {
        let cell = context.ends(placement, arm)?.many;
        let jain = context.median(cell, arm, |window| evenness(window, most))?;
        Some(format!("{jain:.3}"))
    };
    let rows = [
        (
            format!("a task of {most} against {}", many(few)),
            format!("about {:.3}×", 1.0 / part),
            of(&|placement, arm| ratio(placement, arm, part)),
        ),
        (
            format!("the sum of {most} against {}", many(few)),
            "less than 1×, the further the more tasks".to_owned(),
            of(&|placement, arm| ratio(placement, arm, 1.0)),
        ),
        (
            format!("how evenly {most} share (Jain's index)"),
            "each the same".to_owned(),
            of(&even),
        ),
    ];
    let mut columns = vec![column("", ""), column("paper: AES-128, QAT", "")];
    let name = |(placement, arm): &(Placement, Arm)| format!("{}, {arm}", on(*placement));
    columns.extend(lines.iter().map(|line| column(name(line), "")));
    let rows = rows
        .into_iter()
        .map(|(name, theirs, ours)| [vec![text(name), text(theirs)], ours].concat());
    Some(Table {
        title: "The paper's figure 3 beside this host".to_owned(),
        note: format!(
            "Equal tasks of {}, {}; the paper does not name its block size. The paper: {}.",
            what(context.config.kind),
            size(context.block_bytes),
            model::paper::published::TEST_BED
        ),
        columns,
        rows: rows.collect(),
        command: context.command.to_owned(),
    })
}

/// Every place with every arm.
fn figures(context: &Context<'_>) -> Option<Table> {
    let columns = [
        ("placement", ""),
        ("policy", ""),
        ("tasks", ""),
        ("all", "MB/s"),
        ("a task", "MB/s"),
        ("Jain", ""),
        ("notifications", "1/s"),
        ("clients", "% of a core"),
        ("worker", "% of a core"),
    ];
    let arms = context
        .cells
        .iter()
        .flat_map(|cell| cell.arms.iter().map(move |(arm, _)| (cell, *arm)));
    let rows: Vec<_> = arms
        .filter(|(cell, arm)| cell.arm(arm).is_some())
        .map(|(cell, arm)| row(context, cell, arm))
        .collect();
    (!rows.is_empty()).then(|| Table {
        title: format!(
            "{}, {}: equal tasks, {} requests in flight each",
            what(context.config.kind),
            size(context.block_bytes),
            context.config.depth
        ),
        note: "MB/s are 10^6 bytes a second; medians over the rounds.".to_owned(),
        columns: columns
            .into_iter()
            .map(|(label, unit)| column(label, unit))
            .collect(),
        rows,
        command: context.command.to_owned(),
    })
}

fn row(context: &Context<'_>, cell: &Place, arm: Arm) -> Vec<Entry> {
    let tasks = cell.key.tasks;
    let all = context.median(cell, arm, |window| window.requests_per_s(0));
    let all = all.map(|rate| context.mb_per_s(rate));
    let percent = |value: Option<f64>| number(value.map(|cpus| cpus * 100.0));
    vec![
        text(cell.key.placement.name()),
        text(arm.to_string()),
        number(Some(tasks as f64)),
        number(all),
        number(all.map(|all| all / tasks as f64)),
        number(context.median(cell, arm, |window| evenness(window, tasks))),
        number(context.median(cell, arm, |window| window.notifications_per_s(0))),
        percent(context.median(cell, arm, |window| window.client_cpus(0))),
        percent(context.median(cell, arm, |window| window.worker_cpus())),
    ]
}
