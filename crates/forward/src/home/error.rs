//! What can go wrong with a home.

use std::io;

use net::TagError;
use net::journal::JournalError;
use net::namespace::NamespaceError;

/// Why there is no home.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// The host lacks a program.
    #[error("no '{program}' here; install it (apt-get install {package})")]
    NotSupported {
        /// Which.
        program: &'static str,
        /// What Debian calls the package.
        package: &'static str,
    },
    /// Somebody else may have put the program there.
    #[error(transparent)]
    Untrusted(#[from] sys::trusted::Untrusted),
    /// Nothing is made that cannot be written down.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A name.
    #[error(transparent)]
    Tag(#[from] TagError),
    /// A namespace.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A file or a process.
    #[error("cannot {what} the container {name}; check that {folder} has room, and that this is root's own host", folder = net::journal::FOLDER)]
    System {
        /// What was being done.
        what: &'static str,
        /// Its name.
        name: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The runtime did not start it.
    #[error("{program} did not start the container {name} within {seconds} s: {said}")]
    NotStarted {
        /// Which runtime.
        program: &'static str,
        /// Its name.
        name: String,
        /// How long it was waited for, s.
        seconds: u64,
        /// The end of what it said.
        said: String,
    },
}
