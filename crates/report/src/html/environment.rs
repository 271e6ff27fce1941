//! What the numbers belong to: build, libraries, command, scenario, host.

use trial::{Fact, Group, Run, State};

use super::markup::{Html, command, details, head, paragraph};
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
                Html::tag("summary", [Html::words("h2", "", "Environment")]),
                paragraph(
                    "note",
                    "These numbers hold for this host, build and scenario. The whole run again:",
                ),
                command(&run.command),
                build(run),
                scenario(run),
                Html::words("h3", "", "Host"),
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
    let libraries = run.build.libraries.clone();
    let pairs = own.into_iter().chain(libraries).map(|(name, value)| {
        let pair = [Html::words("dt", "", name), Html::words("dd", "", value)];
        Html::tag("div", pair)
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
    let count = |state| run.probe.facts().filter(|fact| fact.state == state).count();
    let [ok, degraded, absent] = [State::Ok, State::Degraded, State::Absent].map(count);
    let all = plural(run.probe.facts().count(), "fact");
    let words = format!("{all}: {ok} ok, {degraded} degraded, {absent} absent.");
    paragraph("note", &words)
}

fn group(group: &Group) -> Html {
    let heads = ["what", "state", "value"].map(|name| head("", name));
    let facts = group.facts.iter().map(row);
    let title = Html::words("h4", "", &group.title);
    Html::classed("div", "block", [title, grid(&group.title, heads, facts)])
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
            Html::words("td", class, words::state(fact.state)),
            Html::classed(
                "td",
                "value",
                [Html::text(&fact.text), remedy(&fact.remedy)],
            ),
        ],
    )
}
