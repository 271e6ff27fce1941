//! What can be wrong with a guest cache.

use std::io;
use std::path::PathBuf;

/// Why the guest cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// There is none.
    #[error(
        "no guest cache in {}; `make setup-guests` fills it, or LOCKGATE_GUESTS names another folder",
        folder.display()
    )]
    Absent {
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// It is there and cannot be read.
    #[error("cannot read {} of the guest cache; make it readable to this user, or let LOCKGATE_GUESTS name another folder", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// Somebody else may have put there what guests and QEMU are made of.
    #[error("the guest cache: {0}, or let LOCKGATE_GUESTS name another folder")]
    Untrusted(sys::trusted::Untrusted),
    /// The manifest is larger than any manifest.
    #[error(
        "{} has more than {limit_bytes} bytes and is no manifest; remove it, then `make setup-guests`",
        path.display()
    )]
    TooLarge {
        /// The manifest.
        path: PathBuf,
        /// Most bytes that are read.
        limit_bytes: u64,
    },
    /// The manifest is not JSON, or not of the expected form.
    #[error("{} is damaged; remove it, then `make setup-guests`", path.display())]
    Malformed {
        /// The manifest.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: serde_json::Error,
    },
    /// The manifest is of another version of Lockgate.
    #[error(
        "{} has schema {found}, this program reads {known}; remove the folder, then `make setup-guests` of this version",
        path.display()
    )]
    Schema {
        /// The manifest.
        path: PathBuf,
        /// Its schema.
        found: u64,
        /// The schema that is read here.
        known: u64,
    },
    /// The manifest names a path that leaves the cache.
    #[error(
        "the guest cache's manifest names {path:?}, which is outside of {}; remove the folder, then `make setup-guests`",
        folder.display()
    )]
    Outside {
        /// The path in the manifest.
        path: String,
        /// The cache.
        folder: PathBuf,
    },
    /// A release that cannot be the name of a folder in a guest.
    #[error(
        "the guest cache's manifest names a kernel {release:?}, which is no kernel release; remove the folder, then `make setup-guests`"
    )]
    Release {
        /// The release in the manifest.
        release: String,
    },
    /// The manifest names what is not there.
    #[error("{} is missing from the guest cache; `make setup-guests` brings it back", path.display())]
    Missing {
        /// The file or folder.
        path: PathBuf,
    },
    /// The manifest names no kernel.
    #[error("the guest cache {} has no kernel; `make setup-guests` fetches one", folder.display())]
    NoKernels {
        /// The cache.
        folder: PathBuf,
    },
    /// The wanted kernel is not among those there.
    #[error(
        "no kernel {wanted:?} in the guest cache, which has {there}; name one of these, or `make setup-guests GUESTS=all` for more"
    )]
    NoSuchKernel {
        /// What was asked for.
        wanted: String,
        /// The releases there.
        there: String,
    },
}
