//! The owner's end of a virtual function.

use std::sync::Arc;

use policy::{Quota, Settings};

use super::config::{FunctionError, check_weight};
use super::life::Owned;
use super::shared::{Function, FunctionCounters, Life};
use super::watch::watch;
use crate::client::Lane;
use crate::lane::{LaneConfig, LaneError};
use crate::pool::Control;
use crate::resident::{Home, Resident, Tenancy};
use crate::watch::Watch;

/// A virtual function: one tenant's share of an engine.
#[derive(Debug)]
pub struct VirtualFunction<R: Copy + Send + 'static> {
    pub(super) function: Arc<Function<R>>,
    pub(super) controls: Arc<[Arc<Control<R>>]>,
}

impl<R: Copy + Send + 'static> VirtualFunction<R> {
    pub(crate) fn new(function: Function<R>, controls: Arc<[Arc<Control<R>>]>) -> Self {
        Self {
            function: Arc::new(function),
            controls,
        }
    }

    pub fn lane(&self, worker: usize, config: LaneConfig) -> Result<Lane<R>, LaneError> {
        self.lane_with(worker, config, |client| Ok((client, None)))
    }

    fn lane_with<T>(
        &self,
        worker: usize,
        config: LaneConfig,
        settle: impl FnOnce(Lane<R>) -> Result<(T, Option<Home>), LaneError>,
    ) -> Result<T, LaneError> {
        let workers = self.controls.len();
        let control = self
            .controls
            .get(worker)
            .ok_or(LaneError::Worker { worker, workers })?;
        let settings = self.function.reserve()?;
        let config = LaneConfig { settings, ..config };
        let settled = control.open_with(worker, config, Some(&self.function), settle);
        if settled.is_err() {
            self.function.give_back();
        }
        settled
    }

    /// Makes a lane to that worker whose client lives there: what `make` makes of the
    /// lane's client end.
    ///
    /// # Errors
    /// As for [`lane`](Self::lane), and those of `make`.
    pub(crate) fn settle<T: Resident>(
        &self,
        worker: usize,
        config: LaneConfig,
        make: impl FnOnce(Lane<R>) -> Result<T, LaneError>,
    ) -> Result<Tenancy<R, T>, LaneError> {
        self.lane_with(worker, config, |client| {
            let (control, shared) = client.ends();
            let resident = Box::new(make(client)?);
            Ok((Tenancy::new(control, shared), Some(Home::new(resident))))
        })
    }

    /// Changes the weight.
    ///
    /// # Errors
    /// [`FunctionError::Weight`].
    pub fn set_weight(&self, weight: u32) -> Result<(), FunctionError> {
        check_weight(weight)?;
        self.function.set_weight(weight);
        self.tell_workers();
        Ok(())
    }

    pub fn set_quota(&self, quota: Quota) {
        self.function.set_quota(quota);
        self.tell_workers();
    }

    pub(crate) fn own(&self, one: Arc<dyn Owned>) {
        self.function.possessions.add(one);
    }

    pub(super) fn tell_workers(&self) {
        for control in &*self.controls {
            control.reconsider(self.function.number);
        }
    }

    pub fn watch(&self) -> Watch {
        watch(Arc::clone(&self.function), Arc::clone(&self.controls))
    }

    pub fn settings(&self) -> Settings {
        self.function.state().settings
    }

    pub fn weight(&self) -> u32 {
        self.function.weight()
    }

    pub fn life(&self) -> Life {
        self.function.state().life
    }

    /// What [`Trouble`](crate::Trouble) names it by.
    pub fn id(&self) -> u64 {
        self.function.id
    }

    pub fn counters(&self) -> FunctionCounters {
        self.function.counters()
    }

    pub fn workers(&self) -> usize {
        self.controls.len()
    }
}

/// The settings of a lane of a function, as written into the lane.
impl<R> crate::lane::Shared<R> {
    pub(crate) fn set_settings(&self, settings: Settings) -> bool {
        let word = settings.pack();
        self.settings
            .swap(word, std::sync::atomic::Ordering::AcqRel)
            != word
    }
}
