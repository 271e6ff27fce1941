//! Views as charts.

use trial::{Chart, Dot, Scale, Series as Line};

use crate::drawing::{dot, marked};
use crate::experiment::{Experiment, Results};
use crate::spot::Spot;
use crate::subject::{Measure, Pair, Subject};
use crate::view::{Lines, Rows, Shown, axis};
use crate::words::joined;

/// Subjects that a view shows.
pub(super) type Shows<'a, E> = Vec<&'a Subject<<E as Experiment>::Place, <E as Experiment>::Arm>>;

/// A chart for each combination of what a view is split by.
pub fn lines<E: Experiment>(
    results: &Results<'_, E>,
    view: &Lines<E::Place, E::Arm>,
) -> Vec<Chart> {
    let mut all = results.shown(view.only);
    all.retain(|subject| subject.spot.number(view.over).is_some());
    let is_split = |name: &str| view.split.contains(&name);
    let charts = by(&all, is_split).into_iter();
    charts
        .filter_map(|(spot, own)| chart(results, view, &spot, &own))
        .collect()
}

fn chart<E: Experiment>(
    results: &Results<'_, E>,
    view: &Lines<E::Place, E::Arm>,
    spot: &Spot,
    own: &Shows<'_, E>,
) -> Option<Chart> {
    let is_line = |name: &str| name != view.over && !view.split.contains(&name);
    let lines = by(own, is_line);
    let names = names(&lines.iter().map(|(spot, _)| spot).collect::<Vec<_>>());
    let mut series = Vec::new();
    for ((_, along), name) in lines.iter().zip(&names) {
        for &(measure, called, scale) in &view.measures {
            let dots: Vec<_> = along
                .iter()
                .filter_map(|subject| {
                    let x = subject.spot.number(view.over)?;
                    value(results, subject, measure, (x, scale))
                })
                .collect();
            if !dots.is_empty() {
                series.push(Line::measured(joined([called, name], ", "), dots));
            }
        }
    }
    let mut chart = Chart {
        title: joined([view.title.as_str(), &spot.words()], ": "),
        note: view.note.clone(),
        x: view.x.clone(),
        y: view.y.clone(),
        places: Vec::new(),
        series,
        command: results.command.to_owned(),
    };
    results.experiment.finish(results, spot, &mut chart);
    let is_line = |series: &Line| series.dots.len() > 1;
    chart.series.iter().any(is_line).then_some(chart)
}

fn value<E: Experiment>(
    results: &Results<'_, E>,
    subject: &Subject<E::Place, E::Arm>,
    measure: Measure,
    (x, scale): (f64, f64),
) -> Option<Dot> {
    let series = results.series(&subject.place, &subject.arm)?;
    let values = series.values(measure).into_iter();
    let values: Vec<_> = values.map(|value| value * scale).collect();
    let is_valid = results.is_valid(&subject.place, &subject.arm);
    dot(x, &values, is_valid)
}

/// A row for each subject or place.
pub fn rows<E: Experiment>(
    results: &Results<'_, E>,
    view: &Rows<E::Place, E::Arm>,
) -> Option<Chart> {
    let all = results.shown(view.only);
    let is_row = |name: &str| !view.series.contains(&name);
    let places: Vec<_> = by(&all, is_row).into_iter().map(|(spot, _)| spot).collect();
    let lines = by(&all, |name| !is_row(name));
    let mut series = Vec::new();
    for (line, own) in &lines {
        let dots: Vec<_> = own
            .iter()
            .filter_map(|subject| {
                let row = subject.spot.only(is_row);
                let x = places.iter().position(|place| *place == row)? as f64;
                shown(results, &view.what, subject, x)
            })
            .collect();
        if !dots.is_empty() {
            let name = match line.words() {
                words if words.is_empty() => view.label.to_owned(),
                words => words,
            };
            series.push(Line::measured(name, dots));
        }
    }
    let unit = match &view.what {
        Shown::Value(measure) => measure.unit,
        Shown::Ratio(..) => "",
    };
    (!series.is_empty()).then(|| Chart {
        title: view.title.clone(),
        note: view.note.clone(),
        x: axis("place", "", Scale::Linear),
        y: axis(view.label, unit, view.scale),
        places: names(&places.iter().collect::<Vec<_>>()),
        series,
        command: results.command.to_owned(),
    })
}

fn shown<E: Experiment>(
    results: &Results<'_, E>,
    what: &Shown<E::Arm>,
    subject: &Subject<E::Place, E::Arm>,
    x: f64,
) -> Option<Dot> {
    let (measure, reference) = match what {
        Shown::Value(measure) => return value(results, subject, *measure, (x, 1.0)),
        Shown::Ratio(measure, reference) => (*measure, reference),
    };
    if subject.arm == *reference {
        return None;
    }
    let pair = Pair::new(
        (subject.place.clone(), subject.arm.clone()),
        (subject.place.clone(), reference.clone()),
        measure,
    );
    let ratio = results.compare(&pair, &results.usual())?;
    let own = &ratio.comparison;
    let interval = (own.pairs.len() > 1).then_some((own.low, own.high));
    Some(marked((x, own.ratio), interval, ratio.is_believed))
}

/// Subjects that agree in those coordinates, in the order of the first.
pub(super) fn by<'a, P, A>(
    all: &[&'a Subject<P, A>],
    wanted: impl Fn(&str) -> bool,
) -> Vec<(Spot, Vec<&'a Subject<P, A>>)> {
    let mut groups: Vec<(Spot, Vec<&Subject<P, A>>)> = Vec::new();
    for &subject in all {
        let own = subject.spot.only(&wanted);
        match groups.iter_mut().find(|(spot, _)| *spot == own) {
            Some((_, group)) => group.push(subject),
            None => groups.push((own, vec![subject])),
        }
    }
    groups
}

/// What tells them apart, in words; all of it where nothing does.
pub(super) fn names(spots: &[&Spot]) -> Vec<String> {
    let is_told = |name: &str| {
        let mut parts = spots
            .iter()
            .map(|spot| spot.part(name).filter(|part| !part.follows));
        let first = parts.next();
        parts.any(|part| Some(part) != first)
    };
    let named = |spot: &&Spot| match spot.only(is_told).words() {
        words if words.is_empty() => spot.words(),
        words => words,
    };
    spots.iter().map(named).collect()
}
