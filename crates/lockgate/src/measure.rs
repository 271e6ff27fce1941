//! A measurement from its plan to its stored result; what `run` and `speed`
//! have in common.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use kit::ConfigError;
use kit::config::value::Value as _;
use lab::budget::DEFAULT_BUDGET;
use lab::runner;
use lab::saver::Saver;
use lab::scenario::DEFAULT_SEED;
use lab::schedule::{Scheduled, Wanted, schedule};
use lab::store::{REPORT, Store, result_bytes};
use probe::Host;
use report::terminal::Saved;
use sys::failure::with_causes;
use trial::{Plan, PlanError, Probe, Run, SCHEMA_VERSION, Section, SectionState, Validity};

use crate::build::build;
use crate::cli::{ExportArguments, MeasuringArguments};
use crate::command_line;
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::export;
use crate::interrupt;
use crate::plan_text;
use crate::progress::Progress;
use crate::render;

pub struct Job {
    pub sections: Vec<Wanted>,
    pub scenario: serde_json::Value,
    pub seed: u64,
    pub budget: Duration,
}

/// One section, as a command's flags configure it.
pub struct Alone {
    pub section: &'static str,
    /// As the result calls it.
    pub name: &'static str,
    pub table: toml::Table,
}

/// Measures one section; `by_flag` names the flag that is wrong.
pub fn section(
    alone: Alone,
    by_flag: impl FnOnce(ConfigError) -> anyhow::Error,
    (how, export): (&MeasuringArguments, &ExportArguments),
    console: &Console,
) -> Result<Exit, Failure> {
    let kind = sections::section(alone.section).expect("the registry has those of commands");
    let (seed, mut table) = (how.seed.unwrap_or(DEFAULT_SEED), alone.table);
    table.insert("seed".to_owned(), seed.written());
    if let Some(share) = how.precision {
        table.insert("precision".to_owned(), share.into());
    }
    let section = (kind.parse)(table).map_err(by_flag).or_usage()?;
    let sections = serde_json::json!({ alone.section: section.resolved() });
    let job = Job {
        sections: vec![section.into()],
        scenario: serde_json::json!({ "name": alone.name, "sections": sections }),
        seed,
        budget: how.budget.unwrap_or(DEFAULT_BUDGET),
    };
    measure(job, how, export, console)
}

pub fn measure(
    job: Job,
    how: &MeasuringArguments,
    export: &ExportArguments,
    console: &Console,
) -> Result<Exit, Failure> {
    export::check(&export.exports)?;
    let probe = probe::probe(&Host::this());
    let scheduled = schedule(job.sections, &probe, job.budget);
    if how.check {
        console.print(&plan_text::plan(&scheduled, job.budget, &how.out))?;
        return refuse_the_impossible(&scheduled).map(|()| Exit::Ok);
    }
    refuse_the_impossible(&scheduled)?;
    let interrupted = interrupt::flag().or_failed()?;
    sweep(console);
    let head = head(job.scenario, job.seed, probe);
    let store = Store::create(&how.out, &head.started_utc, &head.host).or_usage()?;
    console.notice(&plan_text::notice(&scheduled, store.folder()));
    let (run, stored) = run(scheduled, head, store, &interrupted, console);
    // What could not be put back is said now, and tried once more.
    sweep(console);
    finish(&run, &stored, (how, export), console)
}

/// Before anything is made: what is found now belongs to other runs.
pub fn sweep(console: &Console) {
    let leftovers = lab::leftovers::sweep();
    if !leftovers.removed.is_empty() {
        console.notice(&format!(
            "removed what a run left: {}",
            leftovers.removed.join(", ")
        ));
    }
    for complaint in &leftovers.complaints {
        console.warning(complaint);
    }
}

/// A run in which nothing would be measured is refused with its reason: the
/// host lacks something (4), or the budget is too small (2).
fn refuse_the_impossible(scheduled: &[Scheduled]) -> Result<(), Failure> {
    let skips = || {
        scheduled
            .iter()
            .filter_map(|each| each.plan.as_ref().err().map(|skip| (each, skip)))
    };
    let measures = |each: &Scheduled| each.plan.as_ref().is_ok_and(|plan| plan.seconds > 0.0);
    let too_small = skips().find(|(_, skip)| matches!(skip, PlanError::Budget { .. }));
    if let Some((each, skip)) = too_small.filter(|_| !scheduled.iter().any(measures)) {
        return Err(refusal(Exit::Usage, each, skip));
    }
    let idle = scheduled.iter().all(|each| each.plan.is_err());
    match skips().next().filter(|_| idle) {
        Some((each, skip)) => Err(refusal(Exit::Missing, each, skip)),
        None => Ok(()),
    }
}

