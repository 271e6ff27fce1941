//! What can go wrong with a bench.

use crate::router::RouterError;
use crate::tester::port::PortError;
use crate::tester::trial::TrialError;
use crate::topology::SpecError;

/// Why a bench could not start or do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The host or the build lacks something: not a failure of the run.
    #[error("{what} is not possible here: {remedy}")]
    NotSupported {
        /// What was asked for, and what is missing.
        what: String,
        /// What would make it possible.
        remedy: String,
    },
    /// A value that cannot be.
    #[error("this topology cannot be")]
    Spec(#[from] SpecError),
    /// A value of an offer that cannot be.
    #[error("{0}")]
    Offer(String),
    /// Who asked for it no longer wants it.
    #[error("the trial was interrupted")]
    Interrupted,
    /// The router.
    #[error("the router failed")]
    Router(#[from] RouterError),
    /// A port of the tester.
    #[error("a port of the tester failed")]
    Port(#[from] PortError),
    /// The trial.
    #[error("there was no trial")]
    Trial(#[source] TrialError),
}

impl From<TrialError> for BenchError {
    fn from(error: TrialError) -> Self {
        match error {
            TrialError::Interrupted => Self::Interrupted,
            error => Self::Trial(error),
        }
    }
}
