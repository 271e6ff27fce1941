//! Runs as text, through the report crate.

use report::Style;
use report::compare::RunComparison;
use report::terminal::Saved;
use trial::{Probe, Run};

use crate::console::Console;
use crate::export::Format;

const COLUMNS: usize = 100;

const COLUMNS_MAX: usize = 120;

pub fn style(console: &Console) -> Style {
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    let width = terminal.map_or(COLUMNS, |(width, _)| usize::from(width.0).min(COLUMNS_MAX));
    Style {
        width,
        color: console.color_stdout(),
    }
}

/// The first page, or all, for the terminal; `saved` is where the rest is.
pub fn summary(run: &Run, console: &Console, full: bool, saved: Saved<'_>) -> String {
    match full {
        true => report::terminal::full(run, style(console), saved),
        false => report::terminal::render(run, style(console), saved),
    }
}

pub fn probe(probe: &Probe, console: &Console) -> String {
    report::probe_text::render(probe, style(console))
}

pub fn html(run: &Run) -> String {
    report::html::render(run)
}

pub fn bytes(run: &Run, format: Format) -> Vec<u8> {
    match format {
        Format::Json => report::json::render(run),
        Format::Csv => report::csv::render(run),
        Format::Markdown => report::markdown::render(run),
        Format::Html => html(run),
    }
    .into_bytes()
}

pub fn comparison(comparison: &RunComparison, console: &Console) -> String {
    report::compare::text(comparison, style(console))
}
