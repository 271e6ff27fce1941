//! What can go wrong with a home.

use std::io;

use net::TagError;
use net::journal::JournalError;
use sys::failure::Failure;

#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error("no '{program}' here; install it (apt-get install {package})")]
    NotSupported {
        program: &'static str,
        package: &'static str,
    },
    #[error(transparent)]
    Untrusted(#[from] sys::trusted::Untrusted),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Tag(#[from] TagError),
    #[error(transparent)]
    Namespace(#[from] Failure),
    #[error("cannot {what} the container {name}; check that {folder} has room, and that this is root's own host", folder = net::journal::FOLDER)]
    System {
        what: &'static str,
        name: String,
        #[source]
        source: io::Error,
    },
    #[error("{program} did not start the container {name} within {seconds} s: {said}")]
    NotStarted {
        program: &'static str,
        name: String,
        seconds: u64,
        said: String,
    },
}
