//! The section itself.

use std::time::Duration;

use trial::{Event, Plan, PlanError, Probe, RunError, Section, Sink};

use crate::speed::measure::End;
use crate::speed::peers::charts;
use crate::speed::peers::comparisons;
use crate::speed::peers::config::{Config, Table};
use crate::speed::peers::findings;
use crate::speed::peers::grid::Peers;
use crate::speed::peers::invocation::invocation;
use crate::speed::peers::measure::{Results, measure};
use crate::speed::peers::points;
use crate::speed::peers::schedule::Schedule;
use crate::speed::peers::table;
use kit::ConfigError;
use kit::host::Host;
use probe::tier;

/// Section `crypto-peers`, configured.
pub struct CryptoPeers(Config);

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    let config = Config::try_from(kit::config::from_table::<Table>(table)?)?;
    Ok(Box::new(CryptoPeers(config)))
}

impl CryptoPeers {
    fn peers(&self, probe: Option<&Probe>) -> Peers {
        let host = Host::of(probe);
        Peers::of(&self.0, host)
    }
}

impl Section for CryptoPeers {
    fn name(&self) -> &'static str {
        "crypto-peers"
    }

    fn title(&self) -> &'static str {
        "Every algorithm beside its peers"
    }

    fn command(&self) -> String {
        invocation(&self.0.table, self.0.table.pairs)
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(&self.0.table).expect("plain strings and numbers")
    }

    fn appetite(&self) -> (Duration, Duration) {
        let (least_s, most_s) = Schedule::appetite(&self.0, &self.peers(None));
        (
            Duration::from_secs_f64(least_s),
            Duration::from_secs_f64(most_s),
        )
    }

    fn plan(&self, probe: &Probe, budget: Duration) -> Result<Plan, PlanError> {
        if let Some(tier::Unmaskable { reason, remedy }) = tier::cannot_mask(self.0.backend.name())
        {
            return Err(PlanError::NotSupported { reason, remedy });
        }
        let peers = self.peers(Some(probe));
        let schedule = Schedule::new(&self.0, &peers, budget)?;
        let until = match schedule.limits.precision.filter(|_| schedule.grows()) {
            Some(share) => format!(
                "; more while time is left and a ratio is wider than ±{}%",
                share * 100.0
            ),
            None => String::new(),
        };
        let mut steps = vec![format!(
            "{} rows, up to {} rounds, {} trials in shuffled order, ours of {:.0} ms{until}",
            schedule.rows.len(),
            schedule.rounds(),
            schedule.trials(),
            schedule.slice_s * 1e3,
        )];
        steps.extend(findings::unmasked(&self.0).into_iter().map(|it| it.text));
        steps.extend(findings::missing(&self.0, &peers).map(|finding| finding.text));
        let left = schedule.left_out();
        if !left.is_empty() {
            steps.push(format!("no time for: {}", left.join("; ")));
        }
        let mut creates = Vec::new();
        if peers.has_dpdk {
            creates.push(
                "a folder lockgate-dpdk-… among the temporary files, while DPDK runs".to_owned(),
            );
        }
        Ok(Plan {
            seconds: schedule.limits.seconds,
            steps,
            creates,
            ..Plan::default()
        })
    }

    fn run(&self, probe: &Probe, plan: &Plan, sink: &mut dyn Sink) -> Result<(), RunError> {
        let peers = self.peers(Some(probe));
        // The plan's own seconds give the plan's own schedule again; the
        // margin is for rounding.
        let budget = Duration::from_secs_f64(plan.seconds + 0.001);
        let schedule =
            Schedule::new(&self.0, &peers, budget).map_err(|error| RunError::Failed {
                context: "the host changed since the plan was made".to_owned(),
                source: Some(Box::new(error)),
            })?;
        let results = measure(&self.0, &peers, &schedule, sink);
        self.emit(&peers, &schedule, &results, sink);
        match results.end {
            End::Complete | End::Late(_) => Ok(()),
            End::Interrupted => Err(RunError::Interrupted),
            End::Failed(error) => Err(RunError::Failed {
                context: "a trial failed".to_owned(),
                source: Some(Box::new(error)),
            }),
        }
    }
}

impl CryptoPeers {
    fn emit(&self, peers: &Peers, schedule: &Schedule, results: &Results, sink: &mut dyn Sink) {
        let config = &self.0;
        let points = |row| points::points(config, peers, schedule, row);
        let comparisons = comparisons::comparisons(config, peers, results);
        let events = (results.rows.iter().flat_map(points).map(Event::Point))
            .chain(
                findings::findings(config, peers, schedule, results, &comparisons)
                    .into_iter()
                    .map(Event::Finding),
            )
            .chain(comparisons.into_iter().map(Event::Comparison))
            .chain(
                charts::charts(config, peers, results)
                    .into_iter()
                    .map(Event::Chart),
            )
            .chain(
                table::tables(config, peers, schedule, results)
                    .into_iter()
                    .map(Event::Table),
            );
        events.for_each(|event| sink.emit(event));
        sink.emit(Event::Progress(1.0, "peers".to_owned()));
    }
}
