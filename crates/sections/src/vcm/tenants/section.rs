//! The section itself.

use std::time::Duration;

use trial::stats::median;
use trial::{Event, Plan, PlanError, Probe, RunError, Section, Sink};

use crate::vcm::tenants::case::Case;
use crate::vcm::tenants::charts;
use crate::vcm::tenants::config::{Config, Table};
use crate::vcm::tenants::context::Context;
use crate::vcm::tenants::findings;
use crate::vcm::tenants::points;
use crate::vcm::tenants::seats::{Seats, setup};
use crate::vcm::tenants::tables;
use crate::vcm::tenants::trials::{End, Measured, Trials};
use kit::ConfigError;
use kit::host::Host;
use kit::invocation::command;
use kit::load::cell::Series;
use kit::load::rig::{Bench, Cores};
use kit::load::verdict::Conditions;
use kit::place::Placement;
use kit::places::Places;
use kit::running::{self, failed};
use kit::schedule::{OVERHEAD_S, Wishes};

const NAME: &str = "vcm-tenants";
/// Shorter gives the slow tenants too few turns; longer says no more than
/// another round would.
const SLICE_S: (f64, f64) = (0.02, 0.1);
/// Starting the bench, an RSA key, and filling the memory, seconds.
const START_S: f64 = 1.0;
/// What hostile tenants have in flight must be done before the next trial.
const HOSTILE_S: f64 = 0.06;
/// Rounds that may be.
const ROUNDS_MAX: usize = 9;

/// Section `vcm-tenants`, configured.
pub struct VcmTenants(Config);

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    let config = Config::try_from(kit::config::from_table::<Table>(table)?)?;
    Ok(Box::new(VcmTenants(config)))
}

impl VcmTenants {
    fn places(host: &Host) -> Places {
        Places::of(&[Placement::Split], &host.cpus)
    }

    fn wishes(&self) -> Wishes {
        let rounds = self.0.pairs.unwrap_or(ROUNDS_MAX);
        let hostile_s = HOSTILE_S * (rounds * self.0.hostile.len()) as f64;
        Wishes {
            trials: Case::all(&self.0).len(),
            slice_s: SLICE_S,
            pairs: self.0.pairs,
            seconds: self.0.seconds,
            start_s: START_S + hostile_s,
            overhead_s: OVERHEAD_S,
        }
    }
}

impl Section for VcmTenants {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "VCM: virtual functions, equal, weighted, and beside a hostile one"
    }

    fn command(&self) -> String {
        command(NAME, &self.0.table)
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(&self.0.table).expect("plain strings and numbers")
    }

    fn appetite(&self) -> (Duration, Duration) {
        self.wishes().appetite()
    }

    fn plan(&self, probe: &Probe, budget: Duration) -> Result<Plan, PlanError> {
        let places = Self::places(&Host::of(Some(probe)));
        if places.kept.is_empty() {
            // The shared core that others suggest would not do here.
            return Err(PlanError::NotSupported {
                reason: "shares are told apart only where clients and worker have a CPU each: this process may use one".to_owned(),
                remedy: "allow more CPUs (taskset, cpuset)".to_owned(),
            });
        }
        let choices = vec![((), self.wishes())];
        running::plan(&self.0.backend, &places, choices, budget, |()| None)
    }

    fn run(&self, probe: &Probe, plan: &Plan, sink: &mut dyn Sink) -> Result<(), RunError> {
        let host = Host::of(Some(probe));
        let places = Self::places(&host);
        let Some(&(_, cores)) = places.kept.first() else {
            let error = std::io::Error::other("the second CPU is gone");
            return Err(failed("the host changed since the plan was made", error));
        };
        let ((), schedule) = running::planned(vec![((), self.wishes())], plan)?;
        let seats = Seats::of_config(&self.0);
        let (setup, workload) =
            setup(&self.0, seats, cores).map_err(|error| failed("no workload", error))?;
        let mut bench =
            Bench::start(&setup).map_err(|error| failed("the bench did not start", error))?;
        let stride = workload.slot.stride;
        let cases = Case::all(&self.0).into_iter();
        let mut measured: Vec<_> = cases
            .map(|case| Measured {
                case,
                series: Series::default(),
            })
            .collect();
        let mut trials = Trials {
            config: &self.0,
            seats,
            bench: &mut bench,
            workload,
            l2_bytes: host.l2_bytes,
        };
        let end = trials.run(&mut measured, &schedule, sink);
        drop(bench);
        let command = self.command();
        let context = Context {
            config: &self.0,
            seats,
            measured: &measured,
            conditions: conditions(&measured, cores, host.l2_bytes),
            stride,
            command: &command,
        };
        emit(&context, &end, sink);
        match end {
            End::Complete | End::Late(_) => Ok(()),
            End::Interrupted => Err(RunError::Interrupted),
            End::Failed(error) => Err(failed("a trial failed", error)),
        }
    }
}

fn conditions(measured: &[Measured], cores: Cores, l2_bytes: u64) -> Conditions {
    let trials = measured.iter().flat_map(|one| one.series.trials.values());
    let steps: Vec<_> = trials.filter_map(|trial| trial.facts.step_ns).collect();
    Conditions {
        cores,
        l2_bytes,
        usual_step_ns: median(&steps),
    }
}

fn emit(context: &Context<'_>, end: &End, sink: &mut dyn Sink) {
    let kept = context.kept();
    let findings = findings::findings(context, &kept, end);
    let (charts, tables) = (
        charts::charts(context, &kept),
        tables::tables(context, &kept),
    );
    let events = (points::points(context).into_iter().map(Event::Point))
        .chain(findings.into_iter().map(Event::Finding))
        .chain(
            kept.into_iter()
                .map(|one| Event::Comparison(one.comparison)),
        )
        .chain(charts.into_iter().map(Event::Chart))
        .chain(tables.into_iter().map(Event::Table));
    events.for_each(|event| sink.emit(event));
    sink.emit(Event::Progress(1.0, "tenants".to_owned()));
}
