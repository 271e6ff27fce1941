//! What the sections ask of benches, so that their schedules, tables and
//! findings are tested with routers of known speed.

use std::time::Duration;

use forward::bench::{BenchError, Directions, Offer, Rack, Setup, TcpResult};

use crate::routers::trial::Trial;

/// Something built, ready to be measured.
pub trait Rig {
    /// One trial of all routers at the same moment, an offer each; it stops
    /// early when `go_on` says so.
    ///
    /// # Errors
    /// [`BenchError`].
    fn trial(&mut self, offers: &[Offer], go_on: &dyn Fn() -> bool) -> Result<Trial, BenchError>;

    /// TCP through the first router.
    ///
    /// # Errors
    /// [`BenchError`].
    fn tcp(&mut self, directions: Directions, duration: Duration) -> Result<TcpResult, BenchError>;
}

/// What builds routers side by side. Everything is gone when the rig is dropped.
pub type Build<'a> = &'a dyn Fn(&[Setup]) -> Result<Box<dyn Rig>, BenchError>;

/// Builds real ones.
///
/// # Errors
/// As [`Rack::start`].
pub fn build(setups: &[Setup]) -> Result<Box<dyn Rig>, BenchError> {
    Ok(Box::new(Rack::start(setups)?))
}

impl Rig for Rack {
    fn trial(&mut self, offers: &[Offer], go_on: &dyn Fn() -> bool) -> Result<Trial, BenchError> {
        let routers = self.trial_while(offers, go_on)?;
        Ok(Trial { routers })
    }

    fn tcp(&mut self, directions: Directions, duration: Duration) -> Result<TcpResult, BenchError> {
        let first = self.benches().first_mut().expect("a rack has a router");
        first.tcp(directions, duration)
    }
}
