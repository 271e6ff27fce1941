//! How many points were not valid, and why.

use std::collections::{BTreeMap, BTreeSet};

use trial::{Point, Validity};

use super::markup::{Html, paragraph};
use super::section::remedy;
use crate::number::number;
use crate::words::plural;

/// Reasons shown for each kind of verdict; the table has all of them.
const REASONS_MAX: usize = 3;

/// How many points were not valid, of which kind, and why.
pub(super) fn summary(points: &[Point]) -> Html {
    let mut kinds: BTreeMap<Validity, Vec<&Point>> = BTreeMap::new();
    for point in points.iter().filter(|point| !point.verdict.is_valid()) {
        kinds.entry(point.verdict.validity).or_default().push(point);
    }
    let count: usize = kinds.values().map(Vec::len).sum();
    if count == 0 {
        let all = plural(points.len(), "point");
        return paragraph("note", &format!("Validity: {all}, all valid."));
    }
    let words = format!(
        "Validity: {} of {} not valid; they count neither as a pass nor as a loss.",
        number(count as f64),
        plural(points.len(), "point"),
    );
    let items = kinds
        .iter()
        .map(|(validity, points)| kind(*validity, points));
    Html::many([
        paragraph("state", &words),
        Html::classed("ul", "findings", items),
    ])
}

fn kind(validity: Validity, points: &[&Point]) -> Html {
    let distinct = |text: fn(&Point) -> &str| -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let texts = points.iter().map(|point| text(point));
        texts
            .filter(|text| !text.is_empty() && seen.insert(*text))
            .collect()
    };
    let reasons = distinct(|point| &point.verdict.reason);
    let mut text = format!("{}: {}", validity.name(), number(points.len() as f64));
    if !reasons.is_empty() {
        let more = match reasons.len().saturating_sub(REASONS_MAX) {
            0 => String::new(),
            more => format!("; and {} more", number(more as f64)),
        };
        let shown = reasons[..reasons.len().min(REASONS_MAX)].join("; ");
        text.push_str(&format!(" ({shown}{more})"));
    }
    let remedies = distinct(|point| &point.verdict.remedy);
    let remedies = remedies.into_iter().take(REASONS_MAX).map(remedy);
    Html::tag("li", std::iter::once(paragraph("", &text)).chain(remedies))
}
