//! The section itself.

use forward::topology::Cpus;
use trial::{Event, Sink};

use crate::router::scaling::case::{Case, alone, capacity, cases};
use crate::router::scaling::config::{Config, Table};
use crate::router::scaling::context::Context;
use crate::router::scaling::results;
use kit::routers::end::End;
use kit::routers::rig::Build;
use kit::routers::rounds::{self, Rigs};
use kit::routers::section::{InRounds, On};
use kit::routers::subject::Subject;
use kit::schedule::{Schedule, Wishes};

/// Seconds of a trial.
const SLICE_S: (f64, f64) = (0.25, 0.5);
/// Starting the ports, waiting for frames on their way, counting.
const OVERHEAD_S: f64 = 0.25;
/// Namespaces, interfaces, and until a frame passes, for each router.
const START_S: f64 = 0.5;

impl InRounds for Config {
    const NAME: &'static str = "router-scaling";
    const TITLE: &'static str = "Routers side by side, and one that is overloaded";

    type Table = Table;

    fn table(&self) -> &Table {
        &self.table
    }

    fn wishes(&self) -> Wishes {
        let any = Cpus::among(&[0, 1]);
        let all = cases(self, &any, &Ok(1.0));
        let routers: usize = all.iter().map(|(_, subject)| subject.setups.len()).sum();
        Wishes {
            trials: all.len(),
            slice_s: SLICE_S,
            pairs: self.pairs,
            seconds: self.seconds,
            start_s: START_S * (routers + 1) as f64 + SLICE_S.1 + OVERHEAD_S,
            overhead_s: OVERHEAD_S,
        }
    }

    fn measure(&self, on: On<'_>, build: Build<'_>, sink: &mut dyn Sink) -> End {
        let (schedule, command) = (on.schedule, on.command);
        let cpus = &Cpus::among(on.cpus);
        let mut rigs = Rigs::new(build);
        let (alone, early) = first(&mut rigs, (self, schedule, cpus), sink);
        let all = cases(self, cpus, &capacity(&alone));
        let (cases, mut subjects): (Vec<Case>, Vec<Subject>) = all.into_iter().unzip();
        let with = |subjects: &[Subject], act: &mut dyn FnMut(&Context<'_>)| {
            act(&Context {
                config: self,
                slice: schedule.slice,
                cases: &cases,
                subjects,
                command,
            });
        };
        let keep = |subjects: &[Subject], sink: &mut dyn Sink| {
            with(subjects, &mut |context| emit_points(context, sink));
        };
        let seed = self.seed;
        let end = match early {
            End::Complete => rounds::measure(&mut rigs, &mut subjects, schedule, seed, sink, keep),
            early => early,
        };
        drop(rigs);
        with(&subjects, &mut |context| {
            emit_points(context, sink);
            emit_results(context, &end, sink);
        });
        end
    }
}

/// One router alone, once: what is modest depends on what it carries.
fn first(
    rigs: &mut Rigs<'_>,
    (config, schedule, cpus): (&Config, &Schedule, &Cpus),
    sink: &mut dyn Sink,
) -> (Subject, End) {
    let mut once = *schedule;
    (once.rounds, once.trials) = (1, 1);
    let mut alone = [alone(config, cpus)];
    let end = rounds::measure(rigs, &mut alone, &once, config.seed, sink, |_, _| ());
    let [alone] = alone;
    (alone, end)
}

fn emit_points(context: &Context<'_>, sink: &mut dyn Sink) {
    let points = context.points().into_iter();
    points.for_each(|point| sink.emit(Event::Point(point)));
}

fn emit_results(context: &Context<'_>, end: &End, sink: &mut dyn Sink) {
    let ratios = context.ratios();
    let findings = results::findings(context, &ratios, end).into_iter();
    findings.for_each(|finding| sink.emit(Event::Finding(finding)));
    let tables = results::tables(context).into_iter();
    tables.for_each(|table| sink.emit(Event::Table(table)));
    let chart = results::chart(context).into_iter();
    chart.for_each(|chart| sink.emit(Event::Chart(chart)));
    let ratios = ratios.into_iter();
    ratios.for_each(|one| sink.emit(Event::Comparison(one.comparison)));
}
