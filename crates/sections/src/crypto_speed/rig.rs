//! One trial: lanes, a loop without a lane, or `openssl speed`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crypto::Workload;
use kit::crossing::{self, Crossing};
use kit::evidence::Evidence;
use kit::load::alone::{Slice, raw};
use kit::load::benches::{REQUESTS, SPEED, WORKER_CPU, WORKERS_CPU, reading};
use kit::load::once;
use kit::load::rig::{Cores, Load, Record};
use kit::load::workloads::Workloads;
use kit::openssl;
use kit::place::{Cpus, Placement, place};
use kit::prelude::*;
use policy::Policy;

use super::grid::{Arm, Place, is_woken};
use super::{CryptoSpeed, DOORBELLS, OFFERED};

/// What waking a sleeper on the other core took just before, ns; of no point.
pub(super) const WAKE_UP: Measure = Measure::lower("wake_up_ns", "ns");
const WAKE_UP_SLICE: Duration = Duration::from_millis(40);
const LINE_SLICE: Duration = Duration::from_millis(2);
/// By default the open loop runs at half of what a closed loop reached, and
/// no faster than this: a generator that times every request needs time.
const PACED_PER_S_MAX: f64 = 50_000.0;
/// How long that closed loop runs.
const RATE_SLICE: Duration = Duration::from_millis(20);
/// Looking at the distance of the cores, once a place and round; seconds.
const START_S: f64 = 0.05;

/// What the rig found out besides.
#[derive(Clone, Default)]
pub struct Notes {
    /// A cache line's way between the cores, ns, before each place.
    pub(super) line_ns: Vec<f64>,
}

/// Seconds before the first round: closed loops that give the open loops' rates, and
/// the distance of the cores.
pub(super) fn start_s(section: &CryptoSpeed, subjects: &Subjects<CryptoSpeed>) -> f64 {
    let is_free = section.config.rate_per_s.0.is_none();
    let paced = subjects
        .iter()
        .filter(|own| matches!(own.arm, Arm::Paced(_)));
    let rates = paced.filter(|_| is_free).count() as f64;
    START_S + rates * (RATE_SLICE.as_secs_f64() + once::OVERHEAD_S)
}

/// Does trials, each with an engine of its own.
pub(super) struct OnCpus {
    section: CryptoSpeed,
    cpus: Vec<usize>,
    workloads: Workloads,
    /// Of open loops, requests/s.
    rates: BTreeMap<Place, f64>,
    last: Option<Place>,
    notes: Notes,
}

impl OnCpus {
    pub(super) fn new(
        section: &CryptoSpeed,
        host: &Host,
        subjects: &Subjects<CryptoSpeed>,
    ) -> Result<Self, Stopped> {
        let places = subjects.iter().map(|own| own.place);
        let kinds = places.map(|place| (place.kind, place.block_bytes));
        Ok(Self {
            section: section.clone(),
            cpus: host.cpus.clone(),
            workloads: Workloads::new(&section.config.backend, kinds)?,
            rates: BTreeMap::new(),
            last: None,
            notes: Notes::default(),
        })
    }

    fn workload(&self, place: Place) -> &Arc<Workload> {
        self.workloads.get(place.kind, place.block_bytes).1
    }

    fn cpus(&self, own: Place) -> Result<Cpus, Stopped> {
        place(&self.cpus, own.placement, own.workers, own.lanes).ok_or_else(|| {
            Stopped::NotSupported {
                what: "placement split".to_owned(),
                remedy: "allow more CPUs (taskset, cpuset)".to_owned(),
            }
        })
    }

    /// What a crossing costs between the cores of one client and one worker.
    fn price(&self, crossing: Crossing, slice: Slice<'_>) -> Option<f64> {
        let cores = place(&self.cpus, Placement::Split, 1, 1)?;
        let cpus = crossing::Cpus {
            own: cores.clients[0],
            other: Some(cores.workers[0]),
        };
        let price = crossing::price(crossing, &cpus, slice.length, slice.go_on);
        let median_ns = price.ok()?.median_ns;
        median_ns.is_finite().then_some(median_ns)
    }

    fn run(
        &self,
        own: Place,
        (load, policy): (Load, Policy),
        slice: Slice<'_>,
    ) -> Result<Record, Stopped> {
        let backend = self.section.config.backend.get();
        let load = (load.with_tasks(own.lanes), policy);
        let record = once::trial(backend, self.workload(own), &self.cpus(own)?, load, slice);
        match (slice.go_on)() {
            true => record.map_err(Stopped::failed),
            false => Err(Stopped::Interrupted),
        }
    }

