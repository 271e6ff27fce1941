//! What was named, and the evidence for it.

use model::cause::{Cause, Evidence, Source, Speaks};
use trial::{Cell, Column, Table};

use crate::vcm::cause::examine::speed as median_speed;
use crate::vcm::cause::results::{Examined, SelfTest, self_test};
use kit::words::{percent, size};

pub(super) fn tables(examined: &[Examined], command: &str) -> Vec<Table> {
    [
        named(examined, command),
        evidence(examined, command),
        planted(examined, command),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn column(label: &str, unit: &str) -> Column {
    Column {
        label: label.to_owned(),
        unit: unit.to_owned(),
    }
}

fn text(text: impl Into<String>) -> Cell {
    Cell::Text(text.into())
}

fn number(value: Option<f64>) -> Cell {
    value.map_or(Cell::Empty, Cell::Number)
}

/// Speed at the best and the worst size beyond, and the cause.
fn named(examined: &[Examined], command: &str) -> Option<Table> {
    let rows: Vec<_> = examined
        .iter()
        .filter(|one| one.plant().is_none())
        .filter_map(row)
        .collect();
    (!rows.is_empty()).then(|| Table {
        title: "Where the speed falls as blocks grow, and why".to_owned(),
        note: "The fall is to the slowest size beyond the best one. A share is what the experiment for that cause restores of the fall.".to_owned(),
        columns: vec![
            column("load", ""),
            column("best at", ""),
            column("speed", "MB/s"),
            column("slowest beyond", ""),
            column("speed", "MB/s"),
            column("of the best", ""),
            column("cause", ""),
            column("explains", ""),
        ],
        rows,
        command: command.to_owned(),
    })
}

fn row(one: &Examined) -> Option<Vec<Cell>> {
    let cause = one.cause()?;
    let scan = one.examination.scan.iter();
    let speeds = scan.filter_map(|(setting, readings)| {
        let speed = median_speed(readings)?;
        Some((setting.block_bytes, speed))
    });
    let (best_bytes, best) = speeds.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let fall = one.examination.fall.as_ref();
    let Some(fall) = fall.filter(|_| cause != Cause::None) else {
        let is_largest = one
            .examination
            .scan
            .last()
            .is_some_and(|(setting, _)| setting.block_bytes == best_bytes);
        let why = if is_largest {
            "none: it is best at the largest"
        } else {
            "none: beyond it is no slower, in pairs"
        };
        return Some(vec![
            text(one.examination.name.clone()),
            text(size(best_bytes)),
            number(Some(best)),
            text(why),
            Cell::Empty,
            Cell::Empty,
            text(cause.to_string()),
            Cell::Empty,
        ]);
    };
    let speed_of = |experiment| fall.series(experiment)?.mb_per_s();
    let (peak, fallen) = (
        speed_of(crate::vcm::cause::experiment::Experiment::Peak),
        speed_of(crate::vcm::cause::experiment::Experiment::Plain),
    );
    let ratio = peak
        .zip(fallen)
        .map(|(peak, fallen)| percent(fallen / peak));
    let share = one
        .diagnosis
        .as_ref()
        .and_then(|diagnosis| diagnosis.share)
        .map(|share| share.words());
    Some(vec![
        text(one.examination.name.clone()),
        text(size(fall.peak.block_bytes)),
        number(peak),
        text(size(fall.fallen.block_bytes)),
        number(fallen),
        ratio.map_or(Cell::Empty, text),
        text(cause.to_string()),
        share.map_or(Cell::Empty, text),
    ])
}

/// What each experiment gave and says.
fn evidence(examined: &[Examined], command: &str) -> Option<Table> {
    let rows: Vec<_> = examined
        .iter()
        .filter_map(|one| Some((one, one.diagnosis.as_ref()?)))
        .flat_map(|(one, diagnosis)| {
            let all = diagnosis.evidence.iter();
            all.map(|evidence| evidence_row(&one.examination.name, evidence))
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        title: "The evidence: each experiment beside the load as it is, at the fallen size"
            .to_owned(),
        note: "Ratios are medians of interleaved pairs with their 95% interval; above 1 the experiment is faster.".to_owned(),
        columns: vec![
            column("load", ""),
            column("experiment", ""),
            column("ratio", ""),
            column("low", ""),
            column("high", ""),
            column("speaks", ""),
            column("in words", ""),
        ],
        rows,
        command: command.to_owned(),
    })
}

fn evidence_row(name: &str, evidence: &Evidence) -> Vec<Cell> {
    let ratio = evidence.ratio;
    vec![
        text(name),
        text(source(evidence.source)),
        number(ratio.map(|ratio| ratio.estimate)),
        number(ratio.map(|ratio| ratio.low)),
        number(ratio.map(|ratio| ratio.high)),
        text(match evidence.speaks {
            Speaks::For(cause) => format!("for {cause}"),
            Speaks::Against(cause) => format!("against {cause}"),
            Speaks::Neither => String::new(),
        }),
        text(evidence.text.clone()),
    ]
}

fn source(source: Source) -> &'static str {
    match source {
        Source::Points => "none",
        Source::Polled => "polled",
        Source::SmallFootprint => "bytes in flight as at the peak",
        Source::Deeper => "twice the depth",
        Source::OtherPlacement => "other placement",
        Source::Split => "split at the peak's size",
        Source::GeneratorOnly => "the client alone",
    }
}

/// How the diagnosis did where the cause is known.
fn planted(examined: &[Examined], command: &str) -> Option<Table> {
    let row = |one: &Examined| {
        let (plant, cause) = (one.plant()?, one.cause()?);
        let outcome = match self_test(plant, cause) {
            SelfTest::Right => "right",
            SelfTest::Open => "no cause named",
            SelfTest::Wrong => "wrong",
        };
        let words = |cause: Cause| text(cause.to_string());
        let row = vec![
            text(plant.what()),
            words(plant.cause()),
            words(cause),
            text(outcome),
        ];
        Some(row)
    };
    let rows: Vec<_> = examined.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| Table {
        title: "Self-test: faults that were planted, and what the diagnosis named".to_owned(),
        note: "Planted devices and clients spend real CPU time behind real lanes; the diagnosis sees only their speed.".to_owned(),
        columns: vec![
            column("planted", ""),
            column("cause", ""),
            column("named", ""),
            column("", ""),
        ],
        rows,
        command: command.to_owned(),
    })
}
