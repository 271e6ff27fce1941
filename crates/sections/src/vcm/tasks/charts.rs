//! The paper's figure 3 for each placement: each task's speed, their sum, and
//! how busy the cores are.

use trial::{Axis, Chart, Dot, Scale, Series, SeriesKind};

use crate::vcm::tasks::context::Context;
use crate::vcm::tasks::grid::Place;
use kit::drawing::dot;
use kit::load::moderated::Arm;
use kit::load::rig::Window;
use kit::place::Placement;
use kit::places::on;
use kit::words::size;
use kit::words::what;

pub(super) fn charts(context: &Context<'_>) -> Vec<Chart> {
    let both = |placement| [speed(context, placement), cpu(context, placement)];
    let mut charts: Vec<_> = context.placements().flat_map(both).collect();
    charts.retain(|chart| chart.series.iter().any(|series| series.dots.len() > 1));
    charts
}

fn chart(context: &Context<'_>, title: &str, note: String, y: Axis, series: Vec<Series>) -> Chart {
    Chart {
        title: title.to_owned(),
        note,
        x: Axis {
            label: "equal tasks".to_owned(),
            unit: String::new(),
            scale: Scale::Linear,
        },
        y,
        places: Vec::new(),
        series,
        command: context.command.to_owned(),
    }
}

/// An arm's `value` over the number of tasks.
fn line(
    context: &Context<'_>,
    (placement, arm): (Placement, Arm),
    name: String,
    value: impl Fn(&Place, &Window) -> f64,
) -> Series {
    let one = |cell: &&Place| {
        let values = cell.arm(&arm)?.values(|window| value(cell, window));
        let is_valid = context.is_valid(cell, arm);
        dot(
            cell.key.tasks as f64,
            &values,
            is_valid,
            context.config.seed,
        )
    };
    let line = context.line(placement, arm);
    Series {
        name,
        kind: SeriesKind::Measured,
        dots: line.iter().filter_map(one).collect(),
    }
}

fn speed(context: &Context<'_>, placement: Placement) -> Chart {
    let config = context.config;
    let mut series = Vec::new();
    for &arm in &config.policies {
        let of = (placement, arm);
        series.push(line(context, of, format!("sum, {arm}"), |_, window| {
            context.mb_per_s(window.requests_per_s(0))
        }));
        series.push(line(
            context,
            of,
            format!("a task, {arm}"),
            |cell, window| context.mb_per_s(window.requests_per_s(0) / cell.key.tasks as f64),
        ));
    }
    series.extend(nth(context, placement));
    let title = format!(
        "Each task's speed and their sum: {}, {}, clients and worker on {}",
        what(config.kind),
        size(context.block_bytes),
        on(placement)
    );
    let note = format!(
        "{} requests in flight a task, each with a lane of its own. Dashed: what the paper's figure 3 says of a task. Whiskers: 95% interval of the median.",
        config.depth
    );
    let y = Axis {
        label: "speed".to_owned(),
        unit: "MB/s".to_owned(),
        scale: Scale::Linear,
    };
    chart(context, &title, note, y, series)
}

/// One task's speed, divided by the number of tasks: the paper's.
fn nth(context: &Context<'_>, placement: Placement) -> Option<Series> {
    let arm = *context.config.policies.first()?;
    let line = context.line(placement, arm);
    let alone = line.first().filter(|cell| cell.key.tasks == 1)?;
    let rate = context.median(alone, arm, |window| window.requests_per_s(0))?;
    let share = |tasks: usize| {
        let tasks = u32::try_from(tasks).unwrap_or(u32::MAX);
        model::paper::published::share_of_one_task(tasks)
    };
    let dot = |cell: &&Place| Dot {
        x: cell.key.tasks as f64,
        y: context.mb_per_s(rate) * share(cell.key.tasks),
        low: None,
        high: None,
        valid: true,
    };
    Some(Series {
        name: format!("one task's ÷ n, {arm}"),
        kind: SeriesKind::Reference,
        dots: line.iter().map(dot).collect(),
    })
}

fn cpu(context: &Context<'_>, placement: Placement) -> Chart {
    let mut series = Vec::new();
    for &arm in &context.config.policies {
        let of = (placement, arm);
        series.push(line(context, of, format!("clients, {arm}"), |_, window| {
            window.client_cpus(0) * 100.0
        }));
        series.push(line(context, of, format!("worker, {arm}"), |_, window| {
            window.worker_cpus() * 100.0
        }));
    }
    let title = format!(
        "How busy the cores are: clients and worker on {}",
        on(placement)
    );
    let note = match placement {
        Placement::Shared => "Together they have one core.",
        Placement::Split => {
            "The clients share one core, the worker has another; while it is idle it looks for work a little before it sleeps."
        }
    };
    let y = Axis {
        label: "CPU time".to_owned(),
        unit: "% of a core".to_owned(),
        scale: Scale::Linear,
    };
    chart(context, &title, note.to_owned(), y, series)
}
