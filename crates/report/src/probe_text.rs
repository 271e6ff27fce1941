//! `lockgate probe` for the terminal.

use sys::plain::one_line;
use trial::{Fact, Group, Probe, State};

use crate::style::{Ink, Style};
use crate::words;
use crate::wrap::{paragraph, width};

/// Labels longer than this do not push the other facts to the right.
const LABEL_COLUMNS_MAX: usize = 24;

const STATE_COLUMNS: usize = 8;

/// The facts by group, each with its state in words, and a remedy beneath those that
/// are not `ok`.
pub fn render(probe: &Probe, style: Style) -> String {
    let widest = probe
        .facts()
        .map(|fact| width(&one_line(&fact.label)))
        .max();
    let columns = widest.unwrap_or(0).min(LABEL_COLUMNS_MAX);
    let groups = probe.groups.iter();
    let groups: String = groups.map(|it| render_group(it, columns, style)).collect();
    let count = |state| probe.facts().filter(|fact| fact.state == state).count();
    let [ok, degraded, absent] = [State::Ok, State::Degraded, State::Absent].map(count);
    format!("{groups}{ok} ok, {degraded} degraded, {absent} absent\n")
}

fn render_group(group: &Group, columns: usize, style: Style) -> String {
    let title = style.paint(Ink::Strong, &paragraph("", &group.title, style.width));
    let facts = group.facts.iter();
    let facts: String = facts.map(|it| render_fact(it, columns, style)).collect();
    format!("{title}{facts}\n")
}

fn render_fact(fact: &Fact, columns: usize, style: Style) -> String {
    let state = words::state(fact.state);
    let label = one_line(&fact.label);
    let indent = 2 + STATE_COLUMNS + 2 + columns + 2;
    let first = format!("  {state:STATE_COLUMNS$}  {label:columns$}  ");
    // A label that is too long keeps its line; its text hangs where all do.
    let mut text = match width(&first) > indent {
        true => {
            let text = paragraph(&" ".repeat(indent), &fact.text, style.width);
            format!("{}\n{text}", first.trim_end())
        }
        false => paragraph(&first, &fact.text, style.width),
    };
    if style.color {
        text = text.replacen(state, &style.paint(ink(fact.state), state), 1);
    }
    match fact.remedy.trim() {
        "" => text,
        remedy => text + &paragraph(&format!("{}→ ", " ".repeat(indent)), remedy, style.width),
    }
}

fn ink(state: State) -> Ink {
    match state {
        State::Ok => Ink::Good,
        State::Degraded => Ink::Doubtful,
        State::Absent => Ink::Faint,
    }
}
