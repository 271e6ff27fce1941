//! Crypto requests of several sizes through the rig.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use crypto::{Backend, Kind, Workload, WorkloadError};
use policy::{Moderation, Settings};

use crate::vcm::cause::real::generator::{self, GeneratorError};
use crate::vcm::cause::setting::{Disturbance, Reading, Setting};
use crate::vcm::cause::subject::{Subject, SubjectError};
use kit::load::rig::{Bench, Cores, Course, Load, Record, Regime, RigError, Setup, Tenant};
use kit::place::Placement;
use kit::places::on;
use kit::words::what;

/// Before each trial counts.
const WARM_UP: Duration = Duration::from_millis(3);

/// A load: what, how deep, where, how notified.
#[derive(Clone)]
pub(in super::super) struct Spec {
    pub(in super::super) kind: Kind,
    pub(in super::super) backend: Arc<dyn Backend>,
    pub(in super::super) sizes_bytes: Vec<usize>,
    pub(in super::super) depth: usize,
    pub(in super::super) placement: Placement,
    pub(in super::super) moderation: Moderation,
    /// That this process may use.
    pub(in super::super) cpus: Vec<usize>,
}

/// A load with the benches that have run it so far: each setting has its own,
/// so that it touches the memory of its own requests and no more.
pub(in super::super) struct Real {
    spec: Spec,
    workloads: BTreeMap<usize, Arc<Workload>>,
    benches: BTreeMap<Setting, Bench>,
}

/// Why a trial gave nothing.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("split placement needs two CPUs; allow more (taskset, cpuset)")]
    OneCpu,
    #[error("no such request")]
    Workload(#[from] WorkloadError),
    #[error("the bench failed")]
    Rig(#[from] RigError),
    #[error("the client alone failed")]
    Generator(#[from] GeneratorError),
    #[error("nothing was measured; measure longer")]
    Empty,
}

impl Real {
    /// Of that load; nothing runs yet.
    pub(in super::super) fn new(spec: Spec) -> Self {
        Self {
            spec,
            workloads: BTreeMap::new(),
            benches: BTreeMap::new(),
        }
    }

    fn cores(&self, placement: Placement) -> Result<Cores, Failure> {
        Cores::of(&self.spec.cpus, placement).ok_or(Failure::OneCpu)
    }

    fn workload(&mut self, block_bytes: usize) -> Result<Arc<Workload>, Failure> {
        let Spec { backend, kind, .. } = &self.spec;
        Ok(Arc::clone(match self.workloads.entry(block_bytes) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                entry.insert(Arc::new(Workload::new(backend, *kind, block_bytes)?))
            }
        }))
    }

    fn start(&mut self, setting: &Setting) -> Result<Bench, Failure> {
        let tenant = Tenant {
            workloads: vec![self.workload(setting.block_bytes)?],
            depth_max: setting.depth,
            tasks_max: 1,
        };
        Ok(Bench::start(&Setup {
            cores: self.cores(setting.placement)?,
            backend: Arc::clone(&self.spec.backend),
            tenants: vec![tenant],
        })?)
    }

    fn trial(&mut self, setting: &Setting, length: Duration) -> Result<Reading, Failure> {
        if !self.benches.contains_key(setting) {
            let bench = self.start(setting)?;
            self.benches.insert(*setting, bench);
        }
        let bench = self.benches.get_mut(setting).ok_or(Failure::Empty)?;
        let moderation = setting.moderation(self.spec.moderation);
        bench.apply(0, Regime::fixed(moderation, Settings::UNLIMITED))?;
        let course = Course::steady(WARM_UP, length, vec![Load::closed(0, setting.depth)]);
        let record = bench.run(&course, &|| false)?;
        reading(&record).ok_or(Failure::Empty)
    }

    fn alone(&mut self, setting: &Setting, length: Duration) -> Result<f64, Failure> {
        let cores = self.cores(setting.placement)?;
        let workload = self.workload(setting.block_bytes)?;
        let requests_per_s = generator::rate(
            &self.spec.backend,
            &workload,
            (setting.depth, cores),
            length,
        )?;
        Ok(requests_per_s * setting.block_bytes as f64 / 1e6)
    }
}

fn reading(record: &Record) -> Option<Reading> {
    let window = record.whole()?;
    let counters = &window.tenants[0].counters;
    Some(Reading {
        mb_per_s: window.mb_per_s(0),
        requests: counters.requests,
        notifications: counters.notifications as f64 / counters.requests.max(1) as f64,
        client_cpus: window.client_cpus(0),
        worker_cpus: window.worker_cpus(),
        in_flight: counters.depth(),
        disturbance: Disturbance {
            times: record.facts.times,
            step_ns: record.facts.step_ns,
            pause_ns: record.facts.pause_ns,
        },
    })
}

impl Subject for Real {
    fn name(&self) -> String {
        let Spec {
            kind,
            moderation,
            placement,
            ..
        } = &self.spec;
        format!("{}, {moderation}, {}", what(*kind), on(*placement))
    }

    fn sizes_bytes(&self) -> &[usize] {
        &self.spec.sizes_bytes
    }

    fn depth(&self, _: usize) -> usize {
        self.spec.depth
    }

    fn placement(&self) -> Placement {
        self.spec.placement
    }

    fn can_move(&self) -> bool {
        Cores::of(&self.spec.cpus, Placement::Split).is_some()
    }

    fn moderation(&self) -> Moderation {
        self.spec.moderation
    }

    fn run(&mut self, setting: &Setting, length: Duration) -> Result<Reading, SubjectError> {
        let failed = SubjectError::of(setting);
        self.trial(setting, length)
            .map_err(|failure| failed(failure.into()))
    }

    fn generate(&mut self, setting: &Setting, length: Duration) -> Result<f64, SubjectError> {
        let failed = SubjectError::of(setting);
        self.alone(setting, length)
            .map_err(|failure| failed(failure.into()))
    }
}
