//! Where runs live: `<root>/<utc>-<host>/` with `result.json` and
//! `report.html`, and `latest` beside them.

mod load;

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process;

use sys::failure::Failure;
use sys::files::{check_writable, write_atomically};
use trial::Run;

pub use load::{beside, load, load_file};

/// The folder of runs where neither `--out` nor `LOCKGATE_RUNS` names one.
pub const RUNS: &str = "lockgate-runs";

/// The file of a run's results.
pub const RESULT: &str = "result.json";

/// The file of a run's report.
pub const REPORT: &str = "report.html";

/// The link to the newest run.
pub const LATEST: &str = "latest";

/// Maximum size of a stored file; bounds the disk a run takes.
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
    /// Names the path and the remedy; nothing stays.
    pub fn create(root: &Path, utc: &str, host: &str) -> Result<Self, Failure> {
        let name = folder_name(utc, host);
        fs::create_dir_all(root).map_err(not_created(root))?;
        for suffix in 1..=SUFFIX_MAX {
            let folder = root.join(match suffix {
                1 => name.clone(),
                _ => format!("{name}-{suffix}"),
            });
            match fs::create_dir(&folder) {
                Ok(()) => return Self::checked(folder),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(not_created(&folder)(error)),
            }
        }
        let error = io::ErrorKind::AlreadyExists.into();
        Err(not_created(&root.join(name))(error))
    }

    fn checked(folder: PathBuf) -> Result<Self, Failure> {
        if let Err(error) = check_writable(&folder.join(RESULT)) {
            // Best effort: an empty folder is no result.
            let _ = fs::remove_dir(&folder);
            return Err(not_created(&folder)(error));
        }
        Ok(Self { folder })
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes `result.json`, whole or not at all. `durable` waits for the disk.
    ///
    /// # Errors
    /// Names the path and the remedy; the file before stands.
    pub fn save_result(&self, run: &Run, durable: bool) -> Result<(), Failure> {
        self.save(RESULT, &result_bytes(run), durable)
    }

    /// Writes `report.html`, whole or not at all.
    ///
    /// # Errors
    /// As [`Store::save_result`].
    pub fn save_report(&self, html: &str) -> Result<(), Failure> {
        self.save(REPORT, html.as_bytes(), true)
    }

    fn save(&self, name: &str, bytes: &[u8], durable: bool) -> Result<(), Failure> {
        let path = self.folder.join(name);
        if bytes.len() > FILE_BYTES_MAX {
            return Err(Failure::new(format!(
                "'{}' would have {} bytes, the limit is {FILE_BYTES_MAX}; choose fewer points",
                path.display(),
                bytes.len()
            )));
        }
        write_atomically(&path, bytes, durable).map_err(|error| {
            let remedy = write_remedy(&error);
            Failure::of(format!("cannot write '{}'; {remedy}", path.display()))(error)
        })
    }

    /// Points `latest` beside the folder to it, replacing the link that may
    /// be there in one step.
    ///
    /// # Errors
    /// Links are impossible, or something else has that name; the run itself is
    /// not concerned.
    pub fn link_latest(&self) -> Result<(), Failure> {
        let beside = |name: &str| self.folder.with_file_name(name);
        let latest = beside(LATEST);
        let temporary = beside(&format!(".{LATEST}.lockgate-{}", process::id()));
        let target = self.folder.file_name();
        let target = target.expect("create() gave the folder a name");
        let linked = symlink(target, &temporary).and_then(|()| fs::rename(&temporary, &latest));
        linked.map_err(|error| {
            // Best effort: the first error is the one that matters.
            let _ = fs::remove_file(&temporary);
            Failure::of(format!(
                "cannot link '{}' to this run; name the run by its folder instead",
                latest.display()
            ))(error)
        })
    }
}

fn not_created(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    Failure::of(format!(
        "cannot create the run folder '{}'; name a writable one with --out or LOCKGATE_RUNS",
        path.display()
    ))
}

fn write_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or name a folder on another disk with --out or LOCKGATE_RUNS"
        }
        io::ErrorKind::NotFound => {
            "was the run's folder removed meanwhile? Run again, or name another with --out"
        }
        _ => "name a writable folder with --out or LOCKGATE_RUNS",
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
    let host = host.chars().take(HOST_CHARS_MAX);
    let host = host.map(|c| if plain(c) { c } else { '-' });
    compact.chain(['-']).chain(host).collect()
}

/// Long enough for any host name, short enough for any file system.
const HOST_CHARS_MAX: usize = 64;

#[cfg(test)]
mod tests;
