//! Tables as the section gave them.

use sys::plain::one_line;
use trial::{Cell, Table};

use super::markup::{Html, command, head, paragraph};
use crate::words;

pub(super) fn render(table: &Table) -> Html {
    let numeric: Vec<bool> = (0..table.columns.len())
        .map(|index| is_numeric(table, index))
        .collect();
    let class = |index: usize| match numeric.get(index) {
        Some(true) => "number",
        _ => "",
    };
    let columns = table.columns.iter().enumerate();
    let heads = columns.map(|(index, it)| head(class(index), words::heading(&it.label, &it.unit)));
    let rows = table.rows.iter().map(|row| {
        let cells = row.iter().enumerate();
        let cells = cells.map(|(index, cell)| {
            let text = match cell {
                Cell::Empty => "–".to_owned(),
                cell => words::cell(cell, table.columns.get(index)),
            };
            Html::words("td", class(index), text)
        });
        Html::tag("tr", cells)
    });
    Html::classed(
        "div",
        "block",
        [
            Html::words("h3", "", &table.title),
            paragraph("note", &table.note),
            grid(&table.title, heads, rows),
            command(&table.command),
        ],
    )
}

/// Heads and rows in a box that scrolls instead of the page; `name` is what a screen
/// reader calls the box.
pub(super) fn grid(
    name: &str,
    heads: impl IntoIterator<Item = Html>,
    rows: impl IntoIterator<Item = Html>,
) -> Html {
    let head = Html::tag("thead", [Html::tag("tr", heads)]);
    let table = Html::tag("table", [head, Html::tag("tbody", rows)]);
    let name = one_line(name);
    let box_attributes = [
        ("class", "scroll"),
        ("tabindex", "0"),
        ("role", "region"),
        ("aria-label", &name),
    ];
    Html::element("div", &box_attributes, [table])
}

fn is_numeric(table: &Table, index: usize) -> bool {
    let cells = || table.rows.iter().filter_map(|row| row.get(index));
    cells().any(|cell| matches!(cell, Cell::Number(_)))
        && !cells().any(|cell| matches!(cell, Cell::Text(_)))
}
