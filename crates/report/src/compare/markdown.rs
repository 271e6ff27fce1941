//! A comparison as Markdown.

use super::shown::Shown;
use super::summary;
use super::{Row, RunComparison};
use crate::markup::{code, table, text};
use crate::number::with_unit;

pub fn render(it: &RunComparison) -> String {
    let document = [
        "# Lockgate compares two runs\n\n".to_owned(),
        verdict(it),
        figures(it),
        groups("Left out", &summary::ignored(&it.ignored)),
        groups("Not in both", &summary::missing(&it.missing)),
        format!(
            "## The runs\n\n- A: {}\n- B: {}\n",
            text(&summary::origin(&it.a)),
            text(&summary::origin(&it.b))
        ),
    ];
    document.concat()
}

fn verdict(it: &RunComparison) -> String {
    let mut lines: Vec<String> = summary::assumption(it).iter().map(|it| text(it)).collect();
    lines.push(format!("**{}**", text(&summary::verdict(it))));
    let more = [summary::extremes(it), summary::spreads(it)];
    lines.extend(more.iter().flatten().map(|words| text(words)));
    lines.extend(summary::threshold(it).map(|words| format!("**{}**", text(&words))));
    lines.extend(
        it.warnings
            .iter()
            .map(|warning| format!("Warning: {}", text(warning))),
    );
    lines.extend(summary::chance(it).map(|words| text(&words)));
    lines.iter().map(|line| format!("{line}\n\n")).collect()
}

fn figures(it: &RunComparison) -> String {
    if it.rows.is_empty() {
        return String::new();
    }
    let shown = Shown::of(it.rows.iter().map(|row| &row.place));
    let places = shown.head();
    let head: Vec<String> = places
        .iter()
        .map(|name| text(name))
        .chain(["metric", "A", "B", "B ÷ A", "verdict"].map(str::to_owned))
        .collect();
    let numeric: Vec<bool> = places
        .iter()
        .map(|_| false)
        .chain([false, true, true, true, false])
        .collect();
    let rows: Vec<Vec<String>> = it.rows.iter().map(|row| figure(row, &shown)).collect();
    let common = match shown.common().as_str() {
        "" => String::new(),
        common => format!(" All: {}.", text(common)),
    };
    let table = table(&head, &numeric, &rows);
    let title = summary::figures_title(it);
    format!("## Figures\n\n{title}.{common}\n\n{table}")
}

fn figure(row: &Row, shown: &Shown) -> Vec<String> {
    let places = shown.cells(&row.place);
    let last = [
        code(&row.metric),
        text(&with_unit(row.a, &row.unit)),
        text(&with_unit(row.b, &row.unit)),
        text(&summary::ratio(row)),
        summary::outcome(row),
    ];
    places.iter().map(|cell| text(cell)).chain(last).collect()
}

fn groups(title: &str, groups: &[(String, Vec<String>)]) -> String {
    if groups.is_empty() {
        return String::new();
    }
    let item = |(reason, places): &(String, Vec<String>)| {
        format!(
            "- {} × {}: {}\n",
            places.len(),
            text(reason),
            text(&places.join("; "))
        )
    };
    format!(
        "## {title}\n\n{}\n",
        groups.iter().map(item).collect::<String>()
    )
}