    fn lanes(
        &self,
        own: Place,
        arm: Arm,
        (load, policy): (Load, Policy),
        slice: Slice<'_>,
    ) -> Result<Reading, Stopped> {
        let record = self.run(own, (load, policy), slice)?;
        let window = record.whole().ok_or(Stopped::Interrupted)?;
        let cpus = self.cpus(own)?;
        let depth = if arm.is_sync() { 1 } else { own.depth };
        let in_flight = (depth * own.lanes, own.workers);
        let mut reading = reading(&window, &record.facts, &cpus, self.workload(own), in_flight);
        reading.values.push((DOORBELLS, window.doorbells_per_s(0)));
        let rates = load.rate_per_s.map(|rate| (rate, window.attended_per_s(0)));
        reading
            .values
            .extend(rates.map(|(rate, _)| (OFFERED, rate)));
        if let Some(evidence) = &mut reading.evidence {
            evidence.crowd = cpus.crowd(policy.moderation.client_looks());
            evidence.rates = rates;
        }
        Ok(reading)
    }

    /// Of the open loop at a place.
    fn rate(&mut self, own: Place, policy: Policy, slice: Slice<'_>) -> Result<f64, Stopped> {
        if let Some(named) = self.section.config.rate_per_s.0 {
            return Ok(named.get());
        }
        if let Some(&known) = self.rates.get(&own) {
            return Ok(known);
        }
        let slice = Slice {
            length: RATE_SLICE,
            ..slice
        };
        let load = (Load::closed(0, own.depth), policy);
        let window = self.run(own, load, slice)?.whole();
        let reached = window.map_or(0.0, |window| window.requests_per_s(0));
        let rate = (reached / 2.0).clamp(1.0, PACED_PER_S_MAX).round();
        self.rates.insert(own, rate);
        Ok(rate)
    }

    fn raw(&self, own: Place, cpu: usize, slice: Slice<'_>) -> Result<Reading, Stopped> {
        let (backend, workload) = (self.section.config.backend.get(), self.workload(own));
        let slots = own.depth * own.lanes;
        let did = raw(backend, workload, slots, cpu, slice).map_err(Stopped::failed)?;
        let mut reading = self.without_lanes(own, cpu, did.requests_per_s());
        reading.values.push((WORKER_CPU, did.cpus() * 100.0));
        reading.evidence = Some(did.evidence(cpu, workload.footprint_bytes() * slots));
        Ok(reading)
    }

    fn openssl(&self, own: Place, cpu: usize) -> Result<Reading, Stopped> {
        let cores = Cores {
            worker: cpu,
            client: cpu,
        };
        let trial = || {
            let rate = openssl::measure(own.kind, own.block_bytes, cpu);
            // It measures for a second, and reports a rate only.
            rate.map(|rate| (rate, rate as u64)).ok_or(())
        };
        let missing = |()| Stopped::NotSupported {
            what: "openssl speed of this algorithm".to_owned(),
            remedy: "run it by hand to see why".to_owned(),
        };
        let (rate, evidence) = Evidence::around(cores, trial).map_err(missing)?;
        let mut reading = self.without_lanes(own, cpu, rate);
        reading.evidence = Some(evidence);
        Ok(reading)
    }

    fn without_lanes(&self, own: Place, cpu: usize, requests_per_s: f64) -> Reading {
        let block_bytes = self.workload(own).block_bytes as f64;
        Reading::new(vec![
            (REQUESTS, requests_per_s),
            (SPEED, requests_per_s * block_bytes / 1e6),
            (WORKERS_CPU, cpu as f64),
        ])
    }
}

impl kit::experiment::Rig<CryptoSpeed> for OnCpus {
    fn trial(
        &mut self,
        subject: &Subject<Place, Arm>,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let (own, arm) = (subject.place, subject.arm);
        let of = |length| Slice { length, go_on };
        if self.last.replace(own) != Some(own) {
            let line_ns = self.price(Crossing::CacheLine, of(LINE_SLICE));
            self.notes.line_ns.extend(line_ns);
        }
        let cpu = self.cpus(own)?.workers[0];
        match arm {
            Arm::Lane(mode, policy) => {
                let wake_up_ns = is_woken(own, arm)
                    .then(|| self.price(Crossing::Notification, of(WAKE_UP_SLICE)))
                    .flatten();
                let load = (Load::in_mode(mode, own.depth), policy);
                let mut reading = self.lanes(own, arm, load, of(slice))?;
                reading.values.extend(wake_up_ns.map(|ns| (WAKE_UP, ns)));
                Ok(reading)
            }
            Arm::Paced(policy) => {
                let rate = self.rate(own, policy, of(slice))?;
                let load = (Load::paced(rate, own.depth), policy);
                self.lanes(own, arm, load, of(slice))
            }
            Arm::Raw => self.raw(own, cpu, of(slice)),
            Arm::OpenSsl => self.openssl(own, cpu),
        }
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }
}
