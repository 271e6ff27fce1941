//! The promises that every section of the kit keeps, without a host: plans,
//! rounds, ratios, tables and words are real, the speeds are known beforehand.

use std::collections::BTreeMap;
use std::time::Duration;

use kit::config::keys::{Key, text};
use kit::rehearsal::{Rehearsal, RehearsalError, Script, known};
use lockgate_sections::{Kit, SECTIONS, SectionKind};
use proptest::prelude::*;
use trial::{
    Cell, Column, Dimension, Event, Finding, Outcome, Point, RunError, Table, Validity, Weight,
};

fn of_the_kit() -> impl Iterator<Item = (&'static SectionKind, &'static Kit)> {
    SECTIONS
        .iter()
        .filter_map(|kind| Some((kind, kind.kit.as_ref()?)))
}

fn rehearsed(kit: &Kit, text: &str, script: &Script) -> Rehearsal {
    let table = text.parse().expect("toml");
    (kit.rehearse)(&table, script).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Sections that boot a guest before their first trial.
const SLOW_TO_START: [&str; 4] = ["cpu-guest", "disk-guest", "kspeed", "vcm-guest"];

/// The budget, but no less than one trial takes where a guest boots first.
fn at_least(kind: &SectionKind, budget: Duration) -> Duration {
    if !SLOW_TO_START.contains(&kind.name) {
        return budget;
    }
    let section = (kind.parse)(toml::Table::new()).expect("an empty table is the default");
    budget.max(section.minimum())
}

fn points(events: &[Event]) -> Vec<&Point> {
    let points = events.iter().filter_map(|event| match event {
        Event::Point(point) => Some(point),
        _ => None,
    });
    points.collect()
}

fn findings(events: &[Event]) -> Vec<&Finding> {
    let findings = events.iter().filter_map(|event| match event {
        Event::Finding(finding) => Some(finding),
        _ => None,
    });
    findings.collect()
}

/// Two rows of a table that could be one: the columns of words at their front are the
/// same, and behind them what both have. Other rows differ in a number that calls them.
fn same_key(table: &Table) -> Option<(&Vec<Cell>, &Vec<Cell>)> {
    let holds_words = |index: &usize| {
        let mut column = table.rows.iter().map(|row| &row[*index]);
        column.all(|cell| matches!(cell, Cell::Text(_) | Cell::Empty))
    };
    let words = (0..table.columns.len()).take_while(holds_words).count();
    let is_one = |(one, other): &(&Vec<Cell>, &Vec<Cell>)| {
        let agrees = |(one, other): (&Cell, &Cell)| {
            one == other || *one == Cell::Empty || *other == Cell::Empty
        };
        let mut behind = one[words..].iter().zip(&other[words..]);
        one[..words] == other[..words] && behind.all(agrees)
    };
    let others = |index: usize| table.rows[index + 1..].iter();
    let pairs = table.rows.iter().enumerate();
    let mut pairs = pairs.flat_map(|(index, one)| others(index).map(move |other| (one, other)));
    pairs.find(is_one)
}

#[test]
fn a_block_that_is_there_twice_half_empty_is_seen() {
    let text = |text: &str| Cell::Text(text.to_owned());
    let table = |rows: [[Cell; 4]; 2]| Table {
        title: "Requests a second by method".to_owned(),
        note: String::new(),
        columns: ["driver", "block", "sync", "async"]
            .map(|label| Column::new(label, ""))
            .to_vec(),
        rows: rows.map(Vec::from).to_vec(),
        command: String::new(),
    };
    let (one, other) = (Cell::Number(1.0), Cell::Number(2.0));
    let row = |block, values: [&Cell; 2]| {
        let [sync, late] = values.map(Clone::clone);
        [text("cbc"), text(block), sync, late]
    };
    let (early, late) = ([&one, &Cell::Empty], [&Cell::Empty, &other]);
    assert!(same_key(&table([row("64", early), row("64", late)])).is_some());
    assert!(same_key(&table([row("64", early), row("512", late)])).is_none());
    let others = [&other, &one];
    assert!(same_key(&table([row("64", early), row("64", others)])).is_none());
}

/// What holds of all that a section yields, however it ended.
fn check(name: &str, events: &[Event]) {
    let has_point = |wanted: &BTreeMap<String, Dimension>| {
        let holds = |point: &&Point| {
            wanted
                .iter()
                .all(|(key, value)| point.dimensions.get(key) == Some(value))
        };
        points(events).into_iter().any(|point| holds(&point))
    };
    for event in events {
        match event {
            Event::Table(table) => {
                let columns = table.columns.len();
                let is_whole = |row: &Vec<_>| row.len() == columns;
                assert!(table.rows.iter().all(is_whole), "{name}: {}", table.title);
                assert!(!table.rows.is_empty(), "{name}: {}", table.title);
                assert_eq!(same_key(table), None, "{name}: {}", table.title);
            }
            Event::Chart(chart) => {
                let dots = || chart.series.iter().flat_map(|series| &series.dots);
                assert!(dots().count() > 0, "{name}: {}", chart.title);
                assert!(
                    dots().all(|dot| dot.y.is_finite()),
                    "{name}: {}",
                    chart.title
                );
                let rows = chart.places.len() as f64;
                assert!(
                    rows == 0.0 || dots().all(|dot| dot.x < rows),
                    "{name}: {}",
                    chart.title
                );
            }
            Event::Comparison(one) => {
                assert!(has_point(&one.arm_point), "{name}: {one:?}");
                assert!(has_point(&one.reference_point), "{name}: {one:?}");
                assert_ne!(one.arm, one.reference, "{name}: {one:?}");
                let sides = (known(&one.arm_point), known(&one.reference_point));
                let wanted = sides.0 / sides.1;
                assert!(
                    (one.ratio / wanted - 1.0).abs() < 1e-4,
                    "{name}: {} over {} is {}, not {wanted}: {}",
                    one.arm,
                    one.reference,
                    one.ratio,
                    one.subject
                );
            }
            Event::Point(point) => {
                let is_sane = |value: f64| value.is_finite();
                assert!(
                    point.metrics.iter().all(|metric| is_sane(metric.value)),
                    "{name}"
                );
                assert!(point.command.contains(name), "{name}: {}", point.command);
            }
            Event::Price(price) => {
                let is_sane = 0.0 < price.low_ns && price.low_ns <= price.ns;
                assert!(is_sane && price.ns <= price.high_ns, "{name}: {price:?}");
            }
            Event::Finding(finding) => {
                assert!(!finding.text.contains("NaN"), "{name}: {}", finding.text);
                assert!(!finding.text.trim().is_empty(), "{name}");
            }
            Event::Progress(share, now) => {
                assert!(
                    (0.0..=1.0).contains(share) && !now.is_empty(),
                    "{name}: {now}"
                );
            }
        }
    }
    let headlines = findings(events);
    let headlines = headlines
        .iter()
        .filter(|finding| finding.weight == Weight::Headline);
    assert_eq!(headlines.count(), 1, "{name}");
}

#[test]
fn a_whole_run_has_every_point_and_every_ratio_comes_out() {
    for (kind, kit) in of_the_kit() {
        let script = Script {
            budget: Duration::from_secs(86_400),
            ..Script::default()
        };
        let run = rehearsed(kit, "", &script);
        run.result.as_ref().expect("it ends well");
        check(kind.name, &run.events);
        assert_eq!(run.left_out, None, "{}", kind.name);
        let once = run.subjects - run.in_every_round;
        let trials = run.in_every_round * 9 + once;
        assert_eq!(run.trials, trials, "{}", kind.name);
        let mut spots: Vec<_> = points(&run.events)
            .into_iter()
            .map(|point| &point.dimensions)
            .collect();
        spots.dedup();
        assert!(spots.len() >= run.subjects, "{}", kind.name);
        let claims = run.events.iter().filter_map(|event| match event {
            Event::Comparison(one) => Some(one.pairs.len()),
            _ => None,
        });
        assert!(claims.clone().count() > 0, "{} has ratios", kind.name);
        assert!(claims.into_iter().all(|pairs| pairs == 9), "{}", kind.name);
    }
}

/// Where every arm is equally fast and the host moves, one ratio in twenty at
/// most claims a difference: rounds, order, looks and intervals are the kit's.
#[test]
fn a_host_that_moves_gives_one_false_claim_in_twenty_at_most() {
    for how in ["", "precision = 0.02"] {
        let (mut all, mut claimed) = (0_u32, 0_u32);
        for seed in 0..testing::cases(1, 240) {
            for (_, kit) in of_the_kit() {
                let script = Script {
                    budget: Duration::from_secs(120),
                    speed: |_| 100.0,
                    moves: Some(u64::from(seed)),
                    ..Script::default()
                };
                let run = rehearsed(kit, &format!("seed = {seed}\n{how}"), &script);
                let ratios = run.events.iter().filter_map(|event| match event {
                    Event::Comparison(one) if one.pairs.len() >= 9 => Some(one.outcome),
                    _ => None,
                });
                for outcome in ratios {
                    all += 1;
                    claimed += u32::from(outcome != Outcome::NoEvidence);
                }
            }
        }
        let share = f64::from(claimed) / f64::from(all);
        println!("{claimed} of {all} claimed: {:.2}% ({how})", share * 100.0);
        // Ratios of one run share arms, so that they are wrong together.
        let apart = f64::from(all) / 10.0;
        let allowed = 0.05 + 3.0 * (0.05 * 0.95 / apart).sqrt();
        assert!(all > 1_000 && share <= allowed, "{claimed} of {all}");
    }
}

/// From five seconds on there is an answer, and no plan takes longer than its
/// budget.
#[test]
fn any_budget_of_five_seconds_gives_an_answer() {
    for (kind, kit) in of_the_kit() {
        let mut trials = 0;
        for budget_s in [5, 6, 8, 12, 20, 35, 60, 120, 300, 900, 3600] {
            let budget = at_least(kind, Duration::from_secs(budget_s));
            let script = Script {
                budget,
                ..Script::default()
            };
            let run = rehearsed(kit, "", &script);
            assert!(
                run.planned_s <= budget.as_secs_f64(),
                "{}: {budget_s}",
                kind.name
            );
            assert!(run.trials >= 1, "{}: {budget_s}", kind.name);
            assert!(
                run.trials >= trials / 4,
                "{}: more time, no less: {budget_s}",
                kind.name
            );
            trials = run.trials;
            check(kind.name, &run.events);
            let told = findings(&run.events);
            let says = |finding: &&&Finding| finding.text.starts_with("Left out");
            assert_eq!(
                run.left_out.is_some(),
                told.iter().any(|one| says(&one)),
                "{}",
                kind.name
            );
        }
    }
}

#[test]
fn one_cpu_is_enough_or_says_why_not() {
    for (kind, kit) in of_the_kit() {
        let script = Script {
            cpus: vec![3],
            ..Script::default()
        };
        match (kit.rehearse)(&toml::Table::new(), &script) {
            Ok(run) => check(kind.name, &run.events),
            Err(RehearsalError::Plan(error)) => assert!(error.to_string().contains("remedy")),
            Err(error) => panic!("{}: {error}", kind.name),
        }
    }
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    for (kind, kit) in of_the_kit() {
        let whole = rehearsed(kit, "", &Script::default());
        for after in [0, 1, whole.subjects, whole.subjects * 2 + 1] {
            let script = Script {
                interrupt_after: Some(after),
                ..Script::default()
            };
            let run = rehearsed(kit, "", &script);
            assert!(
                matches!(run.result, Err(RunError::Interrupted)),
                "{}",
                kind.name
            );
            check(kind.name, &run.events);
            let told = findings(&run.events);
            assert!(
                told.iter().any(|one| one.text.starts_with("Interrupted")),
                "{}",
                kind.name
            );
            let measured = points(&run.events)
                .iter()
                .any(|point| !point.metrics.is_empty());
            assert_eq!(measured, after > 0, "{}: after {after}", kind.name);
        }
    }
}

/// Where nothing is counted, rates are no numbers: none may reach a result.
#[test]
fn what_is_no_number_is_no_result() {
    for (kind, kit) in of_the_kit() {
        for speed in [
            (|_| f64::INFINITY) as fn(&BTreeMap<String, Dimension>) -> f64,
            |_| f64::NAN,
        ] {
            let script = Script {
                speed,
                ..Script::default()
            };
            let run = rehearsed(kit, "", &script);
            run.result.as_ref().expect("it is no failure");
            check(kind.name, &run.events);
            let points = points(&run.events);
            assert!(
                points.iter().all(|point| !point.verdict.is_valid()),
                "{}",
                kind.name
            );
        }
    }
}

#[test]
fn what_breaks_or_is_missing_spoils_itself_alone() {
    for (kind, kit) in of_the_kit() {
        let broken = Script {
            breaks_at: Some(2),
            ..Script::default()
        };
        let run = rehearsed(kit, "", &broken);
        assert!(
            matches!(run.result, Err(RunError::Failed { .. })),
            "{}",
            kind.name
        );
        check(kind.name, &run.events);
        assert!(
            run.trials > run.subjects,
            "{}: the others were measured",
            kind.name
        );
        let missing = Script {
            missing_one_in: Some(2),
            ..Script::default()
        };
        let run = rehearsed(kit, "", &missing);
        run.result.as_ref().expect("a host may lack things");
        check(kind.name, &run.events);
        let remedies = findings(&run.events);
        assert!(
            remedies.iter().any(|one| one.remedy.contains("install it")),
            "{}",
            kind.name
        );
        let unsupported = points(&run.events).into_iter();
        let is_missing = |point: &&Point| point.verdict.validity == Validity::NotSupported;
        assert!(unsupported.filter(is_missing).count() > 0, "{}", kind.name);
    }
}

/// What is not valid is tried again, and is evidence of nothing.
#[test]
fn noise_is_evidence_of_nothing() {
    for (kind, kit) in of_the_kit() {
        let noisy = Script {
            noisy_one_in: Some(1),
            ..Script::default()
        };
        let run = rehearsed(kit, "", &noisy);
        run.result.as_ref().expect("noise is no failure");
        check(kind.name, &run.events);
        for event in &run.events {
            if let Event::Comparison(one) = event {
                assert!(!one.believed && one.target.is_none(), "{}", kind.name);
            }
        }
        let first = findings(&run.events);
        let first = first.iter().find(|one| one.weight == Weight::Headline);
        let first = first.expect("there is one");
        assert!(
            first.text.contains("is not known"),
            "{}: {}",
            kind.name,
            first.text
        );
        assert!(run.trials >= run.subjects * 2, "{}: tried again", kind.name);
        // Four rounds of nine are no result, though they have pairs.
        let noisy = Script {
            noisy_after: Some(run.subjects + run.in_every_round * 3),
            ..Script::default()
        };
        let run = rehearsed(kit, "", &noisy);
        let ratios = || {
            run.events.iter().filter_map(|event| match event {
                Event::Comparison(one) => Some(one),
                _ => None,
            })
        };
        assert!(ratios().count() > 0, "{}", kind.name);
        let is_nothing = |one: &trial::Comparison| {
            !one.believed && one.target.is_none() && one.outcome == trial::Outcome::NoEvidence
        };
        assert!(ratios().all(is_nothing), "{}", kind.name);
    }
}

#[test]
fn wrong_values_are_named_with_what_is_allowed() {
    for (kind, kit) in of_the_kit() {
        for Key {
            name,
            allowed,
            help,
            ..
        } in (kit.options)()
        {
            assert!(
                !help.is_empty() && !allowed().is_empty(),
                "{}: {name}",
                kind.name
            );
            for wrong in ["'no-such-thing'", "-7", "[-7]", "1e300", "{ a = 1 }"] {
                let table = format!("{name} = {wrong}").parse().expect("toml");
                let Err(error) = (kind.parse)(table) else {
                    continue;
                };
                assert_eq!(error.key(), name, "{}: {error}", kind.name);
            }
            let table = toml::Table::from_iter([(
                name.to_owned(),
                toml::Value::Datetime("1979-05-27".parse().unwrap()),
            )]);
            let error = (kind.parse)(table).err().expect("no option is a date");
            assert_eq!(error.key(), name, "{}", kind.name);
            let misspelt = format!("{}x", name);
            let table = toml::Table::from_iter([(misspelt.clone(), toml::Value::Integer(1))]);
            let error = (kind.parse)(table).err().expect("no such key").to_string();
            assert!(
                error.contains(&format!("did you mean '{name}'")),
                "{}: {error}",
                kind.name
            );
        }
    }
}

/// An option reads its own text as it was written, and a text may look like
/// anything.
#[test]
fn every_option_reads_what_is_printed_of_it() {
    let (mut options, mut texts) = (0, 0);
    for (kind, kit) in of_the_kit() {
        let usual = (kind.parse)(toml::Table::new()).expect("an empty table is the default");
        for key in (kit.options)() {
            let set = |text: &str| {
                let value = (key.value)(text);
                (kind.parse)(toml::Table::from_iter([(key.name.to_owned(), value)]))
            };
            let (place, text) = (format!("{}: {}", kind.name, key.name), text(&key.default));
            let again = set(&text).unwrap_or_else(|error| panic!("{place}: {text}: {error}"));
            assert_eq!(again.resolved(), usual.resolved(), "{place}: {text}");
            options += 1;
            if !key.default.is_str() || (key.allowed)() != "a text" {
                continue;
            }
            texts += 1;
            for looks in ["486", "2.0", "true", "inf", "1979-05-27"] {
                let refused = set(looks).err().map(|error| error.to_string());
                let refused = refused.filter(|error| error.contains("is not a text"));
                assert_eq!(refused, None, "{place}");
            }
        }
    }
    assert!(options > 200 && texts > 5, "{options}, {texts}");
}

/// What a section says it resolved to means the same again, and the command it
/// prints has each option that is not the default.
#[test]
fn what_it_resolved_to_gives_it_again() {
    for (kind, kit) in of_the_kit() {
        let usual = (kind.parse)(toml::Table::new()).expect("an empty table is the default");
        assert_eq!(usual.command(), format!("lockgate run {}", kind.name));
        let resolved: toml::Table = serde_json::from_value(usual.resolved()).expect("a table");
        let names: Vec<_> = (kit.options)().iter().map(|key| key.name).collect();
        let keys: Vec<_> = resolved.keys().map(String::as_str).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(keys, sorted, "{}", kind.name);
        let again = (kind.parse)(resolved).expect("it is allowed");
        assert_eq!(again.resolved(), usual.resolved(), "{}", kind.name);
        let table = "pairs = 3\nseconds = 0.25\nseed = 7".parse().expect("toml");
        let own = (kind.parse)(table).expect("every section has these");
        let wanted = format!(
            "lockgate run {} --seconds 0.25 --pairs 3 --seed 7",
            kind.name
        );
        assert_eq!(own.command(), wanted);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testing::cases(24, 1000), failure_persistence: None, ..ProptestConfig::default() })]

    /// Any budget, any number of rounds, any fault: a plan keeps to its budget,
    /// and what is told holds together.
    #[test]
    fn whatever_happens_is_told(
        budget_s in 5.0..2000.0_f64,
        pairs in 0..12_usize,
        interrupt_after in proptest::option::of(0..200_usize),
        missing_one_in in proptest::option::of(1..5_usize),
        noisy_one_in in proptest::option::of(1..5_usize),
        breaks_at in proptest::option::of(1..50_usize),
    ) {
        for (kind, kit) in of_the_kit() {
            let budget = at_least(kind, Duration::from_secs_f64(budget_s));
            let script = Script {
                budget,
                interrupt_after,
                missing_one_in,
                noisy_one_in,
                breaks_at,
                ..Script::default()
            };
            let run = rehearsed(kit, &format!("pairs = {pairs}"), &script);
            let budget_s = budget.as_secs_f64();
            prop_assert!(run.planned_s <= budget_s + 1e-6, "{}: {}", kind.name, run.planned_s);
            check(kind.name, &run.events);
        }
    }
}
