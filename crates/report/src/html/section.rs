//! One section: charts, tables, ratios, points.

use trial::SectionResult;

use super::header::duration;
use super::markup::{Html, command, paragraph};
use super::verdict::remedy;
use super::{charts, comparisons, points, tables};
use crate::words;

/// The anchor of the section at that place in the run. Names could be anything
/// and need not differ.
pub(super) fn anchor(index: usize) -> String {
    format!("section-{}", index + 1)
}

/// A section from its heading to its points.
pub(super) fn render(index: usize, section: &SectionResult) -> Html {
    let section = &words::said_once(section);
    let figures = section.charts.iter().map(charts::figure);
    let charts = match section.charts.is_empty() {
        true => Html::empty(),
        false => Html::classed("div", "charts", figures),
    };
    Html::element(
        "section",
        &[("id", &anchor(index))],
        [
            Html::tag("h2", [Html::text(&section.title)]),
            ending(section),
            charts,
            comparisons::render(&section.comparisons),
            Html::many(section.tables.iter().map(tables::render)),
            points::render(&section.points),
        ],
    )
}

/// How the section ended, what it took, and the command that runs it again.
fn ending(section: &SectionResult) -> Html {
    let (how, cure) = match words::ending(&section.state) {
        Some((how, reason, cure)) => (format!("Section {how}: {reason}"), cure),
        None => (String::new(), ""),
    };
    let again = match section.seconds > 0.0 {
        true => format!(
            "Section {} took {}; to run it again:",
            section.name,
            duration(section.seconds)
        ),
        false => format!("To run section {} again:", section.name),
    };
    Html::classed(
        "div",
        "ending",
        [
            paragraph("state", &how),
            remedy(cure),
            paragraph("note", &again),
            command(&section.command),
        ],
    )
}
