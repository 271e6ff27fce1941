//! What can go wrong with stored runs.

use std::io;
use std::path::PathBuf;

use trial::ReadError;

use crate::store::FILE_BYTES_MAX;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No folder, no run.
    #[error("cannot create the run folder '{}'; name a writable one with --out or LOCKGATE_RUNS", path.display())]
    Create {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A file cannot be written: no space, no permission, or the folder went.
    #[error("cannot write '{}'; {}", path.display(), write_remedy(source))]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// More than a run may take.
    #[error("'{}' would have {bytes} bytes, the limit is {FILE_BYTES_MAX}; choose fewer points", path.display())]
    TooLarge { path: PathBuf, bytes: usize },
    /// The link to the newest run cannot be made.
    #[error("cannot link '{}' to this run; name the run by its folder instead", path.display())]
    Latest {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn write_remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or name a folder on another disk with --out or LOCKGATE_RUNS"
        }
        io::ErrorKind::NotFound => {
            "was the run's folder removed meanwhile? Run again, or name another with --out"
        }
        _ => "name a writable folder with --out or LOCKGATE_RUNS",
    }
}

/// Why a stored run cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Nothing there.
    #[error("no run at '{argument}': give a run's folder, a result.json, or 'latest' (looked for '{}')", path.display())]
    Missing { argument: String, path: PathBuf },
    /// There, but not readable.
    #[error("cannot read '{}'", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Larger than any result of ours.
    #[error("'{}' has more than {FILE_BYTES_MAX} bytes: it is no result of Lockgate", path.display())]
    TooLarge { path: PathBuf },
    /// Not a result, a damaged one, or one of another schema version.
    #[error("cannot use '{}'", path.display())]
    Content {
        path: PathBuf,
        #[source]
        source: ReadError,
    },
}
