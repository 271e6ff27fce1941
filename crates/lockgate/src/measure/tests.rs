use std::fs;

use lab::runner::Watcher;
use lab::saver::Saver;
use lab::schedule::{Scheduled, Wanted, schedule};
use lab::store::{Store, load};
use trial::{
    Plan, PlanError, Point, Probe, RunError, Section, SectionResult, SectionState, Sink, Verdict,
};

use super::*;
use crate::LogLines;
use crate::cli::Color;

struct Gate {
    least_s: u64,
    supported: bool,
}

impl Section for Gate {
    fn name(&self) -> &'static str {
        "gate"
    }

    fn title(&self) -> &'static str {
        "A gate"
    }

    fn command(&self) -> String {
        "lockgate run gate".to_owned()
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::json!({})
    }

    fn appetite(&self) -> (Duration, Duration) {
        (
            Duration::from_secs(self.least_s),
            Duration::from_secs(self.least_s),
        )
    }

    fn plan(&self, _: &Probe, budget: Duration) -> Result<Plan, PlanError> {
        if self.supported {
            return Ok(Plan {
                seconds: budget.as_secs_f64(),
                ..Plan::default()
            });
        }
        Err(PlanError::NotSupported {
            reason: "no canal".to_owned(),
            remedy: "dig one".to_owned(),
        })
    }

    fn run(&self, _: &Probe, _: &Plan, _: &mut dyn Sink) -> Result<(), RunError> {
        Ok(())
    }
}

fn planned(gates: &[(u64, bool)], budget_s: u64) -> Vec<Scheduled> {
    let section = |&(least_s, supported): &(u64, bool)| {
        Wanted::from(Box::new(Gate { least_s, supported }) as Box<dyn Section>)
    };
    schedule(
        gates.iter().map(section).collect(),
        &Probe::default(),
        Duration::from_secs(budget_s),
    )
}

fn refused(gates: &[(u64, bool)], budget_s: u64) -> Option<(Exit, String)> {
    let failure = refuse_the_impossible(&planned(gates, budget_s)).err()?;
    Some((failure.exit, failure.error.to_string()))
}

#[test]
fn what_cannot_run_is_wrong_usage_or_a_missing_capability() {
    assert_eq!(refused(&[(0, true)], 10), None);
    assert_eq!(refused(&[(5, true), (5, false)], 10), None);
    assert_eq!(refused(&[(5, true), (50, true)], 10), None);
    for (gates, expected, parts) in [
        (
            &[(0, true), (50, true)][..],
            Exit::Usage,
            ["gate", "50.0 s", "--budget"],
        ),
        (
            &[(5, false)],
            Exit::Missing,
            ["gate", "no canal", "dig one"],
        ),
    ] {
        let (exit, text) = refused(gates, 10).unwrap();
        assert_eq!(exit, expected, "{text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
}

fn point(verdict: Verdict) -> Point {
    let (dimensions, command) = (std::collections::BTreeMap::new(), String::new());
    Point {
        dimensions,
        metrics: vec![],
        verdict,
        command,
        histogram: String::new(),
    }
}

#[test]
fn the_exit_code_is_that_of_the_worst() {
    let section = |state| SectionResult::new(("gate", "A gate"), "", state);
    let mut run = head(serde_json::Value::Null, 1, Probe::default());
    run.sections.push(section(SectionState::Complete));
    assert_eq!(verdict(&run), Exit::Ok);
    run.sections[0].points = vec![point(Verdict::new(
        Validity::NotSupported,
        "one CPU",
        "add one",
    ))];
    assert_eq!(verdict(&run), Exit::Missing);
    run.sections[0].points.push(point(Verdict::valid()));
    assert_eq!(verdict(&run), Exit::Ok);
    run.sections.push(section(SectionState::Failed {
        reason: "leak".to_owned(),
    }));
    assert_eq!(verdict(&run), Exit::Failed);
    run.interrupted = true;
    assert_eq!(verdict(&run), Exit::Interrupted);
}

#[test]
fn results_that_no_file_took_are_known_to_be_unstored() {
    let root = tempfile::tempdir().unwrap();
    let lines = LogLines::start(std::io::stderr()).unwrap();
    let console = Console::new(true, Color::Never, lines);
    let run = head(serde_json::Value::Null, 1, Probe::default());
    let store = Store::create(root.path(), &run.started_utc, &run.host).unwrap();
    let folder = store.folder().to_owned();
    let mut keeper = Keeper {
        saver: Saver::new(store),
        progress: Progress::new(&console),
        console: &console,
        complaint: None,
    };
    keeper.changed(&run, true);
    assert_eq!(load(folder.to_str().unwrap(), root.path()).unwrap(), run);
    assert!(keeper.store_all(&run).complete);
    fs::remove_dir_all(&folder).unwrap();
    let stored = keeper.store_all(&run);
    assert!(!stored.complete && stored.place.is_empty());
    assert!(keeper.complaint.unwrap().contains("report.html"));
}