fn refusal(exit: Exit, scheduled: &Scheduled, why: &PlanError) -> Failure {
    let name = scheduled.section.name();
    Failure::new(exit, format!("{name} cannot run: {why}"))
}

fn head(scenario: serde_json::Value, seed: u64, probe: Probe) -> Run {
    Run {
        schema: SCHEMA_VERSION,
        build: build(),
        host: probe::site::name(),
        started_utc: probe::site::utc_now(),
        seconds: 0.0,
        command: command_line::this(),
        seed,
        interrupted: false,
        scenario,
        sections: vec![],
        probe,
    }
}

struct Stored {
    folder: String,
    /// The file to name to the user: the report, or the result without one.
    place: String,
    /// Whether `result.json` holds the whole run.
    complete: bool,
}

fn run(
    scheduled: Vec<Scheduled>,
    head: Run,
    store: Store,
    interrupted: &AtomicBool,
    console: &Console,
) -> (Run, Stored) {
    let mut keeper = Keeper {
        saver: Saver::new(store),
        progress: Progress::new(console),
        console,
        complaint: None,
    };
    runner::Watcher::changed(&mut keeper, &head, true);
    if let Err(error) = keeper.saver.store().link_latest() {
        console.warning(&with_causes(&error));
    }
    let run = runner::run(scheduled, head, interrupted, &mut keeper);
    keeper.progress.end();
    let stored = keeper.store_all(&run);
    (run, stored)
}

/// Stores a run while it grows, and shows progress.
struct Keeper<'a> {
    saver: Saver,
    progress: Progress,
    console: &'a Console,
    /// The last message about storing, so that it is printed once.
    complaint: Option<String>,
}

impl Keeper<'_> {
    fn complain(&mut self, error: sys::failure::Failure) {
        let complaint = with_causes(&error);
        if self.complaint.as_ref() != Some(&complaint) {
            self.progress.suspend(|| self.console.warning(&complaint));
            self.complaint = Some(complaint);
        }
    }

    fn store_all(&mut self, run: &Run) -> Stored {
        let complete = self
            .saver
            .keep(run, true)
            .map_err(|error| self.complain(error))
            .is_ok();
        let report = self.saver.store().save_report(&render::html(run));
        let file = match report.map_err(|error| self.complain(error)) {
            Ok(()) => REPORT,
            Err(()) => lab::store::RESULT,
        };
        let place = if complete {
            self.saver.store().folder().join(file).display().to_string()
        } else {
            String::new()
        };
        Stored {
            folder: self.saver.store().folder().display().to_string(),
            place,
            complete,
        }
    }
}

impl runner::Watcher for Keeper<'_> {
    fn begins(&mut self, section: &dyn Section, plan: &Plan) {
        self.progress.begin(section.name(), plan.seconds);
    }

    fn progress(&mut self, share: f64, now: &str) {
        self.progress.advance(share, now);
    }

    fn changed(&mut self, run: &Run, milestone: bool) {
        if let Err(error) = self.saver.keep(run, milestone) {
            self.complain(error);
        }
    }
}

fn finish(
    run: &Run,
    stored: &Stored,
    (how, export): (&MeasuringArguments, &ExportArguments),
    console: &Console,
) -> Result<Exit, Failure> {
    if !export::takes_stdout(&export.exports) {
        let saved = Saved {
            run: &stored.folder,
            report: &stored.place,
        };
        console.print_coloured(&render::summary(run, console, how.full, saved))?;
    }
    export::write(&export.exports, run, console)?;
    if !stored.complete {
        // Nothing is lost: what no file took goes to stdout.
        if !export::takes_stdout(&export.exports) {
            console.pass_on(&result_bytes(run))?;
        }
        return Err(Failure::new(
            Exit::Failed,
            "the results could not be stored; they are on stdout",
        ));
    }
    if run.interrupted {
        console.warning(&format!(
            "interrupted; what was measured until then is in {}",
            stored.place
        ));
    }
    Ok(verdict(run))
}

fn verdict(run: &Run) -> Exit {
    let failed =
        |section: &trial::SectionResult| matches!(section.state, SectionState::Failed { .. });
    if run.interrupted {
        Exit::Interrupted
    } else if run.sections.iter().any(failed) {
        Exit::Failed
    } else if has_only_unsupported_points(run) {
        Exit::Missing
    } else {
        Exit::Ok
    }
}

/// Whether there was something to measure and the host could do none of it.
fn has_only_unsupported_points(run: &Run) -> bool {
    let mut points = run
        .sections
        .iter()
        .flat_map(|section| &section.points)
        .peekable();
    points.peek().is_some() && points.all(|point| point.verdict.validity == Validity::NotSupported)
}

#[cfg(test)]
mod tests;
