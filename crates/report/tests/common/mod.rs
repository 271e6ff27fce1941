//! One made-up run that holds every case an exporter must survive.
#![allow(
    dead_code,
    reason = "each test binary uses its own part of the fixture"
)]

mod host;
mod points;

use std::collections::BTreeMap;

use trial::{
    Axis, Build, Cell, Chart, Column, Comparison, Dot, Finding, Outcome, Price, Run,
    SCHEMA_VERSION, Scale, SectionResult, SectionState, Series, SeriesKind, Table, Target, Weight,
};

pub use host::sample_probe;
pub use points::{SIZES, sample_points};

/// How the fixture's speed section is run again.
pub const COMMAND: &str = "lockgate speed --algorithm aes-128-gcm --size 64,1024,4096,16384,65536";

/// A run of four sections (complete, partial, not supported, failed), with
/// points of every validity, a met and a missed target, findings of every
/// weight, a log2 chart of three series, and text that needs escaping in
/// every format: `<`, `>`, `&`, `|`, quotes, backticks, a newline.
pub fn sample_run() -> Run {
    Run {
        schema: SCHEMA_VERSION,
        build: Build {
            version: "0.1.0".into(),
            git_revision: "b9c24f1-dirty".into(),
            libraries: BTreeMap::from([
                ("AWS-LC".to_owned(), "1.65.0".to_owned()),
                ("OpenSSL".to_owned(), "3.0.17".to_owned()),
            ]),
        },
        host: "canal-7".into(),
        started_utc: "2026-03-14T09:26:53Z".into(),
        seconds: 183.4,
        command: "lockgate run".into(),
        seed: 7,
        interrupted: false,
        scenario: serde_json::json!({
            "schema": 1,
            "common": { "budget_s": 180 },
            "sections": {
                "crypto-speed": { "algorithms": ["aes-128-gcm"], "note": "a < b & \"c\"", "seed": 7 }
            }
        }),
        sections: vec![speed(), partial(), unsupported(), failed()],
        probe: sample_probe(),
    }
}

fn speed() -> SectionResult {
    SectionResult {
        name: "crypto-speed".into(),
        title: "Crypto speed by load mode".into(),
        state: SectionState::Complete,
        seconds: 121.7,
        command: COMMAND.into(),
        findings: findings(),
        charts: vec![speed_chart(), ratio_chart()],
        tables: vec![speed_table(), escape_table()],
        prices: prices(),
        comparisons: comparisons(),
        points: sample_points(),
    }
}

fn findings() -> Vec<Finding> {
    let finding = |weight, text: &str, remedy: &str| Finding {
        weight,
        text: text.into(),
        remedy: remedy.into(),
    };
    vec![
        finding(
            Weight::Note,
            "Sixteen requests share one notification at depth 16.",
            "",
        ),
        finding(
            Weight::Warning,
            "6 of 15 points are not valid: the machine was shared & \"stolen\" time reached 4.2%.",
            "Run again on a quiet host, or pin <lockgate> to CPUs of its own.",
        ),
        finding(
            Weight::Headline,
            "Your application waits for each request: at 1 KiB it gets 2% of what this core can do.",
            "Keep 8 in flight.",
        ),
        finding(
            Weight::Advice,
            "Armed notification reaches 97% of polling at 4 KiB and leaves 80% of the client's core free.",
            "Set `policy = \"armed\"`.",
        ),
    ]
}

fn speed_chart() -> Chart {
    let series = |name: &str, kind, speeds: [f64; 5]| {
        let dots = SIZES.iter().zip(speeds).map(|(size, speed)| Dot {
            low: Some(speed * 0.95),
            high: Some(speed * 1.04),
            valid: *size < 65536,
            ..Dot::at(*size as f64, speed)
        });
        let dots = dots.collect();
        Series {
            kind,
            ..Series::measured(name, dots)
        }
    };
    let (sync, batch) = (
        [7.1, 77.2, 314.0, 468.0, 1403.0],
        [656.0, 4421.0, 9491.0, 11405.0, 10800.0],
    );
    let raw = [900.0, 6100.0, 10604.0, 13349.0, 13100.0];
    Chart {
        title: "Waiting for each request costs more than the crypto below 64 KiB".into(),
        note: "split placement, depth 16 <in place>".into(),
        x: Axis::new("block size", "bytes", Scale::Log2),
        y: Axis::new("speed", "MB/s", Scale::Linear),
        places: Vec::new(),
        series: vec![
            series("sync", SeriesKind::Measured, sync),
            series("async, depth 16", SeriesKind::Measured, batch),
            series("raw loop & peer", SeriesKind::Reference, raw),
        ],
        command: COMMAND.into(),
    }
}

fn ratio_chart() -> Chart {
    let dots = [(1024.0, 0.72), (4096.0, 0.93), (16384.0, 0.97)].map(|(x, y)| Dot {
        low: Some(y - 0.03),
        high: Some(y + 0.03),
        ..Dot::at(x, y)
    });
    Chart {
        title: "The lanes cost less than a tenth from 4 KiB on".into(),
        note: String::new(),
        y: Axis::new("speed / raw loop", "", Scale::Linear),
        series: vec![Series::measured("async, depth 16", dots.into())],
        ..speed_chart()
    }
}

