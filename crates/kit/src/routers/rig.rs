//! What the sections ask of benches, so that their schedules, tables and
//! findings are tested with routers of known speed.

use std::time::Duration;

use forward::bench::{BenchError, Directions, Offer, Rack, Setup, TcpResult};

use crate::routers::trial::Trial;
use crate::routers::way::Way;
use crate::subject::Stopped;

/// Something built, ready to be measured.
pub trait Rig {
    /// One trial of all routers at the same moment, an offer each; it stops
    /// early when `go_on` says so.
    fn trial(&mut self, offers: &[Offer], go_on: &dyn Fn() -> bool) -> Result<Trial, BenchError>;

    /// TCP through the first router; it stops early likewise.
    fn tcp(
        &mut self,
        directions: Directions,
        duration: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<TcpResult, BenchError>;
}

impl Rig for Rack {
    fn trial(&mut self, offers: &[Offer], go_on: &dyn Fn() -> bool) -> Result<Trial, BenchError> {
        let routers = self.trial_while(offers, go_on)?;
        Ok(Trial { routers })
    }

    fn tcp(
        &mut self,
        directions: Directions,
        duration: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<TcpResult, BenchError> {
        let first = self.benches().first_mut().expect("a rack has a router");
        first.tcp_while(directions, duration, go_on)
    }
}

/// Builds routers side by side, and asks before each whether to go on.
type Builder = Box<dyn Fn(&[Setup], &dyn Fn() -> bool) -> Result<Box<dyn Rig>, BenchError>>;

/// The routers of an experiment: those that cost nothing while no frame comes
/// stay up between its trials.
pub struct Routers {
    build: Builder,
    up: Vec<(Vec<Setup>, Box<dyn Rig>)>,
}

impl Routers {
    /// Of this host.
    pub fn of_host() -> Self {
        Self::built_by(|setups, go_on| Ok(Box::new(Rack::start_while(setups, go_on)?)))
    }

    pub fn built_by(
        build: impl Fn(&[Setup], &dyn Fn() -> bool) -> Result<Box<dyn Rig>, BenchError> + 'static,
    ) -> Self {
        Self {
            build: Box::new(build),
            up: Vec::new(),
        }
    }

    /// Does something with routers of those setups side by side; those that
    /// would keep a CPU busy afterwards are taken down again.
    ///
    /// # Errors
    /// [`Stopped`]: routers that it happened to are not used again.
    pub fn with<T>(
        &mut self,
        setups: &[Setup],
        go_on: &dyn Fn() -> bool,
        act: impl FnOnce(&mut dyn Rig) -> Result<T, BenchError>,
    ) -> Result<T, Stopped> {
        let standing = self.up.iter().position(|(own, _)| own == setups);
        let mut rig = match standing {
            Some(index) => self.up.swap_remove(index).1,
            None => (self.build)(setups, go_on)?,
        };
        let result = act(rig.as_mut())?;
        let spins = setups.iter().any(|setup| Way::of(setup.path).spins());
        if !spins {
            self.up.push((setups.to_vec(), rig));
        }
        Ok(result)
    }
}

impl From<BenchError> for Stopped {
    fn from(error: BenchError) -> Self {
        match error {
            BenchError::Interrupted => Self::Interrupted,
            BenchError::NotSupported { what, remedy } => Self::NotSupported { what, remedy },
            error => Self::failed(error),
        }
    }
}
