//! What can be wrong with a guest cache.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// There is none.
    #[error(
        "no guest cache in {}; `make setup-guests` fills it, or LOCKGATE_GUESTS names another folder",
        folder.display()
    )]
    Absent { folder: PathBuf },
    #[error("cannot read {} of the guest cache; make it readable to this user, or let LOCKGATE_GUESTS name another folder", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the guest cache: {0}, or let LOCKGATE_GUESTS name another folder")]
    Untrusted(sys::trusted::Untrusted),
    #[error(
        "{} has more than {limit_bytes} bytes and is not a manifest; remove it, then `make setup-guests`",
        path.display()
    )]
    TooLarge { path: PathBuf, limit_bytes: u64 },
    #[error("{} is damaged; remove it, then `make setup-guests`", path.display())]
    Malformed {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    #[error(
        "{} has schema {found}, this program reads {known}; remove the folder, then `make setup-guests` of this version",
        path.display()
    )]
    Schema {
        path: PathBuf,
        found: u64,
        known: u64,
    },
    #[error(
        "the guest cache's manifest names {path:?}, which is outside of {}; remove the folder, then `make setup-guests`",
        folder.display()
    )]
    Outside { path: String, folder: PathBuf },
    #[error(
        "the guest cache's manifest names a kernel {release:?}, which is not a valid kernel release; remove the folder, then `make setup-guests`"
    )]
    Release { release: String },
    #[error("{} is missing from the guest cache; `make setup-guests` brings it back", path.display())]
    Missing { path: PathBuf },
    #[error("the guest cache {} has no kernel; `make setup-guests` fetches one", folder.display())]
    NoKernels { folder: PathBuf },
    #[error(
        "no kernel {wanted:?} in the guest cache, which has {there}; name one of these, or `make setup-guests GUESTS=all` for more"
    )]
    NoSuchKernel { wanted: String, there: String },
}
