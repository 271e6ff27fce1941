//! Ratios of interleaved arms, with what each shows.

use trial::{Comparison, Outcome, Standing};

use super::charts::interval::RatioScale;
use super::markup::{Html, command, details, head, paragraph};
use super::tables::grid;
use crate::number::number;
use crate::page;
use crate::words::{outcome, plural};

/// The ratios of a section that rest on pairs enough, on one scale: those that
/// carry a target in the open, the others folded away beneath them.
pub(super) fn render(all: &[Comparison]) -> Html {
    let hidden = page::unshown(all).map_or_else(Html::empty, |it| paragraph("note", &it));
    let shown = all.iter().filter(|it| page::is_shown(it));
    let comparisons: Vec<_> = shown.cloned().collect();
    let comparisons = comparisons.as_slice();
    if comparisons.is_empty() {
        return hidden;
    }
    let scale = RatioScale::of(comparisons);
    let shared = shared_command(comparisons);
    let table = |rows: &[&Comparison]| {
        let rows = rows
            .iter()
            .map(|it| row(it, scale.as_ref(), shared.is_none()));
        grid(TITLE, heads(scale.as_ref(), shared.is_none()), rows)
    };
    let (claims, others): (Vec<_>, Vec<_>) = comparisons.iter().partition(|it| it.target.is_some());
    let ratios = if claims.is_empty() || others.is_empty() {
        table(&comparisons.iter().collect::<Vec<_>>())
    } else {
        let more = plural(others.len(), "more ratio");
        Html::many([table(&claims), details(&more, [table(&others)])])
    };
    Html::classed(
        "div",
        "block",
        [
            Html::words("h3", "", TITLE),
            paragraph("note", LEGEND),
            ratios,
            hidden,
            shared.map_or_else(Html::empty, command),
        ],
    )
}

const TITLE: &str = "Ratios, measured in interleaved pairs";

const LEGEND: &str = "Each ratio is the median of paired ratios, with its confidence interval. \
    In the drawing the solid line is 1 (equal) and the dashed line the target; a hollow mark is \
    no evidence either way.";

fn shared_command(comparisons: &[Comparison]) -> Option<&str> {
    let first = comparisons.first()?.command.as_str();
    let mut others = comparisons.iter();
    others.all(|it| it.command == first).then_some(first)
}

fn heads(scale: Option<&RatioScale>, commands: bool) -> impl Iterator<Item = Html> {
    let drawing = scale.map_or_else(Html::empty, RatioScale::head);
    let drawing = Html::element("th", &[("scope", "col"), ("class", "drawing")], [drawing]);
    let heads = [
        head("", "what, compared with what"),
        head("number", "ratio"),
        head("number", "interval"),
        drawing,
        head("", "verdict"),
        head("", "target"),
        head("number", "pairs"),
    ];
    heads
        .into_iter()
        .chain(commands.then(|| head("", "command")))
}

fn row(it: &Comparison, scale: Option<&RatioScale>, commands: bool) -> Html {
    let drawing = scale.map_or_else(Html::empty, |scale| scale.row(it));
    let cells = [
        subject(it),
        Html::words("td", "number strong", format!("{}×", number(it.ratio))),
        Html::words("td", "number", interval(it)),
        Html::classed("td", "drawing", [drawing]),
        Html::words("td", outcome_class(it.outcome), outcome(it.outcome)),
        target(it),
        Html::words("td", "number", number(it.pairs.len() as f64)),
    ];
    let last = commands.then(|| Html::tag("td", [command(&it.command)]));
    Html::tag("tr", cells.into_iter().chain(last))
}

fn subject(it: &Comparison) -> Html {
    let arms = format!("{} ÷ {} ({})", it.arm, it.reference, it.metric);
    Html::classed("td", "subject", [Html::text(&it.subject), aside(&arms)])
}

fn interval(it: &Comparison) -> String {
    let share = number((it.confidence * 1000.0).round() / 10.0);
    format!("{} to {} ({share}%)", number(it.low), number(it.high))
}

fn outcome_class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Faster => "good",
        Outcome::Slower => "bad",
        Outcome::NoEvidence => "open",
    }
}

fn target(it: &Comparison) -> Html {
    let Some((target, standing)) = it.target.zip(it.standing()) else {
        return Html::words("td", "", "none");
    };
    let class = match standing {
        Standing::Met => "good",
        Standing::NotMet => "bad",
        Standing::Undecided => "open",
    };
    let least = format!("at least {}×", number(target.at_least));
    Html::classed("td", class, [Html::text(standing.words()), aside(&least)])
}

fn aside(words: &str) -> Html {
    Html::many([Html::text(" "), Html::words("span", "arms", words)])
}
