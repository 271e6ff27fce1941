//! A comparison for the terminal.

use trial::Outcome;

use super::shown::Shown;
use super::summary;
use super::{Row, RunComparison};
use crate::grid::Grid;
use crate::number::number;
use crate::style::{Ink, Style};
use crate::words::{self, plural};
use crate::wrap::{hung, paragraph};

/// Figures shown; those that failed the threshold are shown always.
const ROWS_MAX: usize = 30;

const PLACES_MAX: usize = 4;

/// The comparison as text: what is assumed, the verdict, the threshold, what
/// limits both, the figures with the largest effect, and what was not compared.
pub fn render(it: &RunComparison, style: Style) -> String {
    let parts = [
        origins(it, style),
        verdict(it, style),
        figures(it, style),
        groups("Left out", summary::ignored(&it.ignored), style),
        groups("Not in both", summary::missing(&it.missing), style),
        summary::chance(it).map_or_else(String::new, |words| {
            String::from("\n") + &hung(2, &words, style.width)
        }),
    ];
    parts.concat()
}

fn origins(it: &RunComparison, style: Style) -> String {
    let line = |side: &str, origin| paragraph(side, &summary::origin(origin), style.width);
    style.paint(Ink::Faint, &(line("A  ", &it.a) + &line("B  ", &it.b))) + "\n"
}

fn verdict(it: &RunComparison, style: Style) -> String {
    let line = |ink, words: &str| style.paint(ink, &hung(2, words, style.width));
    let assumption = summary::assumption(it);
    let mut out = assumption.map_or_else(String::new, |words| line(Ink::Doubtful, &words));
    out += &line(Ink::Strong, &summary::verdict(it));
    for words in summary::extremes(it).iter().chain(&summary::spreads(it)) {
        out += &paragraph("  ", words, style.width);
    }
    if let Some(words) = summary::threshold(it) {
        out += &line(if it.has_failed() { Ink::Bad } else { Ink::Good }, &words);
    }
    for warning in &it.warnings {
        out += &line(Ink::Doubtful, &format!("Warning: {warning}"));
    }
    out
}

fn figures(it: &RunComparison, style: Style) -> String {
    if it.rows.is_empty() {
        return String::new();
    }
    let visible = |(index, row): &(usize, &Row)| *index < ROWS_MAX || row.failed;
    let rows: Vec<&Row> = it
        .rows
        .iter()
        .enumerate()
        .filter(visible)
        .map(|(_, row)| row)
        .collect();
    let shown = Shown::of(rows.iter().map(|row| &row.place));
    let common = match shown.common().as_str() {
        "" => String::new(),
        common => format!(" (all: {common})"),
    };
    let title = format!("{}{common}", summary::figures_title(it));
    let faint = |_: usize, text: &str| style.paint(Ink::Faint, text);
    let grid = grid(&rows, &shown, style.width);
    let mut out = String::from("\n") + &hung(2, &title, style.width);
    out += &grid.render(style.width, &faint, &|_, text| judged(text, style));
    let more = it.rows.len() - rows.len();
    if more > 0 {
        out += &format!("  {} with a smaller effect\n", plural(more, "more figure"));
    }
    out
}

type Layout = (bool, bool);

/// The widest layout that fits; the narrowest, which wraps, where none does.
fn grid(rows: &[&Row], shown: &Shown, columns: usize) -> Grid {
    let layouts: [Layout; 2] = [(true, true), (true, false)];
    let mut wide = layouts
        .into_iter()
        .map(|layout| laid_out(rows, shown, layout));
    wide.find(|grid| grid.fits(columns))
        .unwrap_or_else(|| laid_out(rows, shown, (false, false)))
}

fn laid_out(rows: &[&Row], shown: &Shown, (split, values): Layout) -> Grid {
    let own = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| (*text).to_owned())
            .collect::<Vec<_>>()
    };
    let place = |row: &Row| match split {
        true => shown.cells(&row.place),
        false => vec![shown.place(&row.place)],
    };
    // A metric's name ends in its unit, so that the values need none.
    let medians = |row: &Row| match values {
        true => vec![number(row.a), number(row.b)],
        false => vec![],
    };
    let head = [
        if split { shown.head() } else { own(&["where"]) },
        own(&["metric"]),
        if values { own(&["A", "B"]) } else { vec![] },
        own(&["B ÷ A", "verdict"]),
    ];
    let row = |row: &&Row| {
        let last = [summary::ratio(row), summary::outcome(row)];
        let first = place(row).into_iter().chain([row.metric.clone()]);
        first.chain(medians(row)).chain(last).collect()
    };
    Grid::new(head.concat(), rows.iter().map(row).collect())
}

fn judged(text: &str, style: Style) -> String {
    let ink = match () {
        () if text.starts_with(words::outcome(Outcome::Faster)) => Ink::Good,
        () if text.starts_with(words::outcome(Outcome::Slower)) => Ink::Bad,
        () => Ink::Plain,
    };
    style.paint(ink, text)
}

fn groups(title: &str, groups: Vec<(String, Vec<String>)>, style: Style) -> String {
    if groups.is_empty() {
        return String::new();
    }
    let lines = groups.into_iter().map(|(reason, places)| {
        let more = match places.len().saturating_sub(PLACES_MAX) {
            0 => String::new(),
            more => format!("; {}", plural(more, "more place")),
        };
        let named = places
            .iter()
            .take(PLACES_MAX)
            .cloned()
            .collect::<Vec<_>>()
            .join("; ");
        let first = format!("  {} × ", places.len());
        paragraph(&first, &reason, style.width)
            + &paragraph("    at ", &format!("{named}{more}"), style.width)
    });
    format!(
        "\n{}{}",
        hung(2, title, style.width),
        lines.collect::<String>()
    )
}
