//! Where runs live: `<root>/<utc>-<host>/` with `result.json` and
//! `report.html`, and `latest` beside them.

mod error;
mod load;

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process;

use trial::Run;

pub use error::{LoadError, StoreError};
pub use load::{beside, load, load_file};
use sys::files::{check_writable, write_atomically};

/// The folder of runs when neither `--out` nor `LOCKGATE_RUNS` says otherwise.
pub const RUNS: &str = "lockgate-runs";

/// The file of a run's results.
pub const RESULT: &str = "result.json";

/// The file of a run's report.
pub const REPORT: &str = "report.html";

/// The link to the newest run.
pub const LATEST: &str = "latest";

/// The most bytes a stored file may have; bounds the disk a run takes.
pub const FILE_BYTES_MAX: usize = 64 << 20;

/// Runs begun in the same second on the same host get suffixes up to this.
const SUFFIX_MAX: u32 = 1000;

/// The folder of one run.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// Makes the run's folder, and `root` above it where needed.
    ///
    /// # Errors
    /// [`StoreError::Create`] with the path and the remedy; nothing stays.
    pub fn create(root: &Path, utc: &str, host: &str) -> Result<Self, StoreError> {
        let name = folder_name(utc, host);
        let failed = |path: &Path, source| StoreError::Create {
            path: path.to_owned(),
            source,
        };
        fs::create_dir_all(root).map_err(|source| failed(root, source))?;
        for suffix in 1..=SUFFIX_MAX {
            let folder = root.join(if suffix == 1 {
                name.clone()
            } else {
                format!("{name}-{suffix}")
            });
            match fs::create_dir(&folder) {
                Ok(()) => return Self::checked(folder),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(&folder, error)),
            }
        }
        Err(failed(
            &root.join(name),
            io::Error::from(io::ErrorKind::AlreadyExists),
        ))
    }

    fn checked(folder: PathBuf) -> Result<Self, StoreError> {
        match check_writable(&folder.join(RESULT)) {
            Ok(()) => Ok(Self { folder }),
            Err(source) => {
                // Best effort: an empty folder is no result.
                let _ = fs::remove_dir(&folder);
                Err(StoreError::Create {
                    path: folder,
                    source,
                })
            }
        }
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes `result.json`, whole or not at all. `durable` waits for the disk.
    ///
    /// # Errors
    /// [`StoreError`] with the path and the remedy; the file before stands.
    pub fn save_result(&self, run: &Run, durable: bool) -> Result<(), StoreError> {
        self.save(RESULT, &result_bytes(run), durable)
    }

    /// Writes `report.html`, whole or not at all.
    ///
    /// # Errors
    /// As [`Store::save_result`].
    pub fn save_report(&self, html: &str) -> Result<(), StoreError> {
        self.save(REPORT, html.as_bytes(), true)
    }

    fn save(&self, name: &str, bytes: &[u8], durable: bool) -> Result<(), StoreError> {
        let path = self.folder.join(name);
        if bytes.len() > FILE_BYTES_MAX {
            return Err(StoreError::TooLarge {
                path,
                bytes: bytes.len(),
            });
        }
        write_atomically(&path, bytes, durable).map_err(|source| StoreError::Write { path, source })
    }

    /// Points `latest` beside the folder to it, replacing the link that may
    /// be there in one step.
    ///
    /// # Errors
    /// [`StoreError::Latest`] where links are impossible or something else
    /// has that name; the run itself is not concerned.
    pub fn link_latest(&self) -> Result<(), StoreError> {
        let latest = self.folder.with_file_name(LATEST);
        let temporary = self
            .folder
            .with_file_name(format!(".{LATEST}.lockgate-{}", process::id()));
        let target = self
            .folder
            .file_name()
            .expect("create() gave the folder a name");
        let linked =
            symlink(Path::new(target), &temporary).and_then(|()| fs::rename(&temporary, &latest));
        linked.map_err(|source| {
            // Best effort: the first error is the one that matters.
            let _ = fs::remove_file(&temporary);
            StoreError::Latest {
                path: latest,
                source,
            }
        })
    }
}

/// `result.json` as bytes: indented, with a line's end at its end.
#[must_use]
pub fn result_bytes(run: &Run) -> Vec<u8> {
    let mut bytes =
        serde_json::to_vec_pretty(run).expect("a run is maps with text keys, lists and numbers");
    bytes.push(b'\n');
    bytes
}

/// `20261121T210000Z-host`; whatever a host may be called, the name is one
/// folder with no surprises in it.
fn folder_name(utc: &str, host: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_' || c == '-';
    let compact = utc.chars().filter(|c| c.is_ascii_alphanumeric());
    let host = host
        .chars()
        .take(HOST_CHARS_MAX)
        .map(|c| if plain(c) { c } else { '-' });
    compact.chain(['-']).chain(host).collect()
}

/// Long enough for any host name, short enough for any file system.
const HOST_CHARS_MAX: usize = 64;

#[cfg(test)]
mod tests;
