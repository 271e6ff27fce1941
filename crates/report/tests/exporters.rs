//! Every exporter over the made-up run, as it was reviewed.

use crate::common::{COMMAND, sample_probe, sample_run};
use lockgate_report::terminal::Saved;
use lockgate_report::{Style, compare, csv, html, json, markdown, probe_text, terminal};
use trial::{Probe, Run};

fn wide(width: usize) -> Style {
    let color = false;
    Style { width, color }
}

/// Neither probe nor sections: what an interrupt in the first second leaves.
fn empty_run() -> Run {
    Run {
        sections: vec![],
        probe: Probe::default(),
        interrupted: true,
        ..sample_run()
    }
}

#[test]
fn each_form_is_as_it_was_reviewed() {
    let saved = Saved {
        run: "lockgate-runs/latest",
        report: "lockgate-runs/latest/report.html",
    };
    let (run, empty, none) = (sample_run(), empty_run(), Saved::default());
    let usual = Style::default();
    for (name, text) in [
        ("terminal_summary", terminal::render(&run, wide(100), saved)),
        ("terminal_in_full", terminal::full(&run, wide(100), none)),
        (
            "terminal_summary_in_fifty_columns",
            terminal::render(&run, wide(50), none),
        ),
        (
            "terminal_summary_of_nothing",
            terminal::render(&empty, usual, none),
        ),
        ("csv_document", csv::render(&run)),
        ("markdown_document", markdown::render(&run)),
        ("markdown_document_of_nothing", markdown::render(&empty)),
        ("probe_summary", probe_text::render(&sample_probe(), usual)),
    ] {
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn the_first_page_is_never_longer() {
    let mut run = sample_run();
    let section = run.sections[0].clone();
    run.sections.extend(vec![section; 9]);
    for (index, section) in run.sections.iter_mut().enumerate() {
        section.prices = vec![section.prices.clone(); 20].concat();
        for (at, it) in section.comparisons.iter_mut().enumerate() {
            it.change = format!("Change number {index}.{at}");
            (it.low, it.ratio, it.high) = (1.2, 1.3, 1.4);
        }
    }
    run.interrupted = true;
    for width in [50, 80, 120] {
        let text = terminal::render(&run, wide(width), Saved::default());
        assert!(text.lines().count() <= 40, "{text}");
        assert!(text.contains("more prices in full"), "{text}");
        assert!(text.contains("\n5. ") && !text.contains("\n6. "), "{text}");
    }
    run.sections.truncate(1);
    run.sections[0].prices.truncate(2);
    let one = terminal::render(&run, Style::default(), Saved::default());
    assert!(
        one.contains("Speed by block size") && one.lines().count() <= 40,
        "{one}"
    );
}

/// The form itself is the schema's, which `trial` holds its types to.
#[test]
fn json_reads_back() {
    let text = json::render(&sample_run());
    assert_eq!(Run::read(&text).expect("a run's JSON"), sample_run());
    assert!(text.starts_with("{\n  \"schema\": 1,\n") && text.ends_with("\n}\n"));
}

#[test]
fn probe_document() {
    let read = serde_json::from_str::<Probe>(&json::probe(&sample_probe()));
    assert_eq!(read.expect("it was just written"), sample_probe());
}

#[test]
fn colour_adds_nothing_but_colour() {
    let color = Style {
        color: true,
        ..Style::default()
    };
    for (plain, colored) in [
        (
            terminal::render(&sample_run(), Style::default(), Saved::default()),
            terminal::render(&sample_run(), color, Saved::default()),
        ),
        (
            probe_text::render(&sample_probe(), Style::default()),
            probe_text::render(&sample_probe(), color),
        ),
    ] {
        assert_ne!(colored, plain);
        assert_eq!(without_color(&colored), plain);
    }
}

fn without_color(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| {
        part.split_once('m')
            .expect("only colours are escape sequences")
            .1
    });
    first + &rest.collect::<String>()
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [50, 72, 80, 100, 132] {
        let style = wide(width);
        let texts = [
            terminal::render(&sample_run(), style, Saved::default()),
            terminal::full(&sample_run(), style, Saved::default()),
            probe_text::render(&sample_probe(), style),
        ];
        for line in texts.iter().flat_map(|text| text.lines()) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn escape_sequences_in_a_result_never_reach_the_terminal() {
    let mut run = sample_run();
    run.host = "evil\u{1b}]0;title\u{7}".into();
    run.sections[0].title = "\u{1b}[2J".into();
    run.sections[0].findings[0].text = "\u{9b}31m\u{202e}".into();
    run.sections[0].tables[0].columns[0].label = "\u{1b}c".into();
    run.sections[0].comparisons[0].arm = "\u{1b}[1m".into();
    run.sections[0].points[0].verdict.reason = "\u{1b}[5m".into();
    run.probe.groups[0].facts[0].label = "\u{1b}[5m".into();
    let texts = [
        terminal::render(
            &run,
            Style::default(),
            Saved {
                run: "\u{1b}[5m",
                report: "\u{1b}[5m",
            },
        ),
        probe_text::render(&run.probe, Style::default()),
        markdown::render(&run),
    ];
    for text in texts {
        is_shown("text", &text);
    }
}

fn is_shown(what: &str, text: &str) {
    let is_hidden = |letter: &char| !sys::plain::is_shown(*letter) && *letter != '\n';
    let hidden: Vec<char> = text.chars().filter(is_hidden).collect();
    assert!(hidden.is_empty(), "{what}: {hidden:?}");
}

/// Every text of a run is hostile: no exporter lets through what steers a terminal, or
/// reorders or hides what stands around it; and every cell is a formula.
#[test]
fn nothing_hidden_leaves_by_any_exporter() {
    let hostile = "=1\u{1b}[2J\u{9b}\u{202e}\u{2066}\u{200e}\u{61c}\u{200b}\u{2028}\u{ad}\u{feff}\u{e0041}\u{fe0f}\u{7f}\r";
    let run = crate::html::poison(&sample_run(), hostile);
    let saved = || Saved {
        run: hostile,
        report: hostile,
    };
    let coloured = Style {
        color: true,
        ..Style::default()
    };
    is_shown("page", &terminal::render(&run, Style::default(), saved()));
    is_shown("full", &terminal::full(&run, Style::default(), saved()));
    is_shown("probe", &probe_text::render(&run.probe, Style::default()));
    is_shown("markdown", &markdown::render(&run));
    is_shown("csv", &csv::render(&run));
    is_shown("html", &html::render(&run));
    let text = terminal::full(&run, coloured, saved());
    assert_eq!(sys::plain::coloured(&text), text);
    let mut other = run.clone();
    other.sections[0].points[0].metrics[0].value += 1.0;
    let options = compare::Options {
        fail_below: None,
        seed: 1,
    };
    let compared = compare::compare(&run, &other, &[], options);
    let compared = compared.unwrap();
    is_shown("comparison", &compare::text(&compared, Style::default()));
    is_shown("its markdown", &compare::markdown(&compared));
    is_shown("its JSON", &compared.json());
    let json = json::render(&run);
    is_shown("json", &json);
    let read: trial::Run = serde_json::from_str(&json).unwrap();
    assert_eq!(read, run, "escapes say the same");
    for cell in csv_rows(&csv::render(&run)).iter().flatten() {
        assert!(!cell.starts_with('='), "{cell:?}");
    }
}

#[test]
fn csv_rows_are_as_long_as_their_head() {
    let text = csv::render(&sample_run());
    let rows = csv_rows(&text);
    let head = &rows[0];
    assert!(rows.iter().all(|row| row.len() == head.len()));
    // Fifteen points, of which one has no metrics and the others four, and one more.
    assert_eq!(rows.len(), 1 + 14 * 4 + 1 + 4);
    assert!(
        rows.iter()
            .any(|row| row.contains(&"the back-end has no batch of\nthat size".to_owned()))
    );
}

/// A reader by RFC 4180, written for this test.
fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (vec![], vec![], String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            _ => cell.push(letter),
        }
    }
    assert!(
        row.is_empty() && cell.is_empty() && !quoted,
        "the last line ends"
    );
    rows
}

#[test]
fn what_figures_share_is_said_once() {
    let mut run = sample_run();
    let section = &mut run.sections[0];
    section.charts[0].note = "In rounds. Whiskers: the interval.".to_owned();
    let mut other = section.tables[0].clone();
    section.tables[0].note = "In rounds.".to_owned();
    other.note = "In rounds.".to_owned();
    other.command = "lockgate speed --another".to_owned();
    section.tables.push(other);
    // A terminal shows no notes of charts.
    for text in [
        html::render(&run),
        markdown::render(&run),
        terminal::full(&run, wide(200), Saved::default()),
    ] {
        assert_eq!(text.matches("In rounds").count(), 1, "{text}");
    }
    // At the section's head, and beside the points' own.
    let report = html::render(&run);
    let commands = |line: &str| report.matches(&format!(">{line}</code></p>")).count();
    assert_eq!(commands(COMMAND), 1);
    assert_eq!(commands("lockgate speed --another"), 1);
}