fn speed_table() -> Table {
    let row = |size: f64, sync: f64, asynchronous: Cell, words: &str| {
        vec![
            Cell::Number(size),
            Cell::Number(sync),
            asynchronous,
            Cell::Text(words.into()),
        ]
    };
    Table {
        title: "Speed by block size".into(),
        note: "medians of nine repetitions".into(),
        columns: vec![
            Column::new("block", "bytes"),
            Column::new("sync", "MB/s"),
            Column::new("async", "MB/s"),
            Column::new("bound by", ""),
        ],
        rows: vec![
            row(64.0, 7.123, Cell::Number(656.4), "crossings"),
            row(1024.0, 77.21, Cell::Number(4421.7), "crossings"),
            row(16384.0, 468.9, Cell::Number(11405.2), "crypto"),
            row(65536.0, 1403.1, Cell::Empty, "L2 cache"),
        ],
        command: COMMAND.into(),
    }
}

fn escape_table() -> Table {
    Table {
        title: "Text | that <needs> \"escapes\" & more".into(),
        note: "first line\nsecond line".into(),
        columns: vec![Column::new("a|b", "<u>"), Column::new("words", "")],
        rows: vec![
            vec![
                Cell::Text("pipe | and `tick`".into()),
                Cell::Text("say \"hi\", <b>bold</b>".into()),
            ],
            vec![Cell::Empty, Cell::Text("two\nlines\r\nand\ta tab".into())],
            vec![
                Cell::Number(-1234.5),
                Cell::Text("=1+1 </script> *star* _line_ \\".into()),
            ],
        ],
        command: "lockgate run --scenario 'my \"odd\" <file>|name.toml'".into(),
    }
}

fn prices() -> Vec<Price> {
    let of = |crossing: &str, ns: f64| {
        let rounds: Vec<f64> = (0..9).map(|at| ns * (1.0 + 0.01 * f64::from(at))).collect();
        Price::of_rounds(crossing, &rounds).expect("all are positive")
    };
    vec![
        of("system call", 163.0),
        of("eventfd wake-up, other core", 12_200.0),
    ]
}

fn comparisons() -> Vec<Comparison> {
    let comparison = |subject: &str, reference: &str, ratio: f64, outcome, target| Comparison {
        subject: subject.into(),
        arm: "lanes, async, depth 16".into(),
        reference: reference.into(),
        metric: "speed_mb_per_s".into(),
        ratio,
        low: ratio - 0.04,
        high: ratio + 0.05,
        confidence: 0.95,
        pairs: (0..9)
            .map(|index| {
                let reference = 10000.0 + 10.0 * f64::from(index);
                (reference * (ratio + 0.01 * f64::from(index - 4)), reference)
            })
            .collect(),
        outcome,
        target,
        change: match subject {
            "AES-128-GCM, 16 KiB" if reference.starts_with("openssl") => {
                "Keep 16 requests in flight <b>".into()
            }
            _ => String::new(),
        },
        believed: true,
        arm_point: BTreeMap::new(),
        reference_point: BTreeMap::new(),
        command: COMMAND.into(),
    };
    let target = |at_least, met| Some(Target { at_least, met });
    let openssl = "openssl speed <evp>";
    let (met, missed) = (target(0.9, true), target(0.9, false));
    let [small, large] = ["AES-128-GCM, 4 KiB", "AES-128-GCM, 16 KiB"];
    vec![
        comparison(large, "raw loop", 0.96, Outcome::NoEvidence, met),
        comparison(small, "raw loop", 0.82, Outcome::Slower, missed),
        comparison(large, openssl, 2.43, Outcome::Faster, None),
    ]
}

fn empty_section(name: &str, title: &str, state: SectionState) -> SectionResult {
    SectionResult::new((name, title), &format!("lockgate run {name}"), state)
}

fn partial() -> SectionResult {
    let reason = "the budget of 180 s ended after 1 of 3 points".to_owned();
    SectionResult {
        seconds: 61.5,
        points: sample_points().into_iter().take(1).collect(),
        ..empty_section(
            "crossing-cost",
            "Price of a crossing",
            SectionState::Partial { reason },
        )
    }
}

fn unsupported() -> SectionResult {
    empty_section(
        "guest-crypto",
        "Crypto in a guest",
        SectionState::NotSupported {
            reason: "/dev/kvm opens, but the CPU shows neither vmx nor svm".into(),
            remedy: "enable nested virtualisation on the host, or run on bare metal".into(),
        },
    )
}

fn failed() -> SectionResult {
    empty_section(
        "disk-modes",
        "Disk modes",
        SectionState::Failed {
            reason: "opening \"scratch\" <4 GiB>: no space left on device".into(),
        },
    )
}
