//! What the numbers belong to: build, libraries, command, scenario, host.

use trial::{Fact, Group, Run, State};

use super::markup::{Html, command, details, paragraph};
use super::section::remedy;
use super::tables::grid;
use crate::words::{self, plural};

pub(super) fn render(run: &Run) -> Html {
    Html::element(
        "section",
        &[("id", "environment")],
        [Html::tag(
            "details",
            [
                Html::tag("summary", [Html::tag("h2", [Html::text("Environment")])]),
                paragraph(
                    "note",
                    "These numbers hold for this host, build and scenario. The whole run again:",
                ),
                command(&run.command),
                build(run),
                scenario(run),
                Html::tag("h3", [Html::text("Host")]),
                wanting(run),
                Html::classed("div", "groups", run.probe.groups.iter().map(group)),
            ],
        )],
    )
}

fn build(run: &Run) -> Html {
    let own = [
        ("Lockgate".to_owned(), run.build.version.clone()),
        ("git revision".to_owned(), run.build.git_revision.clone()),
        ("schema".to_owned(), run.schema.to_string()),
        ("seed".to_owned(), run.seed.to_string()),
        ("started".to_owned(), run.started_utc.clone()),
        ("host".to_owned(), run.host.clone()),
    ];
    let libraries = run
        .build
        .libraries
        .iter()
        .map(|(name, version)| (name.clone(), version.clone()));
    let pairs = own.into_iter().chain(libraries).map(|(name, value)| {
        Html::tag(
            "div",
            [
                Html::tag("dt", [Html::text(name)]),
                Html::tag("dd", [Html::text(value)]),
            ],
        )
    });
    Html::classed("dl", "build", pairs)
}

fn scenario(run: &Run) -> Html {
    // A value in memory always has a JSON form.
    let text = serde_json::to_string_pretty(&run.scenario).unwrap_or_default();
    let pre = Html::element(
        "pre",
        &[("class", "scroll"), ("tabindex", "0")],
        [Html::text(text)],
    );
    details("Scenario as resolved, every default written out", [pre])
}

/// How many capabilities are not `ok`, before the long tables.
fn wanting(run: &Run) -> Html {
    let count = |state| {
        let facts = run.probe.groups.iter().flat_map(|group| &group.facts);
        facts.filter(|fact| fact.state == state).count()
    };
    let words = format!(
        "{}: {} ok, {} degraded, {} absent.",
        plural(
            run.probe.groups.iter().map(|group| group.facts.len()).sum(),
            "fact"
        ),
        count(State::Ok),
        count(State::Degraded),
        count(State::Absent),
    );
    paragraph("note", &words)
}

fn group(group: &Group) -> Html {
    let head = ["what", "state", "value"]
        .map(|name| Html::element("th", &[("scope", "col")], [Html::text(name)]));
    Html::classed(
        "div",
        "block",
        [
            Html::tag("h4", [Html::text(&group.title)]),
            grid(
                &group.title,
                Html::tag("tr", head),
                group.facts.iter().map(row),
            ),
        ],
    )
}

fn row(fact: &Fact) -> Html {
    let class = match fact.state {
        State::Ok => "good",
        State::Degraded => "open",
        State::Absent => "bad",
    };
    Html::tag(
        "tr",
        [
            Html::element("td", &[("title", &fact.key)], [Html::text(&fact.label)]),
            Html::classed("td", class, [Html::text(words::state(fact.state))]),
            Html::classed(
                "td",
                "value",
                [Html::text(&fact.text), remedy(&fact.remedy)],
            ),
        ],
    )
}
