//! Every path's figures, the targets, and what each setting gives.

use trial::{Cell as Entry, Standing, Table};

use crate::router::paths::claims::{Claim, Question, routes};
use crate::router::paths::context::Context;
use kit::drawing::{column, number, text};
use kit::judged::judged;
use kit::ratio::words;
use kit::routers::subject::Subject;
use kit::routers::trial::Trial;

pub(super) fn tables(context: &Context<'_>) -> Vec<Table> {
    [targets(context), rates(context), gains(context)]
        .into_iter()
        .flatten()
        .collect()
}

fn table(
    context: &Context<'_>,
    title: &str,
    columns: &[(&str, &str)],
    rows: Vec<Vec<Entry>>,
) -> Option<Table> {
    let columns = columns.iter().map(|(label, unit)| column(*label, unit));
    (!rows.is_empty()).then(|| Table {
        title: title.to_owned(),
        note: context.note(),
        columns: columns.collect(),
        rows,
        command: context.command.to_owned(),
    })
}

/// What is claimed, and whether the lower bound meets it.
fn targets(context: &Context<'_>) -> Option<Table> {
    let row = |claim: &Claim| {
        let standing = match (claim.ratio.standing()?, claim.ratio.is_believed) {
            (Standing::Undecided, false) => "undecided: not valid",
            (standing, _) => standing.words(),
        };
        Some(vec![
            text(&*claim.ratio.comparison.arm),
            text(&*claim.ratio.comparison.reference),
            text(&*claim.ratio.comparison.metric),
            text(format!("{:.2}×", claim.ratio.wanted?)),
            text(words(&claim.ratio.comparison)),
            number(Some(claim.ratio.comparison.pairs.len() as f64)),
            text(standing),
        ])
    };
    table(
        context,
        "Targets: the lower bound of the 95% interval must meet them",
        &[
            ("path", ""),
            ("against", ""),
            ("by", ""),
            ("at least", ""),
            ("ratio", ""),
            ("pairs", ""),
            ("", ""),
        ],
        context.claims.iter().filter_map(row).collect(),
    )
}

fn rates(context: &Context<'_>) -> Option<Table> {
    let row = |subject: &Subject| {
        let series = &subject.series;
        let routes = routes(subject);
        let over = |question| {
            let claim = context.claims.iter().find(|claim| {
                claim.question == question
                    && claim.way == subject.way()
                    && claim.destinations == subject.offer().destinations
                    && claim.routes == routes
            });
            claim.map_or(Entry::Empty, |claim| text(words(&claim.ratio.comparison)))
        };
        vec![
            text(subject.way().what()),
            number(Some(f64::from(subject.offer().destinations))),
            routes.map_or_else(
                || text("links only"),
                |count| number(Some(f64::from(count))),
            ),
            number(series.rate()),
            over(Question::Path),
            number(series.median(Trial::router_ns_per_frame)),
            number(series.median(Trial::frames_per_cpu_s)),
            judged(&series.verdict()),
        ]
    };
    table(
        context,
        "What each path carries",
        &[
            ("path", ""),
            ("destinations", ""),
            ("routes", ""),
            ("received", "frames/s"),
            ("over kernel routing", ""),
            ("router's CPU", "ns/frame"),
            ("per CPU-second", "frames"),
            ("verdict", ""),
        ],
        context.measured().map(row).collect(),
    )
}

/// What each setting gives: ratios other than those to kernel routing.
fn gains(context: &Context<'_>) -> Option<Table> {
    let row = |claim: &Claim| {
        let what = match claim.question {
            Question::Path => return None,
            Question::Redirect => "a router against a blind redirect",
            Question::Batching => "many frames at once",
            Question::Polling => "not sleeping",
            Question::Binding => "a thread for each queue",
            Question::PeerByCpu => "beside DPDK, by CPU time",
            Question::PeerByRate => "beside DPDK, by rate",
            Question::Destinations => "more destinations",
            Question::Routes => "a larger table",
        };
        Some(vec![
            text(what),
            text(&*claim.ratio.comparison.arm),
            text(&*claim.ratio.comparison.reference),
            text(words(&claim.ratio.comparison)),
        ])
    };
    table(
        context,
        "What each setting gives",
        &[("what", ""), ("with", ""), ("against", ""), ("ratio", "")],
        context.claims.iter().filter_map(row).collect(),
    )
}
