//! The verdict: what the run found, in plain words, before any figure.

use trial::{Finding, Run, SectionResult, Weight};

use super::header::duration;
use super::markup::{Html, paragraph};
use super::section::anchor;
use crate::number::number;
use crate::words::{Standing, ending, plural, standing};

/// The findings of all sections by weight, what was not measured and why, and
/// how many points and targets stand behind them.
pub(super) fn render(run: &Run) -> Html {
    Html::element(
        "section",
        &[
            ("class", "verdict"),
            ("id", "verdict"),
            ("aria-label", "verdict"),
        ],
        [
            headlines(run),
            list(run, Weight::Advice, "What to change"),
            list(run, Weight::Warning, "What limits these numbers"),
            list(run, Weight::Note, "Worth knowing"),
            unmeasured(run),
            tally(run),
            contents(run),
        ],
    )
}

fn findings(run: &Run, weight: Weight) -> impl Iterator<Item = &Finding> {
    let all = run.sections.iter().flat_map(|section| &section.findings);
    all.filter(move |finding| finding.weight == weight)
}

fn headlines(run: &Run) -> Html {
    let mut large = findings(run, Weight::Headline).peekable();
    if large.peek().is_none() {
        return paragraph(
            "headline",
            "This run came to no headline; its figures are below.",
        );
    }
    Html::many(large.map(|finding| {
        Html::many([
            paragraph("headline", &finding.text),
            remedy(&finding.remedy),
        ])
    }))
}

fn list(run: &Run, weight: Weight, heading: &str) -> Html {
    let mut findings = findings(run, weight).peekable();
    if findings.peek().is_none() {
        return Html::empty();
    }
    let items = findings.map(|finding| {
        Html::tag(
            "li",
            [paragraph("", &finding.text), remedy(&finding.remedy)],
        )
    });
    Html::many([
        Html::tag("h2", [Html::text(heading)]),
        Html::classed("ul", "findings", items),
    ])
}

/// What to do, marked as such in words.
pub(super) fn remedy(words: &str) -> Html {
    if words.trim().is_empty() {
        return Html::empty();
    }
    let lead = Html::tag("strong", [Html::text("Remedy: ")]);
    Html::classed("p", "remedy", [lead, Html::text(words)])
}

fn unmeasured(run: &Run) -> Html {
    let open: Vec<Html> = run.sections.iter().filter_map(incomplete).collect();
    if open.is_empty() {
        return Html::empty();
    }
    let heading = Html::tag("h2", [Html::text("What was not measured")]);
    Html::many([heading, Html::classed("ul", "findings", open)])
}

fn incomplete(section: &SectionResult) -> Option<Html> {
    let (how, reason, cure) = ending(&section.state)?;
    let text = format!("{} ({how}): {reason}", section.title);
    Some(Html::tag("li", [paragraph("", &text), remedy(cure)]))
}

/// One line on what all this rests on.
fn tally(run: &Run) -> Html {
    let points = || run.sections.iter().flat_map(|section| &section.points);
    let (all, valid) = (
        points().count(),
        points().filter(|point| point.verdict.is_valid()).count(),
    );
    let mut words = format!(
        "{} measured in {}, {} valid.",
        plural(all, "point"),
        duration(run.sections.iter().map(|section| section.seconds).sum()),
        if valid == all {
            "all".to_owned()
        } else {
            number(valid as f64)
        },
    );
    if all == 0 {
        words = "No point was measured.".to_owned();
    }
    words.push_str(&targets(run));
    paragraph("tally", &words)
}

fn targets(run: &Run) -> String {
    let standings = || {
        let all = run.sections.iter().flat_map(|section| &section.comparisons);
        all.filter_map(standing)
    };
    let count = |wanted| standings().filter(|standing| *standing == wanted).count();
    if standings().next().is_none() {
        return String::new();
    }
    let parts: Vec<String> = [Standing::Met, Standing::Missed, Standing::NoEvidence]
        .into_iter()
        .filter(|standing| count(*standing) > 0)
        .map(|standing| format!("{} {}", number(count(standing) as f64), standing.words()))
        .collect();
    format!(" Targets: {}.", parts.join(", "))
}

fn contents(run: &Run) -> Html {
    let link = |href: String, text: &str| {
        Html::tag(
            "li",
            [Html::element("a", &[("href", &href)], [Html::text(text)])],
        )
    };
    let sections = run.sections.iter().enumerate();
    let links = sections.map(|(index, it)| link(format!("#{}", anchor(index)), &it.title));
    let last = link("#environment".to_owned(), "Environment");
    let list = Html::tag("ul", links.chain([last]));
    Html::element("nav", &[("aria-label", "sections")], [list])
}
