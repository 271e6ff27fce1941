//! One section: charts, tables, ratios, points.

use trial::{Finding, SectionResult, Weight};

use super::markup::{Html, command, paragraph};
use super::{charts, comparisons, points, tables};
use crate::page::first_sentence;
use crate::words::{self, duration};

/// The anchor of the section at that place in the run. Names could be anything
/// and need not differ.
fn anchor(index: usize) -> String {
    format!("section-{}", index + 1)
}

/// A section, folded: its title and its answer stay in sight, then all findings,
/// figures, ratios and points.
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
        [Html::tag(
            "details",
            [
                summary(section),
                ending(section),
                findings(section),
                charts,
                comparisons::render(&section.comparisons),
                Html::many(section.tables.iter().map(tables::render)),
                points::render(&section.points),
            ],
        )],
    )
}

/// What stays in sight: the title, and the first sentence of the answer or how
/// the section ended.
fn summary(section: &SectionResult) -> Html {
    let headline = section.findings.first();
    let headline = headline.filter(|it| it.weight == Weight::Headline);
    let line = match (words::ending(&section.state), headline) {
        (Some((how, ..)), None) => how,
        (_, Some(headline)) => first_sentence(&headline.text),
        (None, None) => "",
    };
    let title = Html::words("h2", "", &section.title);
    Html::tag("summary", [title, Html::words("span", "line", line)])
}

fn findings(section: &SectionResult) -> Html {
    if section.findings.is_empty() {
        return Html::empty();
    }
    let items = section.findings.iter().map(finding);
    Html::classed("ul", "findings", items)
}

fn finding(finding: &Finding) -> Html {
    let class = match finding.weight {
        Weight::Headline => "headline",
        Weight::Advice => "good",
        Weight::Warning => "open",
        Weight::Note => "note",
    };
    let lead = match finding.weight {
        Weight::Headline => Html::empty(),
        weight => Html::words("strong", class, format!("{}: ", words::weight(weight))),
    };
    let text = Html::tag("p", [lead, Html::text(&finding.text)]);
    let item = [text, remedy(&finding.remedy)];
    match finding.weight {
        Weight::Headline | Weight::Note => Html::classed("li", class, item),
        Weight::Advice | Weight::Warning => Html::tag("li", item),
    }
}

pub(super) fn remedy(words: &str) -> Html {
    if words.trim().is_empty() {
        return Html::empty();
    }
    let lead = Html::words("strong", "", "Remedy: ");
    Html::classed("p", "remedy", [lead, Html::text(words)])
}

/// How the section ended, what it took, and the command that runs it again.
fn ending(section: &SectionResult) -> Html {
    let (how, cure) = match words::ending(&section.state) {
        Some((how, reason, cure)) => (format!("Section {how}: {reason}"), cure),
        None => (String::new(), ""),
    };
    let again = match section.seconds > 0.0 {
        true => {
            let took = duration(section.seconds);
            format!("Section {} took {took}; to run it again:", section.name)
        }
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
