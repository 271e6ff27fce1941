//! The section itself.

use std::time::Duration;

use crate::kspeed::method::Method;
use trial::{Event, Plan, PlanError, Price, Probe, RunError, Section, Sink};

use crate::kspeed::cell::grid;
use crate::kspeed::charts;
use crate::kspeed::clock::Clock;
use crate::kspeed::comparisons;
use crate::kspeed::config::{Config, Table};
use crate::kspeed::context::{Conditions, Context, HostFacts};
use crate::kspeed::end::End;
use crate::kspeed::findings;
use crate::kspeed::guest::{self, Parts};
use crate::kspeed::guest_facts::GuestFacts;
use crate::kspeed::measure::Bench;
use crate::kspeed::points;
use crate::kspeed::schedule::Schedule;
use crate::kspeed::scripts;
use crate::kspeed::shell::Shell;
use crate::kspeed::tables;
use crate::kspeed::watched;
use kit::ConfigError;
use kit::host::Host;
use kit::invocation::command;
use kit::running::failed;

const NAME: &str = "kspeed";
/// The process is QEMU's own program; its name in process lists.
const CREATES: &str = "one QEMU process; it ends with the section, and with lockgate";
const LOG_LIMIT: Duration = Duration::from_secs(20);

/// Section `kspeed`, configured.
pub struct Kspeed(Config);

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    let config = Config::try_from(kit::config::from_table::<Table>(table)?)?;
    Ok(Box::new(Kspeed(config)))
}

impl Section for Kspeed {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Asynchronous crypto of a kernel, and how much of it each benchmark shows"
    }

    fn command(&self) -> String {
        command(NAME, &self.0.table)
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(&self.0.table).expect("plain strings and numbers")
    }

    fn appetite(&self) -> (Duration, Duration) {
        Schedule::appetite(&self.0)
    }

    fn plan(&self, _probe: &Probe, budget: Duration) -> Result<Plan, PlanError> {
        let parts = Parts::find(&self.0)?;
        let schedule = Schedule::within(&self.0, budget)?;
        Ok(Plan {
            seconds: schedule.seconds(),
            steps: vec![parts.step(), schedule.step()],
            creates: vec![CREATES.to_owned()],
            ..Plan::default()
        })
    }

    fn run(&self, probe: &Probe, plan: &Plan, sink: &mut dyn Sink) -> Result<(), RunError> {
        // The plan's own seconds give its own schedule again; the margin is
        // for rounding.
        let budget = Duration::from_secs_f64(plan.seconds + 0.001);
        let changed = |error| failed("the host changed since the plan was made", error);
        let parts = Parts::find(&self.0).map_err(changed)?;
        let schedule = Schedule::within(&self.0, budget).map_err(changed)?;
        sink.emit(Event::Progress(0.0, "booting the guest".to_owned()));
        let (mut shell, facts) = guest::boot(&self.0, &parts, sink)?;
        let host = Host::of(Some(probe));
        self.measure(&mut shell, (&facts, &host), &schedule, sink)
    }
}

impl Kspeed {
    fn measure(
        &self,
        shell: &mut dyn Shell,
        (guest, host): (&GuestFacts, &Host),
        schedule: &Schedule,
        sink: &mut dyn Sink,
    ) -> Result<(), RunError> {
        let (config, command) = (&self.0, self.command());
        let conditions = Conditions {
            config,
            guest,
            host: HostFacts {
                l2_bytes: host.l2_bytes,
                cpu_count: host.cpus.len(),
            },
            command: &command,
        };
        let mut cells = grid(config);
        let end = match watched::run(shell, sink, scripts::clock(), LOG_LIMIT) {
            Err(unfinished) => End::from(unfinished),
            Ok(log) => {
                let mut bench = Bench {
                    shell,
                    config,
                    schedule,
                    clock: Clock::of_log(&log.text),
                    cpus: &host.cpus,
                };
                bench.measure(&mut cells, sink, |cells, sink| {
                    emit_points(&conditions.over(cells), sink);
                })
            }
        };
        emit(&conditions.over(&cells), &end, sink);
        end.result()
    }
}

fn emit_points(context: &Context<'_>, sink: &mut dyn Sink) {
    let points = points::points(context);
    points
        .into_iter()
        .for_each(|point| sink.emit(Event::Point(point)));
}

/// A request that a driver's caller waits for, in the smallest size.
fn prices<'a>(context: &'a Context<'_>) -> impl Iterator<Item = Price> + 'a {
    let waits = context.cells.iter().filter(|cell| cell.place.threads == 1);
    let least = waits.clone().map(|cell| cell.place.size_bytes).min();
    waits.filter_map(move |cell| {
        let is_told = Some(cell.place.size_bytes) == least && context.is_valid(cell, Method::Sync);
        let rates = cell.arm(Method::Sync).filter(|_| is_told)?.rates();
        let rounds_ns: Vec<_> = rates.iter().map(|rate| 1e9 / rate).collect();
        let name = match context.guest.is_emulated() {
            true => format!("request to {}, emulated", cell.place.driver.what),
            false => format!("request to {}", cell.place.driver.what),
        };
        Price::of_rounds(name, &rounds_ns)
    })
}

fn emit(context: &Context<'_>, end: &End, sink: &mut dyn Sink) {
    emit_points(context, sink);
    let ratios = comparisons::ratios(context);
    let findings = findings::findings(context, &ratios, end);
    let tables = tables::tables(context, &ratios);
    let events = (findings.into_iter().map(Event::Finding))
        .chain(charts::charts(context).into_iter().map(Event::Chart))
        .chain(tables.into_iter().map(Event::Table));
    events.for_each(|event| sink.emit(event));
    prices(context).for_each(|price| sink.emit(Event::Price(price)));
    let ratios = ratios.into_iter().map(|ratio| ratio.comparison);
    ratios.for_each(|ratio| sink.emit(Event::Comparison(ratio)));
    sink.emit(Event::Progress(1.0, "kspeed".to_owned()));
}
