//! The table "What this host can do".

use kit::drawing::{column, number, text};
use trial::{Cell, Fact, Group, Probe, State, Table};

use super::findings::matters;

/// The command behind the table.
pub(super) fn command() -> String {
    format!("{} probe", probe::tier::program())
}

/// One row a group: how many capabilities are ok, degraded and absent, and
/// the one to look at first.
pub(super) fn table(probe: &Probe) -> Table {
    let columns = ["Capabilities", "ok", "degraded", "absent", "Look at first"];
    Table {
        title: "What this host can do".to_owned(),
        note: "`lockgate probe` lists every capability with its remedy.".to_owned(),
        columns: columns.map(|label| column(label, "")).into(),
        rows: probe.groups.iter().map(row).collect(),
        command: command(),
    }
}

fn row(group: &Group) -> Vec<Cell> {
    let count = |state: State| {
        let all = group.facts.iter().filter(|fact| fact.state == state);
        number(Some(all.count() as f64))
    };
    vec![
        text(group.title.as_str()),
        count(State::Ok),
        count(State::Degraded),
        count(State::Absent),
        text(first(group)),
    ]
}

/// What bears on crypto, else what is degraded; absent things alone are no
/// cause to act, but a group of nothing else deserves its reason.
fn first(group: &Group) -> String {
    let is = |state: State| move |fact: &&Fact| fact.state == state;
    let cause = group.facts.iter().find(|fact| matters(fact));
    let cause = cause.or(group.facts.iter().find(is(State::Degraded)));
    let cause = match group.facts.iter().any(|fact| fact.state == State::Ok) {
        true => cause,
        false => cause.or(group.facts.iter().find(is(State::Absent))),
    };
    cause.map_or("nothing degraded".to_owned(), |fact| {
        format!("{}: {}", fact.label, fact.text)
    })
}
