//! A run as Markdown: the first page, then each section with the command behind
//! every figure, then the environment.

use trial::{
    Cell, Chart, Comparison, Fact, Finding, Group, Point, Price, Run, SectionResult, Table, Weight,
};

use crate::markup::{block, code, command, table, text};
use crate::number::number;
use crate::page::{self, Change, Page};
use crate::words::{self, plural};

pub fn render(run: &Run) -> String {
    let sections: String = run.sections.iter().map(section).collect();
    let document = [title(run), first(run), sections, environment(run)].concat();
    document.trim_end().to_owned() + "\n"
}

fn title(run: &Run) -> String {
    let when = format!("{}, {} s", text(&run.started_utc), number(run.seconds));
    let tier = words::tier(run).map_or_else(String::new, |tier| {
        format!(", measured as tier {}", text(tier))
    });
    let interrupted = if run.interrupted {
        " The run was interrupted: what is here is sound, but not all."
    } else {
        ""
    };
    format!(
        "# Lockgate on {}\n\n{when}{tier}.{interrupted}\n\n",
        text(&run.host)
    )
}

fn first(run: &Run) -> String {
    let page = Page::of(run);
    let limits = page.limits.iter().map(|it| format!("- {}\n", text(it)));
    let limits = match limits.collect::<String>().as_str() {
        "" => String::new(),
        items => format!("What limits trust:\n\n{items}\n"),
    };
    let verdict = format!("**{}**\n\n", text(&page.verdict.text));
    let (prices, changes) = (prices(&page), changes(&page));
    [verdict, prices, changes, limits, unmeasured(run)].concat()
}

fn prices(page: &Page<'_>) -> String {
    if page.prices.is_empty() {
        return String::new();
    }
    let row = |it: &&Price| {
        vec![
            text(&it.crossing),
            page::time(it.ns),
            page::span(it),
            number(it.rounds as f64),
        ]
    };
    let head = ["crossing", "median", "interval", "rounds"].map(str::to_owned);
    let rows: Vec<_> = page.prices.iter().map(row).collect();
    let table = table(&head, &[false, true, true, true], &rows);
    format!("## What a crossing costs here\n\n{table}\n")
}

fn changes(page: &Page<'_>) -> String {
    if page.changes.is_empty() {
        return String::new();
    }
    let row = |it: &Change<'_>| {
        let [gain, low, high] = [it.gain, it.low, it.high].map(words::ratio);
        vec![
            text(it.text),
            format!("{gain}×"),
            format!("{low} to {high}"),
            text(&it.at()),
        ]
    };
    let head = ["change", "gain", "interval", "where"].map(str::to_owned);
    let rows: Vec<_> = page.changes.iter().map(row).collect();
    let table = table(&head, &[false, true, true, false], &rows);
    format!("## What to change first\n\n{table}\n")
}

fn finding(finding: &Finding) -> String {
    let remedy = remedy(&finding.remedy);
    match finding.weight {
        Weight::Headline => format!("**{}**{remedy}\n\n", text(&finding.text)),
        weight => {
            let lead = words::weight(weight);
            format!("{lead}: {}{remedy}\n\n", text(&finding.text))
        }
    }
}

fn remedy(words: &str) -> String {
    match words.trim() {
        "" => String::new(),
        words => format!(" → {}", text(words)),
    }
}

fn unmeasured(run: &Run) -> String {
    let open = run.sections.iter().filter_map(|section| {
        let (how, reason, cure) = words::ending(&section.state)?;
        Some(format!(
            "- {} ({how}): {}{}\n",
            text(&section.title),
            text(reason),
            remedy(cure)
        ))
    });
    match open.collect::<String>().as_str() {
        "" => String::new(),
        items => format!("Not measured, or not whole:\n\n{items}\n"),
    }
}

fn section(section: &SectionResult) -> String {
    let section = &words::said_once(section);
    let charts: String = section.charts.iter().map(chart).collect();
    let tables: String = section.tables.iter().map(data_table).collect();
    let title = format!("## {}\n\n{}", text(&section.title), ending(section));
    [
        title,
        command(&section.command),
        section.findings.iter().map(finding).collect(),
        charts,
        comparisons(&section.comparisons),
        tables,
        invalid(&section.points),
    ]
    .concat()
}

/// What the section took or why it is not whole, before the command.
fn ending(section: &SectionResult) -> String {
    let took = match section.seconds > 0.0 {
        true => format!("Took {} s. ", number(section.seconds)),
        false => String::new(),
    };
    let whole = match words::ending(&section.state) {
        Some((how, reason, cure)) => format!("Section {how}: {}{}. ", text(reason), remedy(cure)),
        None => String::new(),
    };
    format!("{whole}{took}Again:\n\n")
}

fn chart(chart: &Chart) -> String {
    let (head, rows) = words::chart_rows(chart);
    let mut numeric = vec![true; head.len()];
    numeric[0] = chart.places.is_empty();
    let escape = |cells: Vec<String>| cells.iter().map(|cell| text(cell)).collect::<Vec<_>>();
    let note = match (chart.note.trim(), chart.dots().any(|dot| !dot.valid)) {
        (note, false) => text(note),
        ("", true) => "In brackets: not valid.".to_owned(),
        (note, true) => format!(
            "{}. In brackets: not valid.",
            text(note.trim_end_matches('.'))
        ),
    };
    let rows: Vec<_> = rows.into_iter().map(escape).collect();
    let figure = table(&escape(head), &numeric, &rows);
    block_of(&chart.title, &note, &figure, &chart.command)
}

