//! The section itself.

use forward::topology::Cpus;
use trial::{Event, Sink};

use crate::router::tcp::config::{Config, Table};
use crate::router::tcp::results::{self, Context};
use crate::router::tcp::subject::{Subject, subjects};
use kit::routers::end::End;
use kit::routers::rig::Build;
use kit::routers::rounds::{self, Rigs};
use kit::routers::section::{InRounds, On};
use kit::schedule::Wishes;

/// TCP finds its rate within some round trips, here of microseconds.
const SLICE_S: (f64, f64) = (1.0, 3.0);
/// Starting and ending iperf3 at both ends.
const OVERHEAD_S: f64 = 1.0;
/// Namespaces, interfaces, and until a frame passes.
const START_S: f64 = 0.5;

impl InRounds for Config {
    const NAME: &'static str = "router-tcp";
    const TITLE: &'static str = "TCP through each path, one way and both";
    const CREATES: Option<&'static str> = Some("iperf3 processes");

    type Table = Table;

    fn table(&self) -> &Table {
        &self.table
    }

    fn wishes(&self) -> Wishes {
        let subjects = subjects(self, &Cpus::among(&[0, 1]));
        let spinning = subjects.iter().filter(|one| one.way.spins()).count();
        Wishes {
            trials: subjects.len(),
            slice_s: SLICE_S,
            pairs: self.pairs,
            seconds: self.seconds,
            start_s: START_S * self.ways.len() as f64,
            overhead_s: OVERHEAD_S + START_S * spinning as f64 / subjects.len().max(1) as f64,
        }
    }

    fn means() -> String {
        "with iperf3, one connection each way".to_owned()
    }

    fn measure(&self, on: On<'_>, build: Build<'_>, sink: &mut dyn Sink) -> End {
        let (schedule, command) = (on.schedule, on.command);
        let cpus = &Cpus::among(on.cpus);
        let mut subjects = subjects(self, cpus);
        let mut rigs = Rigs::new(build);
        let keep = |subjects: &[Subject], sink: &mut dyn Sink| {
            let context = Context {
                config: self,
                subjects,
                command,
            };
            let points = results::points(&context).into_iter();
            points.for_each(|point| sink.emit(Event::Point(point)));
        };
        let seed = self.seed;
        let end = rounds::measure(&mut rigs, &mut subjects, schedule, seed, sink, keep);
        drop(rigs);
        let context = Context {
            config: self,
            subjects: &subjects,
            command,
        };
        let events = results::events(&context, &end).into_iter();
        events.for_each(|event| sink.emit(event));
        end
    }
}
