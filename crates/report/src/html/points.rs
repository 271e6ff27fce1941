//! Every measured point, behind a word on how many were valid.

use std::collections::{BTreeMap, BTreeSet};

use trial::{Dimension, Metric, Point};

use super::markup::{Html, details, head, paragraph};
use super::tables::grid;
use super::validity;
use crate::number::{bytes, number};
use crate::words::plural;

pub(super) fn render(points: &[Point]) -> Html {
    if points.is_empty() {
        return Html::empty();
    }
    let shared = shared_dimensions(points);
    let varied: Vec<&str> = names(points)
        .filter(|name| !shared.contains_key(name))
        .collect();
    let metrics = metrics(points);
    let rows = points.iter().map(|point| row(point, &varied, &metrics));
    let summary = format!("All measured points ({})", number(points.len() as f64));
    let grid = grid(&summary, heads(&varied, &metrics), rows);
    Html::classed(
        "div",
        "block",
        [
            validity::summary(points),
            details(&summary, [paragraph("note", &same(&shared)), grid]),
        ],
    )
}

fn names(points: &[Point]) -> impl Iterator<Item = &str> {
    let names = points.iter().flat_map(|point| point.dimensions.keys());
    let names: BTreeSet<&str> = names.map(String::as_str).collect();
    names.into_iter()
}

/// Dimensions that are the same for all points, where there are several.
fn shared_dimensions(points: &[Point]) -> BTreeMap<&str, &Dimension> {
    let [first, _, ..] = points else {
        return BTreeMap::new();
    };
    let same = |(name, value): &(&String, &Dimension)| {
        let mut all = points.iter();
        all.all(|point| point.dimensions.get(name.as_str()) == Some(value))
    };
    let shared = first.dimensions.iter().filter(same);
    shared.map(|(name, value)| (name.as_str(), value)).collect()
}

fn same(shared: &BTreeMap<&str, &Dimension>) -> String {
    if shared.is_empty() {
        return String::new();
    }
    let parts: Vec<String> = shared
        .iter()
        .map(|(name, value)| format!("{} {}", spaced(name), coordinate(name, value)))
        .collect();
    format!("The same for all: {}.", parts.join(", "))
}

/// Names and units of every metric of any point, in the order they appear.
fn metrics(points: &[Point]) -> Vec<(&str, &str)> {
    let mut seen = BTreeSet::new();
    let all = points.iter().flat_map(|point| &point.metrics);
    all.map(|metric| (metric.name.as_str(), metric.unit.as_str()))
        .filter(|(name, _)| seen.insert(*name))
        .collect()
}

fn heads(varied: &[&str], metrics: &[(&str, &str)]) -> Vec<Html> {
    let dimensions = varied.iter().map(|name| head("", dimension_head(name)));
    let metrics = metrics.iter().map(|(name, unit)| match *unit {
        "" => head("number", spaced(name)),
        unit => head("number", metric_head(stem(name, unit), unit)),
    });
    let rest = [head("", "verdict"), head("", "command")];
    dimensions.chain(metrics).chain(rest).collect()
}

fn row(point: &Point, varied: &[&str], metrics: &[(&str, &str)]) -> Html {
    let dimensions = varied.iter().map(|name| match point.dimensions.get(*name) {
        Some(value @ Dimension::Number(_)) => Html::words("td", "number", coordinate(name, value)),
        Some(value) => Html::words("td", "", coordinate(name, value)),
        None => Html::tag("td", []),
    });
    let metrics = metrics.iter().map(|(name, _)| measured(point.metric(name)));
    let command = Html::classed("td", "command", [Html::words("code", "", &point.command)]);
    let rest = [Html::words("td", "why", verdict(point)), command];
    Html::tag("tr", dimensions.chain(metrics).chain(rest))
}

fn measured(metric: Option<&Metric>) -> Html {
    let Some(metric) = metric else {
        return Html::classed("td", "number", []);
    };
    let value = Html::text(number(metric.value));
    let samples = || metric.samples.iter().copied();
    let low = samples().fold(f64::INFINITY, f64::min);
    let high = samples().fold(f64::NEG_INFINITY, f64::max);
    if low > high {
        return Html::classed("td", "number", [value]);
    }
    let count = plural(metric.samples.len(), "repetition");
    let spread = format!("{count}, {} to {}", number(low), number(high));
    Html::element("td", &[("class", "number"), ("title", &spread)], [value])
}

fn verdict(point: &Point) -> String {
    let words = point.verdict.validity.name();
    match point.verdict.reason.as_str() {
        "" => words.to_owned(),
        reason => format!("{words}: {reason}"),
    }
}

/// Sizes in bytes are written as such: their names end in their unit.
fn coordinate(name: &str, value: &Dimension) -> String {
    match value {
        Dimension::Number(size) if name.ends_with("bytes") => bytes(*size as f64),
        Dimension::Number(count) => number(*count as f64),
        Dimension::Text(text) => text.clone(),
    }
}

fn dimension_head(name: &str) -> String {
    spaced(name.strip_suffix("_bytes").unwrap_or(name))
}

fn metric_head(stem: &str, unit: &str) -> String {
    match stem {
        "" => unit.to_owned(),
        stem => format!("{}, {unit}", spaced(stem)),
    }
}

/// The name without its unit: `speed_mb_per_s` in MB/s is `speed`; `requests_per_s`
/// is nothing but unit.
fn stem<'a>(name: &'a str, unit: &str) -> &'a str {
    let spelled = unit
        .to_lowercase()
        .replace('µ', "u")
        .replace('/', "_per_")
        .replace('%', "percent");
    match name.strip_suffix(&spelled) {
        Some("") => "",
        Some(stem) => stem.strip_suffix('_').unwrap_or(name),
        None => name,
    }
}

fn spaced(name: &str) -> String {
    name.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::{metric_head, stem};

    #[test]
    fn heads_name_each_unit_once() {
        for (name, unit, head) in [
            ("speed_mb_per_s", "MB/s", "speed, MB/s"),
            ("requests_per_s", "requests/s", "requests/s"),
            ("latency_p50_us", "µs", "latency p50, µs"),
            ("client_cpu_percent", "%", "client cpu, %"),
            ("focus", "us", "focus, us"),
            ("steal", "%", "steal, %"),
        ] {
            assert_eq!(metric_head(stem(name, unit), unit), head);
        }
    }
}
