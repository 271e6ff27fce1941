//! The section without a host: paths of known speed.

use trial::{Cell, Comparison, Event, Outcome, Weight};

use crate::router::paths::config::{Config, Table};
use kit::routers::end::End;
use kit::routers::testing::{Collector, Fake, headline, in_rounds};

fn config(text: &str) -> Config {
    let table = kit::config::from_table::<Table>(text.parse().expect("toml"));
    Config::try_from(table.expect("a table")).expect("a configuration")
}

fn run(text: &str, host: &Fake, pairs: usize) -> Vec<Event> {
    let config = config(text);
    let mut sink = Collector::default();
    let end = in_rounds(&config, host, (0.2, pairs), &mut sink);
    assert!(matches!(end, End::Complete), "{end:?}");
    sink.events
}

fn comparisons(events: &[Event]) -> Vec<&Comparison> {
    (events.iter())
        .filter_map(|event| match event {
            Event::Comparison(comparison) => Some(comparison),
            _ => None,
        })
        .collect()
}

fn texts(events: &[Event], weight: Weight) -> String {
    let text = |event: &Event| match event {
        Event::Finding(finding) if finding.weight == weight => {
            Some(format!("{} {}", finding.text, finding.remedy))
        }
        _ => None,
    };
    events
        .iter()
        .filter_map(text)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn targets_are_held_against_lower_bounds() {
    let events = run("", &Fake::default(), 9);
    let all = comparisons(&events);
    let held: Vec<_> = all.iter().filter(|one| one.target.is_some()).collect();
    // Cached at 1, 256 and 65,536, devmap, batch 32, testpmd.
    assert_eq!(held.len(), 6, "{held:#?}");
    for one in held {
        let target = one.target.expect("it has one");
        assert!(target.met, "{one:?}");
        assert_eq!(one.pairs.len(), 9);
    }
    let first = &headline(&events).text;
    for part in ["FIB cache", "0.94×", "Of 6 targets 6 are met"] {
        assert!(first.contains(part), "{first}");
    }
    let advice = texts(&events, Weight::Advice);
    assert!(
        advice.contains("Batching: AF_XDP polled, batch 32"),
        "{advice}"
    );
    assert!(advice.contains("Polling"), "{advice}");
    let notes = texts(&events, Weight::Note);
    for part in [
        "All 6 targets",
        "one CPU",
        "testpmd",
        "65536 destinations",
        "100000 routes",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    let columns = events.iter().filter_map(|event| match event {
        Event::Table(table) => Some(table),
        _ => None,
    });
    for table in columns {
        assert!(
            table
                .rows
                .iter()
                .all(|row| row.len() == table.columns.len())
        );
    }
}

#[test]
fn a_row_has_the_ratio_of_its_own_table_of_routes() {
    let events = run(
        "paths = ['kernel', 'xdp-fib-cached']\ndestinations = [256]",
        &Fake::default(),
        9,
    );
    let rates = events.iter().find_map(|event| match event {
        Event::Table(table) if table.title == "What each path carries" => Some(table),
        _ => None,
    });
    let rows = &rates.expect("it is drawn").rows;
    let over = |routes: f64| {
        let row = rows.iter().find(|row| {
            row[0] == Cell::Text("XDP with a FIB cache".to_owned())
                && row[2] == Cell::Number(routes)
        });
        match &row.expect("it was measured")[4] {
            Cell::Text(words) => words.split('×').next().and_then(|one| one.parse().ok()),
            _ => None,
        }
    };
    // That router is as fast with any table, the kernel half as fast with a large one.
    let near = |found: Option<f64>, expected: f64| {
        let found = found.expect("both were measured");
        assert!(
            (found / expected - 1.0).abs() < 0.05,
            "{found} instead of {expected}"
        );
    };
    near(over(1000.0), 3.0);
    near(over(100_000.0), 6.0);
}
#[test]
fn five_pairs_meet_no_target() {
    let events = run(
        "paths = ['kernel', 'xdp-devmap']\nroutes = []",
        &Fake::default(),
        5,
    );
    let held = comparisons(&events);
    assert!(
        held.iter()
            .all(|one| one.target.is_none_or(|target| !target.met))
    );
    let warnings = texts(&events, Weight::Warning);
    assert!(warnings.contains("0 of 1 targets"), "{warnings}");
    assert!(headline(&events).text.contains("Of one target none is met"));
}

#[test]
fn what_is_missing_or_noisy_claims_nothing() {
    let host = Fake {
        missing: vec!["testpmd"],
        noisy: vec!["xdp-devmap"],
        ..Fake::default()
    };
    let events = run("destinations = [1]\nroutes = []", &host, 9);
    for one in comparisons(&events) {
        let names = format!("{} {}", one.arm, one.reference);
        assert!(!names.contains("testpmd"), "{names}");
        if names.contains("devmap") {
            assert_eq!((one.outcome, one.target), (Outcome::NoEvidence, None));
        }
    }
    let warnings = texts(&events, Weight::Warning);
    assert!(warnings.contains("install testpmd"), "{warnings}");
    // What is asked of devmap and beside testpmd is open all the same.
    assert!(
        warnings.contains("2 of 4 targets of the paths are met"),
        "{warnings}"
    );
    for part in ["at least 2.80× wanted", "at least 1.10× wanted"] {
        assert!(warnings.contains(part), "{warnings}");
    }
    let first = &headline(&events).text;
    assert!(first.contains("14 of 16 results are valid"), "{first}");
    assert!(warnings.contains("a pause of 20 ms"), "{warnings}");
    let points = events.iter().filter_map(|event| match event {
        Event::Point(point) => Some(point),
        _ => None,
    });
    let missing = points.filter(|point| point.metrics.is_empty());
    assert!(missing.count() >= 1, "a point without figures says why");
}

#[test]
fn a_verdict_comes_first_whatever_was_measured() {
    let without_kernel = run("paths = ['xdp-fib']\nroutes = []", &Fake::default(), 9);
    let first = &headline(&without_kernel).text;
    assert!(
        first.contains("highest is that of XDP with bpf_fib_lookup"),
        "{first}"
    );
    assert!(first.contains("no rate of kernel routing"), "{first}");
    let noisy = Fake {
        noisy: vec!["kernel", "xdp-fib-cached"],
        ..Fake::default()
    };
    let paths = "paths = ['kernel', 'xdp-fib-cached']\nroutes = []";
    let open = run(paths, &noisy, 9);
    let open = headline(&open);
    assert!(
        open.text.contains("noisy: 9 of 9 rounds: a pause"),
        "{}",
        open.text
    );
    assert!(open.text.contains("targets"), "{}", open.text);
    assert_eq!(open.remedy, "a quiet host");
}

#[test]
fn targets_are_of_the_smallest_frames_one_way() {
    for text in ["frame = 512", "two_way = true"] {
        let text = format!("paths = ['kernel', 'xdp-devmap']\nroutes = []\n{text}");
        let events = run(&text, &Fake::default(), 9);
        let held = comparisons(&events);
        assert!(!held.is_empty() && held.iter().all(|one| one.target.is_none()));
    }
}
