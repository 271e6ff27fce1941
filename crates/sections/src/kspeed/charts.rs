//! How much of the asynchronous rate each method shows, a chart a driver.

use trial::stats::median_interval;
use trial::{Axis, Chart, Dot, Scale, Series, SeriesKind};

use crate::kspeed::catalogue::Driver;
use crate::kspeed::cell::Cell;
use crate::kspeed::context::Context;
use crate::kspeed::method::Method;
use kit::drawing::dot;

pub(super) fn charts(context: &Context<'_>) -> Vec<Chart> {
    let threads = &context.config.threads;
    let mut charts = Vec::new();
    for &driver in &context.config.drivers {
        charts.extend(
            threads
                .iter()
                .map(|&threads| share(context, driver, threads)),
        );
    }
    charts.retain(|chart| chart.series.len() > 1);
    charts
}

fn share(context: &Context<'_>, driver: &'static Driver, threads: usize) -> Chart {
    let methods = context.config.methods.iter();
    let line = |&method: &Method| line(context, driver, threads, method);
    let many = match threads {
        1 => String::new(),
        threads => format!(", {threads} threads"),
    };
    Chart {
        title: format!(
            "How much of the asynchronous rate each method shows: {driver} ({}){many}",
            driver.what
        ),
        note: format!(
            "{} requests in flight; kspeed async is 100%. Whiskers: 95% interval of the median. {}",
            context.config.depth,
            context.guest.note()
        ),
        x: Axis {
            label: "request".to_owned(),
            unit: "bytes".to_owned(),
            scale: Scale::Log2,
        },
        y: Axis {
            label: "share of the asynchronous rate".to_owned(),
            unit: "%".to_owned(),
            scale: Scale::Linear,
        },
        places: Vec::new(),
        series: methods.filter_map(line).collect(),
        command: context.command.to_owned(),
    }
}

fn line(
    context: &Context<'_>,
    driver: &'static Driver,
    threads: usize,
    method: Method,
) -> Option<Series> {
    // User space is another thing measured: its rate has no place in a share.
    if method == Method::Engine {
        return None;
    }
    let own = |cell: &&Cell| cell.place.driver == driver && cell.place.threads == threads;
    let cells = context.cells.iter().filter(own);
    let dots: Vec<_> = cells
        .filter_map(|cell| share_dot(context, cell, method))
        .collect();
    (!dots.is_empty()).then(|| Series {
        name: method.title().to_owned(),
        kind: match method {
            Method::Async => SeriesKind::Reference,
            _ => SeriesKind::Measured,
        },
        dots,
    })
}

/// The share in each round, in percent.
fn share_dot(context: &Context<'_>, cell: &Cell, method: Method) -> Option<Dot> {
    let full = cell.arm(Method::Async)?;
    let pairs = cell.arm(method)?.pairs(full);
    let shares: Vec<_> = pairs.iter().map(|(own, full)| own / full * 100.0).collect();
    median_interval(&shares).ok()?;
    let is_valid = context.is_valid(cell, method) && context.is_valid(cell, Method::Async);
    let bytes = cell.place.size_bytes as f64;
    dot(bytes, &shares, is_valid)
}
