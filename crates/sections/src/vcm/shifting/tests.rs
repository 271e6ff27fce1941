//! The section, run once and tiny, so that it does not rot. No speed is
//! asserted: only what must be there and what must hold.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use trial::{Event, Probe, RunError};

use crate::vcm::shifting::findings::remarks;
use crate::vcm::shifting::parse;
use crate::vcm::shifting::results::{End, Results};
use kit::load::rig::{Cores, Record, Share, Window};
use kit::testing::Collector;

const TINY: &str = "phases = [{ block_bytes = 1024, depth = 8, tenants = 1 }, { block_bytes = 64, depth = 1, tenants = 2 }, { block_bytes = 4096, depth = 4, tenants = 3 }]\ncontrollers = ['speed-monitor-prose', 'adaptive']\nbackend = 'aws-lc'\ninterval_ms = 10.0\npairs = 2\nphase_seconds = 0.06\nwindow_ms = 10.0";

fn run(text: &str, interrupt_after: Option<usize>) -> (Vec<Event>, Result<(), RunError>) {
    let section = parse(text.parse().expect("toml")).expect("a valid table");
    let probe = Probe::default();
    let plan = section
        .plan(&probe, Duration::from_secs(60))
        .expect("fits a minute");
    let mut sink = Collector {
        interrupt_after,
        ..Collector::default()
    };
    let result = section.run(&probe, &plan, &mut sink);
    (sink.events, result)
}

/// Every point's value of a dimension.
fn values(events: &[Event], dimension: &str) -> BTreeSet<String> {
    let points = events.iter().filter_map(|event| match event {
        Event::Point(point) => point.dimensions.get(dimension),
        _ => None,
    });
    points.map(ToString::to_string).collect()
}

/// That everything is finite and every row as long as its columns; how many
/// points, comparisons, charts, tables and findings there are.
fn checked(events: &[Event]) -> [usize; 5] {
    let mut counts = [0; 5];
    for event in events {
        let kind = match event {
            Event::Point(point) => {
                assert!(!point.metrics.is_empty(), "{point:?}");
                let is_sane = |value: f64| value.is_finite() && value >= 0.0;
                assert!(point.metrics.iter().all(|metric| is_sane(metric.value)));
                let alone = point.metric("held_alone").expect("it is counted");
                assert_eq!(alone.value, 0.0, "{point:?}");
                0
            }
            Event::Comparison(_) | Event::Price(_) => 1,
            Event::Chart(chart) => {
                let dots = || chart.series.iter().flat_map(|series| &series.dots);
                assert!(dots().count() > 0, "{}", chart.title);
                assert!(dots().all(|dot| dot.y.is_finite()), "{}", chart.title);
                2
            }
            Event::Table(table) => {
                let is_whole = |row: &Vec<_>| row.len() == table.columns.len();
                assert!(table.rows.iter().all(is_whole), "{}", table.title);
                3
            }
            Event::Finding(_) => 4,
            Event::Progress(..) => continue,
        };
        counts[kind] += 1;
    }
    counts
}

#[test]
fn every_phase_is_measured_for_everyone() {
    testing::alone(|| {
        // Over all and in three phases: oracle, armed, each controller twice, and
        // ours over the paper's.
        let comparisons = 4 * (2 + 2 * 2 + 1);
        let (events, result) = run(TINY, None);
        result.expect("it runs");
        let counts = checked(&events);
        for event in &events {
            match event {
                Event::Comparison(own) if own.subject.starts_with("all phases") => {
                    assert_eq!(own.pairs.len(), 2, "a pair a round");
                }
                _ => {}
            }
        }
        let arms = values(&events, "arm");
        for arm in [
            "uncapped",
            "armed",
            "oracle",
            "adaptive",
            "speed-monitor-prose",
        ] {
            assert!(arms.contains(arm), "{arms:?}");
        }
        assert_eq!(values(&events, "phase").len(), 3);
        assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
        assert_eq!(counts[1], comparisons);
    });
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    testing::alone(|| {
        let (events, result) = run(TINY, Some(12));
        assert!(matches!(result, Err(RunError::Interrupted)), "{result:?}");
        let told = |event: &Event| matches!(event, Event::Finding(finding) if finding.text.contains("Interrupted"));
        assert!(events.iter().any(told));
    });
}

#[test]
fn every_wrong_value_is_named_with_its_limit() {
    for (text, key, part) in [
        ("algorithm = 'des'", "algorithm", "des"),
        ("algorithm = 'rsa-2048'", "algorithm", "cipher or a hash"),
        ("phases = []", "phases", "2 to"),
        (
            "phases = [{ block_bytes = 17, depth = 1, tenants = 1 }, { block_bytes = 64, depth = 1, tenants = 1 }]",
            "phases",
            "multiples of 16",
        ),
        (
            "phases = [{ block_bytes = 64, depth = 1, tenant = 1 }]",
            "phases",
            "tenant",
        ),
        (
            "phases = [{ block_bytes = 64, depth = 0, tenants = 1 }, { block_bytes = 64, depth = 1, tenants = 1 }]",
            "phases",
            "0 is outside",
        ),
        ("phase_seconds = -1.0", "phase_seconds", "-1"),
        ("window_ms = 0.1", "window_ms", "1 to 1000"),
        ("placement = 'near'", "placement", "split, shared"),
        ("controllers = ['best']", "controllers", "adaptive"),
        ("backend = 'qat'", "backend", "aws-lc"),
        ("pairs = 100000", "pairs", "100000"),
        ("phase = 1", "phase", "phase_seconds"),
    ] {
        let Err(error) = parse(text.parse().unwrap()) else {
            panic!("{text} was taken")
        };
        assert_eq!(error.key(), key, "{error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
}

#[test]
fn a_remark_is_told_with_how_many_runs_it_is_of() {
    let record = |remark| Record {
        windows: vec![Window {
            tenants: vec![
                Share::default(),
                Share {
                    remark,
                    ..Share::default()
                },
            ],
            ..Window::default()
        }],
        ..Record::default()
    };
    let runs = |remarks: [Option<&'static str>; 2]| {
        BTreeMap::from_iter(remarks.map(record).into_iter().enumerate())
    };
    let results = Results {
        phases: vec![],
        runs: vec![
            ("dim", runs([None, None])),
            ("speed-monitor-listing", runs([None, Some("odd.")])),
        ],
        cores: Cores {
            worker: 0,
            client: 0,
        },
        l2_bytes: 0,
        rounds: 2,
        end: End::Complete,
    };
    let told: Vec<_> = remarks(&results).map(|finding| finding.text).collect();
    assert_eq!(told, ["speed-monitor-listing, in 1 of 2 runs: odd."]);
}
