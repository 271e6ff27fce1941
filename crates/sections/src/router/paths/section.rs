//! The section itself.

use trial::{Event, Sink};

use crate::router::paths::charts;
use crate::router::paths::claims::claims;
use crate::router::paths::config::{Config, Table};
use crate::router::paths::context::Context;
use crate::router::paths::findings;
use crate::router::paths::grid::grid;
use crate::router::paths::points;
use crate::router::paths::tables;
use forward::router::path::Path;
use kit::routers::end::End;
use kit::routers::rig::Build;
use kit::routers::rounds::{self, Rigs};
use kit::routers::section::{InRounds, On};
use kit::routers::subject::Subject;
use kit::routers::trial::Trial;
use kit::routers::way::Way;
use kit::schedule::Wishes;

/// Seconds of a trial: several times a scheduler's slice, and no longer than
/// helps.
const SLICE_S: (f64, f64) = (0.15, 0.5);
/// Starting the port, waiting for frames on their way, counting.
const OVERHEAD_S: f64 = 0.15;
/// Namespaces, interfaces, routes, and until a frame passes.
const START_S: f64 = 0.5;

impl InRounds for Config {
    const NAME: &'static str = "router-paths";
    const TITLE: &'static str =
        "Forwarding paths: what XDP, AF_XDP, polling, batching and queues give";

    type Table = Table;

    fn table(&self) -> &Table {
        &self.table
    }

    /// What spins is started anew for every trial.
    fn wishes(&self) -> Wishes {
        let subjects = grid(self, &[0, 1]);
        let spinning = subjects.iter().filter(|one| one.way().spins()).count();
        let staying = subjects.len() - spinning;
        let trials = subjects.len();
        Wishes {
            trials,
            slice_s: SLICE_S,
            pairs: self.pairs,
            seconds: self.seconds,
            start_s: START_S * staying as f64,
            overhead_s: OVERHEAD_S + START_S * spinning as f64 / trials.max(1) as f64,
        }
    }

    fn narrower(&self) -> Option<(Self, &'static str)> {
        let few = self.few()?;
        Some((
            few,
            "without AF_XDP's other settings, destinations and routes: there is no time for them (--budget)",
        ))
    }

    fn measure(&self, on: On<'_>, build: Build<'_>, sink: &mut dyn Sink) -> End {
        let (schedule, cpus, command) = (on.schedule, on.cpus, on.command);
        let mut subjects = grid(self, cpus);
        let mut rigs = Rigs::new(build);
        let end = rounds::measure(
            &mut rigs,
            &mut subjects,
            schedule,
            self.seed,
            sink,
            |subjects: &[Subject], sink: &mut dyn Sink| {
                let points = points::points(subjects, command).into_iter();
                points.for_each(|point| sink.emit(Event::Point(point)));
            },
        );
        drop(rigs);
        let claims = claims(self, &subjects, command);
        let context = Context {
            config: self,
            slice: schedule.slice,
            subjects: &subjects,
            claims: &claims.answered,
            open: &claims.open,
            command,
        };
        results(&context, &end)
            .into_iter()
            .for_each(|event| sink.emit(event));
        end
    }
}

fn results(context: &Context<'_>, end: &End) -> Vec<Event> {
    let points = points::points(context.subjects, context.command);
    let comparisons = context
        .claims
        .iter()
        .map(|claim| claim.ratio.comparison.clone());
    (points.into_iter().map(Event::Point))
        .chain(
            findings::findings(context, end)
                .into_iter()
                .map(Event::Finding),
        )
        .chain(tables::tables(context).into_iter().map(Event::Table))
        .chain(charts::charts(context).into_iter().map(Event::Chart))
        .chain(prices(context).map(Event::Price))
        .chain(comparisons.map(Event::Comparison))
        .collect()
}

/// The router's CPU time of one frame, by the kernel and by the fastest that
/// routes as it does.
fn prices(context: &Context<'_>) -> impl Iterator<Item = trial::Price> {
    let ways = [Way::KERNEL, Way::of(Path::XdpFibCached)];
    ways.into_iter().filter_map(|way| {
        let subject = context.subject(way, context.destinations())?;
        let rounds_ns = (subject.series).values(Trial::router_ns_per_frame);
        let is_valid = subject.series.is_valid();
        let name = format!("frame, {}", way.what());
        trial::Price::of_rounds(name, &rounds_ns).filter(|_| is_valid)
    })
}
