//! TCP through one path, one way or both.

use std::time::Duration;

use forward::bench::{BenchError, Directions, Setup, TcpResult};
use forward::topology::Cpus;

use crate::router::tcp::config::Config;
use kit::routers::metrics::direction;
use kit::routers::rig::Rig;
use kit::routers::rounds::Arm;
use kit::routers::series::Series;
use kit::routers::way::Way;
use kit::told::Tried;

/// TCP through one path.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) way: Way,
    pub(super) setup: Setup,
    pub(super) directions: Directions,
    pub(super) series: Series<TcpResult>,
}

impl Subject {
    /// The median of a direction's rate, Mbit/s.
    pub(super) fn rate(&self, direction: usize) -> Option<f64> {
        let of = |one: &TcpResult| one.received_mbit_per_s.get(direction).copied();
        self.series.median(of)
    }

    /// What is to be told of it.
    pub(super) fn tried(&self) -> Option<Tried> {
        Tried::of(&self.series, (self.way.what(), self.label()))
    }
}

impl Arm for Subject {
    type Round = TcpResult;

    fn setups(&self) -> &[Setup] {
        std::slice::from_ref(&self.setup)
    }

    fn label(&self) -> String {
        let way = self.way.what();
        format!("TCP through {way}, {}", direction(self.directions))
    }

    fn series(&mut self) -> &mut Series<TcpResult> {
        &mut self.series
    }

    fn measure(
        &self,
        rig: &mut dyn Rig,
        slice: Duration,
        _: &dyn Fn() -> bool,
    ) -> Result<TcpResult, BenchError> {
        rig.tcp(self.directions, slice)
    }
}

/// Every path one way and both ways.
pub(super) fn subjects(config: &Config, cpus: &Cpus) -> Vec<Subject> {
    let both = [Directions::OneWay, Directions::TwoWay];
    let of = |way: Way, directions| {
        let mut setup = Setup::new(cpus.clone());
        setup.path = way.path;
        setup.topology.queues = way.queues;
        Subject {
            way,
            setup,
            directions,
            series: Series::default(),
        }
    };
    config
        .ways
        .iter()
        .flat_map(|&way| both.map(|directions| of(way, directions)))
        .collect()
}
