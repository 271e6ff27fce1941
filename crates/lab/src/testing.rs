//! What the tests of this crate share.

use std::rc::Rc;
use std::time::Duration;

use proptest::test_runner::Config;
use trial::{
    Build, Cell, Dimension, Plan, PlanError, Point, Probe, Run, RunError, Section, Sink, Table,
    Verdict,
};

use crate::schedule::Wanted;

/// 64 cases, or 4096 when `LOCKGATE_THOROUGH=1`; no files of past failures.
pub(crate) fn config() -> Config {
    Config {
        cases: testing::cases(64, 4096),
        failure_persistence: None,
        ..Config::default()
    }
}

/// What a section does.
pub(crate) type Act = fn(&mut dyn Sink) -> Result<(), RunError>;
type AnyAct = dyn Fn(&mut dyn Sink) -> Result<(), RunError>;

/// A section that does what a test asks of it.
#[derive(Clone)]
pub(crate) struct Fake {
    appetite_s: (u64, u64),
    supported: bool,
    act: Rc<AnyAct>,
}

impl Fake {
    pub(crate) fn hungry(least_s: u64, most_s: u64) -> Self {
        Self {
            appetite_s: (least_s, most_s),
            ..Self::acting(|_| Ok(()))
        }
    }

    pub(crate) fn acting(act: impl Fn(&mut dyn Sink) -> Result<(), RunError> + 'static) -> Self {
        Self {
            appetite_s: (0, 1),
            supported: true,
            act: Rc::new(act),
        }
    }

    pub(crate) fn unsupported(self) -> Self {
        Self {
            supported: false,
            ..self
        }
    }

    pub(crate) fn wanted(self) -> Wanted {
        Wanted::from(Box::new(self) as Box<dyn Section>)
    }
}

impl Section for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn title(&self) -> &'static str {
        "A fake"
    }

    fn command(&self) -> String {
        "lockgate run fake".to_owned()
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::json!({ "supported": self.supported })
    }

    fn appetite(&self) -> (Duration, Duration) {
        let (least_s, most_s) = self.appetite_s;
        (Duration::from_secs(least_s), Duration::from_secs(most_s))
    }

    fn plan(&self, _: &Probe, budget: Duration) -> Result<Plan, PlanError> {
        if !self.supported {
            return Err(PlanError::NotSupported {
                reason: "no such card".to_owned(),
                remedy: "plug one in".to_owned(),
            });
        }
        Ok(Plan {
            seconds: budget.as_secs_f64(),
            ..Plan::default()
        })
    }

    fn run(&self, _: &Probe, _: &Plan, sink: &mut dyn Sink) -> Result<(), RunError> {
        (self.act)(sink)
    }
}

/// A point with one metric, told apart by `number`.
pub(crate) fn point(number: u64) -> Point {
    Point {
        dimensions: [("number".to_owned(), Dimension::from(number))].into(),
        metrics: vec![],
        verdict: Verdict::valid(),
        command: String::new(),
        histogram: String::new(),
    }
}

/// A table with that cell.
pub(crate) fn table(cell: Cell) -> Table {
    Table {
        title: "Speeds".to_owned(),
        note: String::new(),
        columns: vec![],
        rows: vec![vec![Cell::Empty, cell]],
        command: String::new(),
    }
}

/// A run that has not begun.
pub(crate) fn blank_run() -> Run {
    Run {
        schema: trial::SCHEMA_VERSION,
        build: Build {
            version: "0".to_owned(),
            git_revision: "unknown".to_owned(),
            libraries: std::collections::BTreeMap::new(),
        },
        host: "host".to_owned(),
        started_utc: "2026-01-02T03:04:05Z".to_owned(),
        seconds: 0.0,
        command: "lockgate run".to_owned(),
        seed: 1,
        interrupted: false,
        scenario: serde_json::Value::Null,
        sections: vec![],
        probe: Probe::default(),
    }
}
