//! Tables, a chart and findings.

use trial::{
    Axis, Cell as Entry, Chart, Dot, Finding, Outcome, Scale, Series as Line, SeriesKind, Table,
    Weight,
};

use crate::router::scaling::case::{Case, LIMITED_CPUS, MODEST, each_pps, others_delivered};
use crate::router::scaling::context::Context;
use kit::drawing::{column, dot, number, text};
use kit::headline::{Answer, Question};
use kit::judged::judged;
use kit::ratio::{Ratio, words};
use kit::routers::end::End;
use kit::routers::series::Series;
use kit::routers::source::SCALING;
use kit::routers::subject::Subject;
use kit::routers::trial::Trial;
use kit::told::told;
use kit::words::{finding, percent};

pub(super) fn tables(context: &Context<'_>) -> Vec<Table> {
    let side = |count: &usize| {
        let series = context.series(Case::SideBySide(*count))?;
        let each = |pick: fn((f64, f64)) -> f64| {
            number(series.median(move |trial: &Trial| each_pps(trial).map(pick)))
        };
        Some(vec![
            number(Some(*count as f64)),
            number(series.rate()),
            each(|(least, _)| least),
            each(|(_, most)| most),
            number(series.median(Trial::router_ns_per_frame)),
            judged(&series.verdict()),
        ])
    };
    let beside = |(case, what): (Case, &str)| {
        let series = context.series(case)?;
        let share = series.median(others_delivered).map(|share| share * 100.0);
        let first = |trial: &Trial| Some(trial.routers.first()?.received_pps());
        Some(vec![
            text(what),
            number(series.median(first)),
            number(share),
            judged(&series.verdict()),
        ])
    };
    let cases = [
        (Case::Peace, "all offered little"),
        (Case::Overloaded, "the first overloaded"),
        (Case::Limited, "the first overloaded, with limits"),
    ];
    let totals = context.config.routers.iter().filter_map(side).collect();
    let others = cases.into_iter().filter_map(beside).collect();
    let count = context.config.beside.unwrap_or(0) as f64;
    let limits = format!(
        "{count:.0} routers; the others are offered {} of their share of what one router carries. Limits: {:.2} of a CPU each. {}",
        percent(MODEST),
        LIMITED_CPUS / count.max(1.0),
        context.note()
    );
    [
        table(
            context,
            "Routers side by side, as figures 7 and 8 of the source",
            format!(
                "The source's figures have no numbers; its text: {SCALING}. {}",
                context.note()
            ),
            &[
                ("routers", ""),
                ("together", "frames/s"),
                ("least of one", "frames/s"),
                ("most of one", "frames/s"),
                ("routers' CPU", "ns/frame"),
                ("verdict", ""),
            ],
            totals,
        ),
        table(
            context,
            "Beside an overloaded router",
            limits,
            &[
                ("", ""),
                ("the first forwards", "frames/s"),
                ("the others deliver", "%"),
                ("verdict", ""),
            ],
            others,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn table(
    context: &Context<'_>,
    title: &str,
    note: String,
    columns: &[(&str, &str)],
    rows: Vec<Vec<Entry>>,
) -> Option<Table> {
    let columns = columns.iter().map(|(label, unit)| column(*label, unit));
    (!rows.is_empty()).then(|| Table {
        title: title.to_owned(),
        note,
        columns: columns.collect(),
        rows,
        command: context.command.to_owned(),
    })
}

pub(super) fn chart(context: &Context<'_>) -> Option<Chart> {
    let line = |name: &str, value: fn(&Trial) -> Option<f64>| {
        let mark = |count: &usize| -> Option<Dot> {
            let series: &Series = context.series(Case::SideBySide(*count))?;
            let values: Vec<_> = (series.values(value).into_iter())
                .map(|pps| pps / 1e6)
                .collect();
            dot(
                *count as f64,
                &values,
                series.is_valid(),
                context.config.seed,
            )
        };
        let dots: Vec<_> = context.config.routers.iter().filter_map(mark).collect();
        (!dots.is_empty()).then(|| Line {
            name: name.to_owned(),
            kind: SeriesKind::Measured,
            dots,
        })
    };
    let series: Vec<_> = [
        line("together", |trial| Some(trial.received_pps())),
        line("least of one", |trial| Some(each_pps(trial)?.0)),
        line("most of one", |trial| Some(each_pps(trial)?.1)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let axis = |label: &str, unit: &str, scale| Axis {
        label: label.to_owned(),
        unit: unit.to_owned(),
        scale,
    };
    (!series.is_empty()).then(|| Chart {
        title: "What routers side by side forward".to_owned(),
        note: context.note(),
        x: axis("routers", "", Scale::Log2),
        y: axis("received", "million frames/s", Scale::Linear),
        places: Vec::new(),
        series,
        command: context.command.to_owned(),
    })
}

const QUESTION: Question = Question {
    what: "What routers side by side forward",
    against: "the source's figures 7 and 8 (more routers change the total little)",
};

pub(super) fn findings(context: &Context<'_>, ratios: &[Ratio], end: &End) -> Vec<Finding> {
    let tried: Vec<_> = (context.subjects.iter())
        .filter_map(Subject::tried)
        .collect();
    let beside = beside(context, ratios);
    let only = || beside.clone().map(Answer::from);
    let answer = total(context, ratios).or_else(only);
    let mut findings = vec![QUESTION.headline(answer, &tried)];
    findings.extend(beside);
    findings.extend(told(&tried));
    findings.extend(end.finding());
    findings
}

/// What the most of them forward together that may be believed.
fn total(context: &Context<'_>, ratios: &[Ratio]) -> Option<Answer> {
    let of = |count: usize| context.series(Case::SideBySide(count));
    let counts = context.config.routers.iter().copied().rev();
    let (count, series) = counts
        .filter_map(|count| Some((count, of(count)?)))
        .find(|(_, series)| series.is_valid())?;
    let (least, most) = (
        series.median(|trial| Some(each_pps(trial)?.0))?,
        series.median(|trial| Some(each_pps(trial)?.1))?,
    );
    let rate = series.rate()?;
    let name = format!("{count} routers");
    let over = ratios
        .iter()
        .find(|one| one.is_believed && one.comparison.arm == name)
        .map(|one| format!(", {} of one alone", words(&one.comparison)));
    let text = match count {
        1 => format!("One router forwards {rate:.0} frames/s; what more of them do stays open."),
        _ => format!(
            "{name} on one CPU forward {rate:.0} frames/s together{}, {least:.0} to {most:.0} each.",
            over.unwrap_or_default()
        ),
    };
    Some(Answer {
        text: format!("{text} The source found: {SCALING}."),
        remedy: String::new(),
    })
}

/// What one overloaded router does to others, and what limits do about it.
fn beside(context: &Context<'_>, ratios: &[Ratio]) -> Option<Finding> {
    let delivered = |case| {
        let series = context.series(case).filter(|series| series.is_valid())?;
        series.median(others_delivered)
    };
    let (without, with) = (delivered(Case::Overloaded)?, delivered(Case::Limited)?);
    let helps = ratios
        .iter()
        .map(|one| &one.comparison)
        .any(|one| one.reference == "without limits" && one.outcome == Outcome::Faster);
    let text = format!(
        "Beside one overloaded router the others deliver {} of their frames; with a limit on the CPU time of each, {}.",
        percent(without),
        percent(with)
    );
    let (weight, remedy) = match helps {
        true => (
            Weight::Advice,
            "Limit the CPU time of every router (a cpu cgroup over its threads, NAPI's too).",
        ),
        false => (Weight::Note, ""),
    };
    Some(finding(weight, text, remedy))
}
