//! What can go wrong with routers of a file.

use net::device::DeviceError;
use net::journal::{Holder, JournalError};
use sys::failure::Failure;

use crate::router::RouterError;
use crate::topology::NetworkError;

#[derive(Debug, thiserror::Error)]
pub enum PlaneError {
    /// The file asks for what cannot be.
    #[error("{0}")]
    Plan(String),
    #[error("{what} is not possible here: {remedy}")]
    NotSupported { what: String, remedy: String },
    #[error("nothing was made")]
    Journal(#[source] JournalError),
    /// What was to be reserved has a living owner.
    #[error("nothing was made: {what} is held by {by}")]
    Held { what: String, by: Holder },
    #[error("{what}")]
    Router {
        what: String,
        #[source]
        source: Failure,
    },
}

impl From<JournalError> for PlaneError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Held { what, by } => Self::Held { what, by },
            other => Self::Journal(other),
        }
    }
}

impl PlaneError {
    /// For `map_err`: whose part failed.
    pub(super) fn of<E: Into<NetworkError>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |error| {
            let error = error.into();
            match &error {
                // Its text is the whole answer.
                NetworkError::Device(DeviceError::Absent { .. }) => Self::Plan(error.to_string()),
                _ => Self::Router {
                    what,
                    source: Failure::from(error),
                },
            }
        }
    }

    pub(super) fn forwarding(what: String) -> impl FnOnce(RouterError) -> Self {
        move |error| match error.lacks() {
            Some(remedy) => Self::NotSupported { what, remedy },
            None => Self::Router {
                what,
                source: Failure::as_is(error),
            },
        }
    }
}
