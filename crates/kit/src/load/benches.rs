//! Benches of one tenant each, a placement: what the sections about moderation
//! measure on.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::choices::BackendName;
use crate::evidence::Evidence;
use crate::load::rig::{Bench, Cores, Course, Facts, Load, Regime, Tenant, Window};
use crate::load::workloads::Workloads;
use crate::place::{Cpus, Placement};
use crate::places::Places;
use crate::spot::Spot;
use crate::subject::{Measure, Reading, Stopped};
use crypto::{Kind, Workload};

/// Requests that were completed.
pub const REQUESTS: Measure = Measure::higher("requests_per_s", "requests/s");
/// What they were of, 10^6 bytes a second.
pub const SPEED: Measure = Measure::higher("speed_mb_per_s", "MB/s");
pub const NOTIFICATIONS: Measure = Measure::lower("notifications_per_s", "1/s");
pub const CLIENT_CPU: Measure = Measure::lower("client_cpu_percent", "% of a core");
pub const WORKER_CPU: Measure = Measure::fact("worker_cpu_percent", "% of a core");
/// What was held back, where one was in flight (which is never to be), and the
/// cap at the end.
pub const HELD: Measure = Measure::fact("held_per_s", "1/s");
pub const ALONE: Measure = Measure::lower("held_alone", "notifications");
pub const CAP: Measure = Measure::fact("cap_per_s", "1/s, 0 is none");
pub const WORKERS_CPU: Measure = Measure::fact("worker_cpu", "CPU number");
pub const CLIENTS_CPU: Measure = Measure::fact("client_cpu", "CPU number");

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

/// Warm-up before each trial counts.
pub const WARM_UP: Duration = Duration::from_millis(3);
/// What a trial takes besides: warm-up, parking, and a look at the core's clock, seconds.
pub const OVERHEAD_S: f64 = 0.006;

/// What a trial asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ask {
    pub placement: Placement,
    pub kind: Kind,
    /// Bytes of a request; public keys have a size of their own.
    pub block_bytes: usize,
    /// Requests that each task keeps in flight.
    pub depth: usize,
    pub tasks: usize,
}

impl Ask {
    /// Whether requests have a size of their own, and no blocks.
    pub fn is_public(&self) -> bool {
        self.kind.algorithm.is_public_key()
    }

    /// All of it but how many tasks, with the library that computes.
    pub fn spot(&self, backend: &BackendName) -> Spot {
        Spot::new()
            .kind(self.kind)
            .block(self.block_bytes)
            .placement(self.placement)
            .also("backend", backend.name())
            .also("depth", self.depth as u64)
    }
}

/// A bench for each placement.
pub struct Benches {
    benches: BTreeMap<Placement, (Cores, Bench)>,
    workloads: Workloads,
    /// Before each trial counts.
    warm_up: Duration,
}

impl Benches {
    /// Starts those that are asked for. All have every workload that is.
    pub fn start(
        backend: &BackendName,
        places: &Places,
        asks: impl IntoIterator<Item = Ask>,
    ) -> Result<Self, Stopped> {
        let asks: Vec<_> = asks.into_iter().collect();
        let kinds = asks.iter().map(|ask| (ask.kind, ask.block_bytes));
        let mut own = Self {
            benches: BTreeMap::new(),
            workloads: Workloads::new(backend, kinds)?,
            warm_up: WARM_UP,
        };
        let most = |of: fn(&Ask) -> usize| asks.iter().map(of).max().unwrap_or(1);
        let tenant = Tenant {
            workloads: own.workloads.all().to_vec(),
            depth_max: most(|ask| ask.depth),
            tasks_max: most(|ask| ask.tasks),
        };
        for &(placement, cores) in &places.kept {
            if asks.iter().any(|ask| ask.placement == placement) {
                let bench = Bench::start(cores, backend.get(), std::slice::from_ref(&tenant));
                let bench = bench.map_err(Stopped::failed)?;
                own.benches.insert(placement, (cores, bench));
            }
        }
        Ok(own)
    }

    /// The same with trials that count later.
    #[must_use]
    pub fn warming_up(self, warm_up: Duration) -> Self {
        Self { warm_up, ..self }
    }

    /// Runs one, with its evidence; `own` makes of what was seen what else it
    /// gives.
    ///
    /// # Panics
    /// Where that was not asked for from the start.
    pub fn trial(
        &mut self,
        ask: &Ask,
        length: Duration,
        regime: impl Into<Regime>,
        go_on: &dyn Fn() -> bool,
        own: impl FnOnce(&Window) -> Vec<(Measure, f64)>,
    ) -> Result<Reading, Stopped> {
        let (index, workload) = self.workloads.get(ask.kind, ask.block_bytes);
        let bench = self.benches.get_mut(&ask.placement);
        let (cores, bench) = bench.expect("it was asked for from the start");
        let load = Load::closed(index, ask.depth).with_tasks(ask.tasks);
        let course = Course::steady(self.warm_up, length, vec![load]);
        let regime = regime.into().for_tasks(ask.tasks);
        bench.apply(0, regime).map_err(Stopped::failed)?;
        let record = bench.run(&course, &|| !go_on()).map_err(Stopped::failed)?;
        let window = record.whole().filter(|_| go_on());
        let window = window.ok_or(Stopped::Interrupted)?;
        let in_flight = (ask.depth * ask.tasks, 1);
        let mut reading = reading(&window, &record.facts, &cores.cpus(), workload, in_flight);
        reading.values.extend(own(&window));
        Ok(reading)
    }
}

/// What a tenant's window says, with its evidence; `in_flight` are requests, and
/// the workers that share them.
pub fn reading(
    window: &Window,
    facts: &Facts,
    cpus: &Cpus,
    workload: &Workload,
    (in_flight, workers): (usize, usize),
) -> Reading {
    let requests_per_s = window.requests_per_s(0);
    let cores = Cores {
        worker: cpus.workers[0],
        client: cpus.clients[0],
    };
    let values = vec![
        (REQUESTS, requests_per_s),
        (SPEED, requests_per_s * workload.block_bytes as f64 / 1e6),
        (NOTIFICATIONS, window.notifications_per_s(0)),
        (CLIENT_CPU, window.client_cpus(0) * 100.0),
        (WORKER_CPU, window.worker_cpus() * 100.0),
        (WORKERS_CPU, cores.worker as f64),
        (CLIENTS_CPU, cores.client as f64),
    ];
    let mut reading = Reading::new(values);
    reading.evidence = Some(Evidence {
        requests: window.tenants[0].counters.requests,
        times: facts.times,
        step_ns: facts.step_ns,
        pause_ns: facts.pause_ns,
        busy_cpus: window.worker_cpus() + window.client_cpus(0),
        in_flight_bytes: workload.footprint_bytes() * in_flight / workers,
        cores,
        cpus: cpus.all().len(),
        crowd: 0,
        rates: None,
    });
    reading.latency = window.tenants[0].latency.clone();
    reading
}

/// What was held back of the first tenant, and under which cap at the end.
#[must_use]
pub fn held(window: &Window) -> Vec<(Measure, f64)> {
    let own = &window.tenants[0];
    vec![
        (HELD, own.counters.held as f64 / window.seconds),
        (ALONE, own.held_alone as f64),
        (CAP, own.settings.cap_per_s().unwrap_or(0.0)),
    ]
}