fn data_table(it: &Table) -> String {
    let head: Vec<String> = it
        .columns
        .iter()
        .map(|it| text(&words::heading(&it.label, &it.unit)))
        .collect();
    let is_numeric = |column| {
        let mut cells = it.rows.iter().map(|row| row.get(column));
        cells.any(|cell| matches!(cell, Some(Cell::Number(_))))
    };
    let numeric: Vec<bool> = (0..head.len()).map(is_numeric).collect();
    let write = |row: &Vec<Cell>| {
        let cells = row.iter().enumerate();
        cells
            .map(|(column, cell)| text(&words::cell(cell, it.columns.get(column))))
            .collect()
    };
    let rows: Vec<Vec<String>> = it.rows.iter().map(write).collect();
    let figure = table(&head, &numeric, &rows);
    block_of(&it.title, &text(&it.note), &figure, &it.command)
}

fn block_of(title: &str, note: &str, figure: &str, behind: &str) -> String {
    let note = match note {
        "" => String::new(),
        note => format!("{note}\n\n"),
    };
    format!("### {}\n\n{note}{figure}{}", text(title), command(behind))
}

fn comparisons(all: &[Comparison]) -> String {
    let hidden = page::unshown(all).map(|it| text(&it) + "\n\n");
    let hidden = hidden.unwrap_or_default();
    let comparisons: Vec<_> = all.iter().filter(|it| page::is_shown(it)).collect();
    if comparisons.is_empty() {
        return hidden;
    }
    let head = [
        "What",
        "Arm ÷ reference",
        "Metric",
        "Ratio",
        "Interval of 95% or more",
        "Verdict",
        "Target",
        "Pairs",
    ]
    .map(str::to_owned);
    let rows: Vec<Vec<String>> = comparisons.iter().map(|it| comparison(it)).collect();
    let numeric = [false, false, false, true, true, false, false, true];
    let mut commands: Vec<&str> = comparisons.iter().map(|it| it.command.as_str()).collect();
    commands.dedup();
    let commands: String = commands.into_iter().map(command).collect();
    format!(
        "### Ratios of interleaved pairs\n\n{}{hidden}{commands}",
        table(&head, &numeric, &rows)
    )
}

fn comparison(it: &Comparison) -> Vec<String> {
    vec![
        text(&it.subject),
        format!("{} ÷ {}", text(&it.arm), text(&it.reference)),
        code(&it.metric),
        number(it.ratio),
        format!("{} to {}", number(it.low), number(it.high)),
        words::outcome(it.outcome).to_owned(),
        words::target(it),
        number(it.pairs.len() as f64),
    ]
}

/// The points that do not count, each with its reason and its command.
fn invalid(points: &[Point]) -> String {
    let invalid = points.iter().filter(|point| !point.verdict.is_valid());
    let invalid: Vec<&Point> = invalid.collect();
    if points.is_empty() {
        return String::new();
    }
    if invalid.is_empty() {
        return format!("{}, all valid.\n\n", plural(points.len(), "point"));
    }
    let head = ["Point", "Verdict", "Reason", "Remedy", "Command"].map(str::to_owned);
    let rows: Vec<Vec<String>> = invalid
        .iter()
        .map(|point| {
            let verdict = &point.verdict;
            vec![
                text(&words::place(point)),
                verdict.validity.name().to_owned(),
                text(&verdict.reason),
                text(&verdict.remedy),
                code(&point.command),
            ]
        })
        .collect();
    let words = words::invalid(invalid.len(), points.len());
    format!("### Validity\n\n{words}\n\n{}", table(&head, &[], &rows))
}

fn environment(run: &Run) -> String {
    let libraries = run.build.libraries.iter();
    let libraries = libraries.map(|(name, version)| format!(", {} {}", text(name), text(version)));
    let libraries: String = libraries.collect();
    let build = format!(
        "Lockgate {} ({}){libraries}. Seed {}. The run:\n\n",
        text(&run.build.version),
        text(&run.build.git_revision),
        run.seed
    );
    let groups: String = run.probe.groups.iter().map(group).collect();
    let scenario = format!(
        "### Scenario as resolved\n\n{}",
        block("json", &crate::json::pretty(&run.scenario))
    );
    [
        "## Environment\n\n".to_owned(),
        build,
        command(&run.command),
        groups,
        scenario,
    ]
    .concat()
}

fn group(group: &Group) -> String {
    let head = ["Fact", "State", "Value", "Remedy"].map(str::to_owned);
    let row = |fact: &Fact| {
        vec![
            text(&fact.label),
            words::state(fact.state).to_owned(),
            text(&fact.text),
            text(&fact.remedy),
        ]
    };
    let rows: Vec<_> = group.facts.iter().map(row).collect();
    format!("### {}\n\n{}", text(&group.title), table(&head, &[], &rows))
}
