//! The first screen: how sure the run is, what a crossing costs here, what to
//! change first, what limits trust.

use trial::{Comparison, Price, Run, Standing};

use super::markup::{Html, paragraph};
use crate::number::number;
use crate::page::{self, Change, Page, Trust};
use crate::words::{self, duration, plural};

pub(super) fn render(run: &Run) -> Html {
    let page = Page::of(run);
    let questions = [prices(&page), changes(&page)];
    Html::element(
        "section",
        &[
            ("class", "first"),
            ("id", "first"),
            ("aria-label", "answers"),
        ],
        [
            verdict(&page),
            Html::classed("div", "questions", questions),
            limits(&page),
            answers(&page),
            tally(run),
        ],
    )
}

fn verdict(page: &Page<'_>) -> Html {
    let class = match page.verdict.trust {
        Trust::Sound => "trust good",
        Trust::InPart => "trust open",
        Trust::NotSound => "trust bad",
    };
    let text = &page.verdict.text;
    let word = page.verdict.trust.words();
    match text.strip_prefix(word) {
        Some(rest) => {
            let word = Html::words("strong", class, word);
            Html::classed("p", "verdict", [word, Html::text(rest)])
        }
        None => paragraph("verdict", text),
    }
}

/// One row per crossing: its name, a bar on a logarithmic scale with the interval
/// marked, the price, the interval in words.
fn prices(page: &Page<'_>) -> Html {
    let Some(scale) = page::scale(&page.prices) else {
        return Html::empty();
    };
    let row = |price: &&Price| {
        let at = |ns| page::share(ns, scale);
        let cells = [
            cell("name", &price.crossing),
            bar(at(price.ns), (at(price.low_ns), at(price.high_ns))),
            cell("price", &page::time(price.ns)),
            cell("span", &page::span(price)),
        ];
        Html::tag("li", cells)
    };
    let ends = [scale.0, scale.1].map(|ns| cell("", &page::time(ns)));
    let heads = [
        cell("name", ""),
        Html::classed("span", "scale", ends),
        cell("price", "median"),
        cell("span", "interval"),
    ];
    let head = Html::tag("li", heads);
    let rows = std::iter::once(head).chain(page.prices.iter().map(row));
    let rows = Html::classed("ul", "rows prices", rows);
    question("What a crossing costs here", rows)
}

/// One row per change: what, where, the gain, its interval.
fn changes(page: &Page<'_>) -> Html {
    if page.changes.is_empty() {
        return Html::empty();
    }
    let most = page.changes.iter().map(|it| it.high).fold(2.0, f64::max);
    let at = |gain: f64| page::share(gain, (1.0, most));
    let row = |change: &Change<'_>| {
        let gain = format!("{}×", words::ratio(change.gain));
        let span = [change.low, change.high].map(words::ratio).join(" to ");
        let count = cell("count", &change.among());
        let place = Html::classed("span", "place", [Html::text(change.place), count]);
        let name = [cell("what", change.text), Html::text(" "), place];
        let cells = [
            Html::classed("span", "name", name),
            bar(at(change.gain), (at(change.low), at(change.high))),
            cell("price", &gain),
            cell("span", &span),
        ];
        Html::tag("li", cells)
    };
    let rows = Html::classed("ol", "rows changes", page.changes.iter().map(row));
    question("What to change first", rows)
}

fn question(title: &str, rows: Html) -> Html {
    let title = Html::words("h2", "", title);
    Html::classed("div", "question", [title, rows])
}

fn cell(class: &str, text: &str) -> Html {
    Html::words("span", class, text)
}

/// A drawing, since the page's policy refuses style attributes.
fn bar(at: f64, (low, high): (f64, f64)) -> Html {
    let percent = |share: f64| format!("{:.1}%", share * 100.0);
    let fill = [
        ("class", "fill"),
        ("width", &percent(at)),
        ("height", "100%"),
    ];
    let whisker = [
        ("class", "whisker"),
        ("x1", &percent(low)),
        ("x2", &percent(high.max(low))),
        ("y1", "50%"),
        ("y2", "50%"),
    ];
    let parts = [
        Html::element("rect", &fill, []),
        Html::element("line", &whisker, []),
    ];
    let attributes = [("class", "bar"), ("aria-hidden", "true")];
    Html::element("svg", &attributes, parts)
}

fn limits(page: &Page<'_>) -> Html {
    if page.limits.is_empty() {
        return Html::empty();
    }
    let items = page.limits.iter().map(|it| Html::words("li", "", it));
    let title = Html::words("h2", "", "What limits trust");
    Html::many([title, Html::classed("ul", "limits", items)])
}

fn answers(page: &Page<'_>) -> Html {
    let lines = page.answers.iter();
    Html::many(lines.map(|it| paragraph("answer", page::first_sentence(it))))
}

fn tally(run: &Run) -> Html {
    let all = run.points().count();
    let valid = run.points().filter(|it| it.verdict.is_valid()).count();
    let seconds = run.sections.iter().map(|section| section.seconds).sum();
    let counted = match valid == all {
        true => "all".to_owned(),
        false => number(valid as f64),
    };
    let mut words = match all {
        0 => "No point was measured.".to_owned(),
        all => format!(
            "{} measured in {}, {counted} valid.",
            plural(all, "point"),
            duration(seconds)
        ),
    };
    words.push_str(&targets(run));
    paragraph("tally", &words)
}

fn targets(run: &Run) -> String {
    let shown = || run.comparisons().filter(|it| page::is_shown(it));
    let standings = || shown().filter_map(Comparison::standing);
    let count = |wanted| standings().filter(|standing| *standing == wanted).count();
    if standings().next().is_none() {
        return String::new();
    }
    let parts: Vec<String> = [Standing::Met, Standing::NotMet, Standing::Undecided]
        .into_iter()
        .filter(|standing| count(*standing) > 0)
        .map(|standing| format!("{} {}", number(count(standing) as f64), standing.words()))
        .collect();
    format!(" Targets: {}.", parts.join(", "))
}
