//! No run makes an exporter panic, whatever its text and numbers are.

use crate::common::sample_run;
use lockgate_report::compare::{self, Options};
use lockgate_report::{Style, csv, json, markdown, number, probe_text, terminal};
use proptest::prelude::{
    ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, proptest,
};
use trial::{Cell, Run};

/// Cases a property: 64, or 2,000 with `LOCKGATE_THOROUGH=1`.
fn cases() -> ProptestConfig {
    ProptestConfig {
        cases: testing::cases(64, 2_000),
        ..ProptestConfig::default()
    }
}

fn odd_run(texts: &[String], numbers: &[f64], rows: usize) -> Run {
    let mut run = sample_run();
    let (mut texts, mut numbers) = (
        texts.iter().cycle().cloned(),
        numbers.iter().cycle().copied(),
    );
    let mut text = || texts.next().expect("a cycle of one or more");
    let mut number = || numbers.next().expect("a cycle of one or more");
    run.host = text();
    run.seconds = number();
    for section in &mut run.sections {
        (section.title, section.command, section.seconds) = (text(), text(), number());
        section
            .findings
            .iter_mut()
            .for_each(|it| (it.text, it.remedy) = (text(), text()));
        for point in &mut section.points {
            (point.verdict.reason, point.command) = (text(), text());
            point.dimensions.insert(text(), text().as_str().into());
            for metric in &mut point.metrics {
                (metric.name, metric.value) = (text(), number());
                metric
                    .samples
                    .iter_mut()
                    .for_each(|sample| *sample = number());
            }
        }
        for it in &mut section.comparisons {
            (it.subject, it.arm, it.ratio, it.low, it.high) =
                (text(), text(), number(), number(), number());
        }
        for dot in section
            .charts
            .iter_mut()
            .flat_map(|chart| &mut chart.series)
            .flat_map(|series| &mut series.dots)
        {
            (dot.x, dot.y) = (number(), number());
        }
        for table in &mut section.tables {
            table
                .columns
                .iter_mut()
                .for_each(|column| (column.label, column.unit) = (text(), text()));
            table
                .rows
                .iter_mut()
                .flatten()
                .for_each(|cell| *cell = Cell::Text(text()));
            table
                .rows
                .push((0..rows).map(|_| Cell::Number(number())).collect());
        }
    }
    for fact in run
        .probe
        .groups
        .iter_mut()
        .flat_map(|group| &mut group.facts)
    {
        (fact.label, fact.text, fact.remedy) = (text(), text(), text());
    }
    run
}

fn runs() -> impl Strategy<Value = Run> {
    let texts = prop::collection::vec(any::<String>(), 1..7);
    let numbers = prop::collection::vec(prop::num::f64::ANY, 1..7);
    (texts, numbers, 0_usize..7).prop_map(|(texts, numbers, rows)| odd_run(&texts, &numbers, rows))
}

fn has_controls(text: &str) -> bool {
    text.chars()
        .any(|letter| letter.is_control() && letter != '\n')
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_exporter_takes_every_run(run in runs(), width in 0_usize..200) {
        let style = Style { width, color: false };
        prop_assert!(!has_controls(&terminal::render(&run, style, terminal::Saved::default())));
        prop_assert!(!has_controls(&probe_text::render(&run.probe, style)));
        prop_assert!(!has_controls(&markdown::render(&run)));
        let _ = (csv::render(&run), json::render(&run));
    }

    #[test]
    fn any_two_runs_compare(a in runs(), width in 0_usize..200, limit in 0.1_f64..3.0) {
        let options = Options { fail_below: Some(limit), seed: 7 };
        let style = Style { width, color: false };
        let mut repeat = a.clone();
        repeat.seed = a.seed.wrapping_add(1);
        for (a, b) in [(&a, &a), (&a, &sample_run())] {
            let it = compare::compare(a, b, &[repeat.clone()], options).expect("the limit is a ratio");
            prop_assert!(it.rows.iter().all(|row| row.low <= row.ratio && row.ratio <= row.high));
            prop_assert!(!has_controls(&compare::text(&it, style)));
            prop_assert!(!has_controls(&compare::markdown(&it)));
            let _ = it.json();
        }
    }

    #[test]
    fn numbers_keep_their_size_and_sign(value in prop::num::f64::ANY) {
        let text = number::number(value);
        let read: f64 = text.replace(',', "").replace('∞', "inf").replace('–', "nan").parse().expect("it is a number");
        prop_assert!(value.is_nan() || (read - value).abs() <= 0.006 * value.abs() || read == value, "{value} {text}");
        prop_assert_eq!(value.is_nan(), read.is_nan());
    }
}
