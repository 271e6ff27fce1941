//! What only this section promises: the rest is in `tests/conformance.rs`.

use std::time::Duration;

use kit::experiment::{Experiment, Results};
use kit::host::Host;
use kit::rehearsal::{Rehearsal, Script, rehearse};
use kit::testing::section;

use super::{Contender, Controllers, findings};

fn rehearsed(text: &str, budget_s: u64) -> Rehearsal {
    let script = Script {
        budget: Duration::from_secs(budget_s),
        ..Script::default()
    };
    let table = text.parse().expect("toml");
    rehearse::<Controllers>(&table, &script).expect("it is allowed, and fits")
}

/// The paper's places first with the paper's controller and ours, then all.
#[test]
fn more_time_is_more_places_and_then_every_controller() {
    for (budget_s, places, arms) in [
        (5, 1, 5),
        (8, 1, 5),
        (25, 3, 5),
        (60, 4, 5),
        (180, 9, 10),
        (600, 22, 10),
    ] {
        assert_eq!(
            rehearsed("", budget_s).subjects,
            places * arms,
            "{budget_s} s"
        );
    }
    let chosen = "sizes_bytes = [64, 512]\nalgorithms = ['sha256']\ncontrollers = ['dim']\npairs = 2\nseconds = 0.05";
    assert_eq!(rehearsed(chosen, 20).subjects, 2 * 4);
    assert_eq!(rehearsed(chosen, 3).subjects, 4, "one place of two");
    let left = rehearsed(chosen, 3).left_out.expect("not all fits");
    assert!(left.contains("512 B"), "{left}");
}

#[test]
fn zero_and_none_mean_what_they_meant() {
    let of = |text: &str| {
        let own = section::<Controllers>(text).unwrap();
        (
            own.parameters.interval_ns() / 1_000_000,
            own.parameters.cpu_price(),
        )
    };
    assert_eq!(of(""), (100, None));
    assert_eq!(of("interval_ms = 0.0"), (1000, None));
    assert_eq!(of("interval_ms = 5\ncpu_price = 0"), (5, Some(0.0)));
    let error = section::<Controllers>("operations = ['derive']");
    let error = error.err().expect("no algorithm has it");
    assert!(error.key() == "operations" && error.to_string().contains("at least one"));
}

/// What a controller says of itself is told once, with every place of it.
#[test]
fn a_remark_is_told_with_its_places() {
    const SELF: Contender = Contender::Controlled("speed-monitor-listing");
    let table = "algorithms = ['sha256']\nsizes_bytes = [512, 1024, 2048]";
    let section = section::<Controllers>(table).unwrap();
    let host = Host::with_cpus([0]);
    let subjects = section.subjects(&host);
    let mut results = Results::new(&section, &host, &subjects, (0.01, ""));
    let texts = |results: &Results<'_, Controllers>| {
        let all = findings::findings(results).into_iter();
        all.map(|finding| finding.text).collect::<Vec<_>>()
    };
    assert!(texts(&results).is_empty(), "nothing to tell");
    let places = super::places(&subjects);
    let remarks = places[..2].iter().map(|&place| (place, SELF, "odd."));
    results.notes.remarks = remarks.collect();
    assert_eq!(
        texts(&results),
        [
            "`speed-monitor-listing`, at sha256, 512 B, one shared core; sha256, 1 KiB, one shared core: odd."
        ]
    );
}
