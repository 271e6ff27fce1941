//! Tables as the section gave them.

use trial::{Cell, Column, Table};

use super::markup::{Html, command, one_line, paragraph};
use crate::words;

pub(super) fn render(table: &Table) -> Html {
    let numeric: Vec<bool> = (0..table.columns.len())
        .map(|index| is_numeric(table, index))
        .collect();
    let class = |index: usize| {
        if numeric.get(index) == Some(&true) {
            "number"
        } else {
            ""
        }
    };
    let head = table.columns.iter().enumerate().map(|(index, column)| {
        Html::element(
            "th",
            &[("scope", "col"), ("class", class(index))],
            [Html::text(words::heading(column))],
        )
    });
    let rows = table.rows.iter().map(|row| {
        let cells = row.iter().enumerate();
        Html::tag(
            "tr",
            cells.map(|(index, cell)| {
                Html::classed(
                    "td",
                    class(index),
                    [content(cell, table.columns.get(index))],
                )
            }),
        )
    });
    Html::classed(
        "div",
        "block",
        [
            Html::tag("h3", [Html::text(&table.title)]),
            paragraph("note", &table.note),
            grid(&table.title, Html::tag("tr", head), rows),
            command(&table.command),
        ],
    )
}

/// Head and rows in a box that scrolls instead of the page; `name` is what a screen
/// reader calls the box.
pub(super) fn grid(name: &str, head: Html, rows: impl IntoIterator<Item = Html>) -> Html {
    let table = Html::tag(
        "table",
        [Html::tag("thead", [head]), Html::tag("tbody", rows)],
    );
    let name = one_line(name);
    let box_attributes = [
        ("class", "scroll"),
        ("tabindex", "0"),
        ("role", "region"),
        ("aria-label", &name),
    ];
    Html::element("div", &box_attributes, [table])
}

fn content(cell: &Cell, column: Option<&Column>) -> Html {
    match cell {
        Cell::Empty => Html::text("–"),
        cell => Html::text(words::cell(cell, column)),
    }
}

fn is_numeric(table: &Table, index: usize) -> bool {
    let cells = || table.rows.iter().filter_map(|row| row.get(index));
    cells().any(|cell| matches!(cell, Cell::Number(_)))
        && !cells().any(|cell| matches!(cell, Cell::Text(_)))
}
