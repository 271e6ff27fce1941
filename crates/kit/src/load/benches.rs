//! Benches of one tenant each, a placement: what the sections about moderation
//! measure on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crypto::Backend;
use trial::PlanError;

use crate::evidence::Evidence;
use crate::experiment::{Measure, Reading, Stopped};
use crate::load::rig::{Bench, Cores, Course, Load, Regime, Setup, Tenant, Window};
use crate::place::Placement;

/// Requests that were completed.
pub const REQUESTS: Measure = Measure::higher("requests_per_s", "requests/s");
/// What they were of, 10^6 bytes a second.
pub const SPEED: Measure = Measure::higher("speed_mb_per_s", "MB/s");
pub const NOTIFICATIONS: Measure = Measure::lower("notifications_per_s", "1/s");
pub const CLIENT_CPU: Measure = Measure::lower("client_cpu_percent", "% of a core");
pub const WORKER_CPU: Measure = Measure::fact("worker_cpu_percent", "% of a core");
const WORKERS_CPU: Measure = Measure::fact("worker_cpu", "CPU number");
const CLIENTS_CPU: Measure = Measure::fact("client_cpu", "CPU number");

/// What every trial of a bench gives.
pub const MEASURES: [Measure; 7] = [
    REQUESTS,
    SPEED,
    NOTIFICATIONS,
    CLIENT_CPU,
    WORKER_CPU,
    WORKERS_CPU,
    CLIENTS_CPU,
];

/// A long trial asks so often whether it is to end, and is sampled.
const WINDOW: Duration = Duration::from_millis(100);

/// A bench for each placement.
pub struct Benches(BTreeMap<Placement, (Cores, Bench)>);

/// One trial.
pub struct Trial {
    pub placement: Placement,
    pub load: Load,
    pub warm_up: Duration,
    pub length: Duration,
    /// Bytes that all requests in flight touch.
    pub in_flight_bytes: usize,
    /// Input bytes of a request.
    pub block_bytes: usize,
}

impl Benches {
    /// Starts them, each with a tenant that may ask for what it lists.
    ///
    /// # Errors
    /// [`Stopped::Failed`].
    pub fn start(
        backend: &Arc<dyn Backend>,
        tenants: impl IntoIterator<Item = (Placement, Cores, Tenant)>,
    ) -> Result<Self, Stopped> {
        let start = |(placement, cores, tenant)| {
            let setup = Setup {
                cores,
                backend: Arc::clone(backend),
                tenants: vec![tenant],
            };
            let bench = Bench::start(&setup).map_err(Stopped::failed)?;
            Ok((placement, (cores, bench)))
        };
        tenants
            .into_iter()
            .map(start)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Runs one, with its evidence; `own` makes of what was seen what else it
    /// gives.
    ///
    /// # Errors
    /// [`Stopped`].
    ///
    /// # Panics
    /// Where no bench was started in that placement.
    pub fn trial(
        &mut self,
        trial: &Trial,
        regime: Regime,
        go_on: &dyn Fn() -> bool,
        own: impl FnOnce(&Window) -> Vec<(Measure, f64)>,
    ) -> Result<Reading, Stopped> {
        let (cores, bench) = self
            .0
            .get_mut(&trial.placement)
            .expect("every placement that is measured has a bench");
        let course = Course {
            window: WINDOW,
            ..Course::steady(trial.warm_up, trial.length, vec![trial.load])
        };
        bench
            .apply(0, regime.for_tasks(trial.load.tasks))
            .map_err(Stopped::failed)?;
        let record = bench.run(&course, &|| !go_on()).map_err(Stopped::failed)?;
        let window = record
            .whole()
            .filter(|_| go_on())
            .ok_or(Stopped::Interrupted)?;
        let mut reading = Reading::new(values(&window, *cores, trial.block_bytes));
        reading.values.extend(own(&window));
        reading.evidence = Some(Evidence {
            requests: window.tenants[0].counters.requests,
            times: record.facts.times,
            step_ns: record.facts.step_ns,
            pause_ns: record.facts.pause_ns,
            busy_cpus: window.worker_cpus() + window.client_cpus(0),
            in_flight_bytes: trial.in_flight_bytes,
            cores: *cores,
        });
        reading.latency = window.tenants[0].latency.clone();
        Ok(reading)
    }
}

fn values(window: &Window, cores: Cores, block_bytes: usize) -> Vec<(Measure, f64)> {
    let requests_per_s = window.requests_per_s(0);
    vec![
        (REQUESTS, requests_per_s),
        (SPEED, requests_per_s * block_bytes as f64 / 1e6),
        (NOTIFICATIONS, window.notifications_per_s(0)),
        (CLIENT_CPU, window.client_cpus(0) * 100.0),
        (WORKER_CPU, window.worker_cpus() * 100.0),
        (WORKERS_CPU, cores.worker as f64),
        (CLIENTS_CPU, cores.client as f64),
    ]
}

/// Why the tier in force forbids to measure, if it does.
///
/// # Errors
/// [`PlanError::NotSupported`].
pub fn unmaskable(backend: &str) -> Result<(), PlanError> {
    match probe::tier::cannot_mask(backend) {
        Some(probe::tier::Unmaskable { reason, remedy }) => {
            Err(PlanError::NotSupported { reason, remedy })
        }
        None => Ok(()),
    }
}
