//! Rates by path: one row a path, one series a number of destinations.

use forward::topology::Routes;
use trial::{Axis, Chart, Dot, Scale, Series, SeriesKind};

use crate::router::paths::claims::counted;
use crate::router::paths::context::Context;
use kit::drawing::dot;
use kit::routers::subject::Subject;

pub(super) fn charts(context: &Context<'_>) -> Vec<Chart> {
    let ways = &context.config.ways;
    let place = |subject: &Subject| ways.iter().position(|way| *way == subject.way());
    let mark = |subject: &Subject| -> Option<Dot> {
        let rates = (subject.series).values(|trial| Some(trial.received_pps() / 1e6));
        let x = place(subject)? as f64;
        dot(x, &rates, subject.series.is_valid())
    };
    let series = |count: &u32| {
        let own = context.measured().filter(|subject| {
            subject.offer().destinations == *count
                && subject.setups[0].topology.routes == Routes::Networks
        });
        let dots: Vec<_> = own.filter_map(mark).collect();
        (!dots.is_empty()).then(|| Series {
            name: counted(*count, "destination"),
            kind: SeriesKind::Measured,
            dots,
        })
    };
    let series: Vec<_> = (context.config.destinations.iter())
        .filter_map(series)
        .collect();
    if series.is_empty() {
        return Vec::new();
    }
    let axis = |label: &str, unit: &str| Axis {
        label: label.to_owned(),
        unit: unit.to_owned(),
        scale: Scale::Linear,
    };
    vec![Chart {
        title: "What each path carries".to_owned(),
        note: format!("{} Whiskers: 95% interval of the median.", context.note()),
        x: axis("path", ""),
        y: axis("received", "million frames/s"),
        places: ways.iter().map(|way| way.what()).collect(),
        series,
        command: context.command.to_owned(),
    }]
}
