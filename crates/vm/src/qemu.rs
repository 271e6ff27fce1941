//! The QEMUs of this host and of the guest cache.

mod version;

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use sys::program;
use sys::trusted::Untrusted;

use crate::Cache;

const PROGRAM: &str = "qemu-system-x86_64";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QemuOrigin {
    /// `LOCKGATE_QEMU` names it.
    Named,
    Host,
    Cache,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qemu {
    pub program: PathBuf,
    pub version: (u32, u32, u32),
    pub origin: QemuOrigin,
}

#[derive(Debug, thiserror::Error)]
pub enum QemuError {
    /// There is none.
    #[error(
        "no {PROGRAM} on the path or in the guest cache; `apt-get install qemu-system-x86`, without root `make setup-guests GUESTS=all`, or LOCKGATE_QEMU names one"
    )]
    Absent,
    #[error("LOCKGATE_QEMU={} is not a program; name one, or leave it away", program.display())]
    NotAProgram { program: PathBuf },
    #[error("{0}, or let LOCKGATE_QEMU name another")]
    Untrusted(#[from] Untrusted),
    #[error(
        "{} --version did not run; `apt-get install --reinstall qemu-system-x86`, or LOCKGATE_QEMU names another",
        program.display()
    )]
    NotRunning {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "{} --version answered {answer:?}, which is not QEMU's; let LOCKGATE_QEMU name a {PROGRAM}",
        program.display()
    )]
    NotQemu { program: PathBuf, answer: String },
}

impl Qemu {
    /// Every QEMU that starts: the one `LOCKGATE_QEMU` names, the path's, the
    /// cache's; each program once.
    pub fn find_all(cache: Option<&Cache>) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for (origin, program) in candidates(cache) {
            let Ok(program) = program else { continue };
            if found.iter().all(|qemu| qemu.program != program) {
                found.extend(Self::probe(&program, origin));
            }
        }
        found
    }

    /// The QEMU to use: the one `LOCKGATE_QEMU` names, else the path's, else the
    /// cache's.
    ///
    /// # Errors
    /// [`QemuError`]: there is none, or the one named is none.
    pub fn find(cache: Option<&Cache>) -> Result<Self, QemuError> {
        if let Some(named) = named() {
            let found = program::find(&named, &[])?;
            let program = found.ok_or(QemuError::NotAProgram { program: named })?;
            return Self::probe(&program, QemuOrigin::Named);
        }
        let mut first_error = None;
        for (origin, program) in candidates(cache) {
            let probed = program.map_err(QemuError::from);
            match probed.and_then(|program| Self::probe(&program, origin)) {
                Ok(qemu) => return Ok(qemu),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.unwrap_or(QemuError::Absent))
    }

    /// Asks `program`, a path or a name on `PATH`, for its version, which takes
    /// it milliseconds.
    ///
    /// # Errors
    /// [`QemuError::Untrusted`], [`QemuError::NotRunning`] or
    /// [`QemuError::NotQemu`].
    pub fn probe(program: &Path, origin: QemuOrigin) -> Result<Self, QemuError> {
        let found = program::find(program, &[])?;
        let program = found.as_deref().unwrap_or(program);
        let answer = version::ask(program).map_err(|source| QemuError::NotRunning {
            program: program.to_owned(),
            source,
        })?;
        let version = version::parse(&answer).ok_or_else(|| QemuError::NotQemu {
            program: program.to_owned(),
            answer: answer.lines().next().unwrap_or("").to_owned(),
        })?;
        Ok(Self {
            program: program.to_owned(),
            version,
            origin,
        })
    }
}

fn named() -> Option<PathBuf> {
    env::var_os("LOCKGATE_QEMU")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

fn candidates(cache: Option<&Cache>) -> Vec<(QemuOrigin, Result<PathBuf, Untrusted>)> {
    let named = named().map(|named| (QemuOrigin::Named, named));
    let host = (QemuOrigin::Host, PathBuf::from(PROGRAM));
    let cached = cache.map_or(&[][..], Cache::qemus);
    let cached = cached
        .iter()
        .map(|qemu| (QemuOrigin::Cache, qemu.program.clone()));
    let all = named.into_iter().chain([host]).chain(cached);
    all.filter_map(|(origin, program)| Some((origin, program::find(program, &[]).transpose()?)))
        .collect()
}
