//! The bench: an engine with its workers, and the tenants at it.

use std::sync::Arc;

use crypto::Backend;
use engine::{CryptoEngine, CryptoFunction, WorkerConfig};

use crate::load::rig::cores::Cores;
use crate::load::rig::course::Course;
use crate::load::rig::error::RigError;
use crate::load::rig::record::Record;
use crate::load::rig::sampler::Sampler;
use crate::load::rig::seat::Seat;
use crate::load::rig::tenant::{Regime, Tenant};
use crate::observe;
use crate::place::Cpus;

/// A bench; between runs its threads sleep, with nothing in flight.
pub struct Bench {
    cpus: Cpus,
    // Before the engine, which would end under its clients.
    seats: Vec<Seat>,
    engine: CryptoEngine,
}

impl Bench {
    /// Starts one worker and all tasks; each tenant has a virtual function.
    ///
    /// # Errors
    /// [`RigError`].
    pub fn start(
        cores: Cores,
        backend: &Arc<dyn Backend>,
        tenants: &[Tenant],
    ) -> Result<Self, RigError> {
        let cpus = cores.cpus();
        let engine = engine(&cpus, backend)?;
        let seats = tenants.iter().map(|tenant| {
            let function = Seat::function_of(tenant, &engine)?;
            Seat::new(tenant, &engine, Some(function), &cpus)
        });
        let seats = seats.collect::<Result<Vec<_>, _>>()?;
        Self::parked(cpus, seats, engine)
    }

    /// Starts a worker on each of their CPUs, and all tasks of a tenant that has
    /// the engine to itself, without a virtual function. Tasks and workers go
    /// round the CPUs and the workers.
    ///
    /// # Errors
    /// [`RigError`].
    pub fn plain(
        cpus: &Cpus,
        backend: &Arc<dyn Backend>,
        tenant: &Tenant,
    ) -> Result<Self, RigError> {
        let engine = engine(cpus, backend)?;
        let seat = Seat::new(tenant, &engine, None, cpus)?;
        Self::parked(cpus.clone(), vec![seat], engine)
    }

    fn parked(cpus: Cpus, seats: Vec<Seat>, engine: CryptoEngine) -> Result<Self, RigError> {
        seats.iter().try_for_each(Seat::park)?;
        Ok(Self {
            cpus,
            seats,
            engine,
        })
    }

    /// From the next run on, that tenant's policy, settings and controller;
    /// its lanes are new, and what they learn is forgotten.
    ///
    /// # Errors
    /// [`RigError::Lane`].
    ///
    /// # Panics
    /// When there is no such tenant.
    pub fn apply(&mut self, tenant: usize, regime: Regime) -> Result<(), RigError> {
        self.seats[tenant].apply(regime, &self.engine, self.cpus.is_shared())
    }

    /// That tenant's virtual function: its weight and quota may change at any
    /// time.
    ///
    /// # Panics
    /// When there is no such tenant, or it has none.
    pub fn function(&self, tenant: usize) -> &CryptoFunction {
        let function = self.seats[tenant].function();
        function.expect("a bench of virtual functions")
    }

    /// Runs a course. Every tenant needs a regime before the first. The
    /// caller's thread sleeps meanwhile, but for sampling and controllers;
    /// where `is_interrupted`, asked once a window, says so, the run ends
    /// early.
    ///
    /// # Errors
    /// [`RigError`]; the tasks are parked then, if they can be.
    pub fn run(
        &mut self,
        course: &Course,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Record, RigError> {
        self.check(course)?;
        let step_ns = observe::step_ns(self.cpus.workers[0]);
        let cpus = self.cpus.all();
        let before = observe::CpuTimes::now(&cpus);
        let windows = Sampler::new(&self.engine, &mut self.seats).run(course, is_interrupted);
        let times = observe::CpuTimes::now(&cpus).since(before);
        let parked: Vec<_> = self.seats.iter().map(Seat::park).collect();
        parked.into_iter().collect::<Result<(), _>>()?;
        let mut record = Record {
            windows,
            ..Record::default()
        };
        record.facts.times = times;
        record.facts.step_ns = step_ns;
        record.facts.pause_ns = record.pause_ns();
        Ok(record)
    }

    fn check(&self, course: &Course) -> Result<(), RigError> {
        for phase in &course.phases {
            let (loads, tenants) = (phase.loads.len(), self.seats.len());
            if loads != tenants {
                return Err(RigError::Tenants { loads, tenants });
            }
            let mut pairs = self.seats.iter().zip(&phase.loads);
            pairs.try_for_each(|(seat, load)| seat.check(load))?;
        }
        Ok(())
    }

    /// Each tenant's running totals since the start.
    #[cfg(test)]
    pub fn totals(&self) -> Vec<crate::load::rig::record::Share> {
        self.seats.iter().map(Seat::totals).collect()
    }
}

fn engine(cpus: &Cpus, backend: &Arc<dyn Backend>) -> Result<CryptoEngine, RigError> {
    let is_core_shared = cpus.is_shared();
    let worker = |&cpu: &usize| WorkerConfig {
        cpu: Some(cpu),
        idle_spin: None,
        nice: 0,
        stand_ins: 0,
        is_core_shared,
    };
    let workers: Vec<_> = cpus.workers.iter().map(worker).collect();
    Ok(CryptoEngine::start(Arc::clone(backend), &workers)?.for_measuring())
}
