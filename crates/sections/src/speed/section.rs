//! The section itself.

use std::time::Duration;

use trial::{Event, Plan, PlanError, Probe, RunError, Section, Sink};

use crate::speed::charts;
use crate::speed::comparisons;
use crate::speed::config::{Config, Table};
use crate::speed::findings;
use crate::speed::invocation::invocation;
use crate::speed::measure::{End, Results, measure};
use crate::speed::points;
use crate::speed::schedule::Schedule;
use crate::speed::tables;
use kit::ConfigError;
use kit::host::Host;
use probe::tier;

/// What is planned for before the host is known.
const L2_BYTES_USUAL: u64 = 1 << 20;

/// Section `crypto-speed`, configured.
pub struct CryptoSpeed(Config);

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    let config = Config::try_from(kit::config::from_table::<Table>(table)?)?;
    Ok(Box::new(CryptoSpeed(config)))
}

impl CryptoSpeed {
    fn host(&self, probe: Option<&Probe>) -> Host {
        Host::of(probe)
    }
}

impl Section for CryptoSpeed {
    fn name(&self) -> &'static str {
        "crypto-speed"
    }

    fn title(&self) -> &'static str {
        "Crypto speed by load mode"
    }

    fn command(&self) -> String {
        invocation(&self.0.table, &[])
    }

    fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(&self.0.table).expect("plain strings and numbers")
    }

    fn appetite(&self) -> (Duration, Duration) {
        // The lanes as deep as L2 allows are there on nearly every host, and
        // take as long however deep they are.
        let host = Host {
            l2_bytes: L2_BYTES_USUAL,
            ..self.host(None)
        };
        let (least_s, most_s) = Schedule::appetite(&self.0, &host);
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
        let host = self.host(Some(probe));
        let schedule = Schedule::new(&self.0, &host, budget)?;
        let peers = if host.has(kit::openssl::PROGRAM) || !self.0.peers {
            ""
        } else {
            "; openssl is not installed, so that no peer is measured"
        };
        let until = match schedule.limits.precision {
            Some(share) => format!(
                "; more while time is left and a ratio is wider than ±{}%",
                share * 100.0
            ),
            None => String::new(),
        };
        let step = format!(
            "{} rounds of {} trials of {:.0} ms, every arm once a round in shuffled order{until}{peers}",
            schedule.rounds,
            schedule.trials(),
            schedule.slice_s * 1e3,
        );
        Ok(Plan {
            seconds: schedule.limits.seconds,
            steps: vec![step],
            ..Plan::default()
        })
    }

    fn run(&self, probe: &Probe, plan: &Plan, sink: &mut dyn Sink) -> Result<(), RunError> {
        let host = self.host(Some(probe));
        // The plan's own seconds give the plan's own schedule again; the
        // margin is for rounding.
        let budget = Duration::from_secs_f64(plan.seconds + 0.001);
        let schedule = Schedule::new(&self.0, &host, budget).map_err(|error| RunError::Failed {
            context: "the host changed since the plan was made".to_owned(),
            source: Some(Box::new(error)),
        })?;
        let results = measure(&self.0, &host, &schedule, sink);
        self.emit(&host, &results, sink);
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

impl CryptoSpeed {
    fn emit(&self, host: &Host, results: &Results, sink: &mut dyn Sink) {
        let config = &self.0;
        for measured in &results.cells {
            points::points(config, host, measured)
                .into_iter()
                .for_each(|point| sink.emit(Event::Point(point)));
        }
        let comparisons = comparisons::comparisons((config, host, results.error), results);
        findings::findings(config, host, results, &comparisons)
            .into_iter()
            .for_each(|finding| sink.emit(Event::Finding(finding)));
        comparisons
            .into_iter()
            .for_each(|comparison| sink.emit(Event::Comparison(comparison)));
        charts::charts(config, host, results)
            .into_iter()
            .for_each(|chart| sink.emit(Event::Chart(chart)));
        tables::tables(config, results)
            .into_iter()
            .for_each(|table| sink.emit(Event::Table(table)));
        sink.emit(Event::Progress(1.0, "crypto speed".to_owned()));
    }
}
