//! An experiment as a section of a run.

use std::rc::Rc;
use std::time::Duration;

use probe::tier;
use trial::{Event, Plan, PlanError, Probe, RunError, Section, Sink, Weight};

use crate::ConfigError;
use crate::closing::{clock, closing};
use crate::config::keys::{self, Key, Table};
use crate::derived::{charts, points, tables};
use crate::experiment::{Experiment, Results, Rig};
use crate::host::Host;
use crate::plan::{self, Job};
use crate::rounds::{End, failed, measure};
use crate::told::told;
use crate::view::View;
use crate::words::finding;

/// Turns a scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse<E: Experiment>(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    let experiment = E::new(keys::parse(&table)?)?;
    Ok(Box::new(Configured(Rc::new(experiment))))
}

/// The options of an experiment.
pub fn options<E: Experiment>() -> Vec<Key> {
    E::Config::keys()
}

/// The command that measures it again.
pub fn command<E: Experiment>(experiment: &E) -> String {
    let flags = keys::flags(experiment.config());
    format!("{} run {}{flags}", tier::program(), E::NAME)
}

struct Configured<E>(Rc<E>);

impl<E: Experiment> Section for Configured<E> {
    fn name(&self) -> &'static str {
        E::NAME
    }

    fn title(&self) -> &'static str {
        E::TITLE
    }

    fn command(&self) -> String {
        command(self.0.as_ref())
    }

    fn resolved(&self) -> serde_json::Value {
        let written = self.0.config().written();
        serde_json::to_value(written).expect("plain strings and numbers")
    }

    fn appetite(&self) -> (Duration, Duration) {
        let host = Host::of(None);
        let (_, least, most) = plan::appetite(self.0.as_ref(), &self.0.subjects(&host));
        (least, most)
    }

    fn minimum(&self) -> Duration {
        let host = Host::of(None);
        plan::appetite(self.0.as_ref(), &self.0.subjects(&host)).0
    }

    fn plan(&self, probe: &Probe, budget: Duration) -> Result<Plan, PlanError> {
        self.0.needs(probe)?;
        let host = Host::of(Some(probe));
        let subjects = self.0.subjects(&host);
        plan::any(self.0.as_ref(), &host, &subjects)?;
        let job = Rc::new(plan::job(self.0.as_ref(), &subjects, budget)?);
        let steps = [
            Some(job.step()),
            job.left_out.clone(),
            self.0.left_out(&host),
        ];
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let experiment = Rc::clone(&self.0);
        Ok(Plan {
            seconds: job.seconds(),
            steps: steps.into_iter().flatten().chain(self.0.steps()).collect(),
            privileges: owned(E::PRIVILEGES),
            creates: owned(E::CREATES),
            job: trial::Job::new(move |sink| run(experiment.as_ref(), &host, &job, sink)),
            ..Plan::default()
        })
    }
}

fn run<E: Experiment>(
    experiment: &E,
    host: &Host,
    job: &Job<E>,
    sink: &mut dyn Sink,
) -> Result<(), RunError> {
    match experiment.rig(host, &job.subjects) {
        Ok(mut rig) => run_with(experiment, host, job, rig.as_mut(), sink),
        Err(stopped) => failed("it did not start".to_owned(), stopped).result(),
    }
}

/// Measures with that rig, and reports the results, whatever ends it.
///
/// # Errors
/// [`RunError`]; what was measured is reported.
pub fn run_with<E: Experiment>(
    experiment: &E,
    host: &Host,
    job: &Job<E>,
    rig: &mut dyn Rig<E>,
    sink: &mut dyn Sink,
) -> Result<(), RunError> {
    let command = command(experiment);
    let mut results = Results::new(experiment, host, &job.subjects, (job.slice_s, &command));
    let end = measure(rig, job, &mut results, sink);
    results.notes = rig.notes();
    results.conclude();
    points::emit(&results, true, sink);
    tell(&results, job, &end, sink);
    sink.emit(Event::Progress(1.0, E::NAME.to_owned()));
    end.result()
}

fn tell<E: Experiment>(results: &Results<'_, E>, job: &Job<E>, end: &End, sink: &mut dyn Sink) {
    let experiment = results.experiment;
    let tried = results.tried();
    let mut findings = vec![E::QUESTION.headline(experiment.answer(results), &tried)];
    findings.extend(experiment.findings(results));
    findings.extend(told(&tried));
    let of_time = "A larger --budget has it; so do fewer of other things.";
    let of_host = "It is measured where the host has what is missing.";
    for (left_out, remedy) in [
        (job.left_out.clone(), of_time),
        (experiment.left_out(results.host), of_host),
    ] {
        let text = left_out.map(|what| format!("Left out: {what}."));
        findings.extend(text.map(|text| finding(Weight::Note, text, remedy)));
    }
    findings.extend(clock(results.usual().steps_ns()));
    let told = results.told().iter();
    let comparisons: Vec<_> = told.map(|told| told.ratio.comparison.clone()).collect();
    if let End::Complete(stop) = end {
        let rounds = results.series.iter();
        let rounds = rounds.filter_map(|series| series.rounds.keys().last());
        let rounds = rounds.max().map_or(0, |last| last + 1);
        findings.extend(closing(*stop, rounds, &comparisons));
    }
    findings.extend(end.finding());
    emit(sink, findings, Event::Finding);
    emit(sink, experiment.prices(results), Event::Price);
    emit(sink, comparisons, Event::Comparison);
    for view in experiment.views() {
        match view {
            View::Lines(lines) => emit(sink, charts::lines(results, &lines), Event::Chart),
            View::Rows(rows) => emit(sink, charts::rows(results, &rows), Event::Chart),
            View::Table(sheet) => emit(sink, tables::sheet(results, &sheet), Event::Table),
        }
    }
    emit(sink, experiment.more(results), |event| event);
}

fn emit<T>(sink: &mut dyn Sink, all: impl IntoIterator<Item = T>, event: impl Fn(T) -> Event) {
    all.into_iter().for_each(|one| sink.emit(event(one)));
}
