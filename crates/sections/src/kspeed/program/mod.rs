//! This program itself in the guest: what user space gets of the kernel's
//! crypto through its socket, and what it does without the kernel. Two hidden
//! commands measure one request again and again, and print one line.

pub mod af_alg;
pub mod engine;

use kit::guest::{not_measured, plain, said};
use std::time::Duration;

use crypto::Workload;
use kit::apart::is_lockgate;
use serde::{Deserialize, Serialize};
use trial::Verdict;
use vm::Outcome;
use vm::image::{GuestFile, HostProgram, ProgramError};

use super::method::Method;
use kit::guest::kspeed::catalogue::Driver;
pub use kit::guest::kspeed::catalogue::Kind;

/// Where the program is in the guest, and how its file is called on the host.
const IN_GUEST: &str = "/usr/bin/lockgate";
/// The library it opens while it runs, if it is there.
const LIBRARY: &str = "libIPSec_MB.so.1";
/// In a shorter time an emulated guest completes no lane full of 64 KiB.
const TIME_MIN: Duration = Duration::from_millis(100);
const SIZE_BYTES_MAX: usize = 65_536;
const TIME_MAX: Duration = Duration::from_secs(600);

/// Asked again and again for a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    pub kind: Kind,
    pub size_bytes: usize,
    pub time: Duration,
}

/// What the commands print.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialLine {
    pub algorithm: String,
    /// Who computed: a driver of the kernel, a back-end of ours.
    pub driver: String,
    pub size_bytes: usize,
    pub elapsed_ns: u64,
    pub completed: u64,
}

/// Why there is no line.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// It cannot be asked for.
    #[error("{0}")]
    Usage(String),
    /// This kernel lacks it.
    #[error("{what}")]
    Missing {
        what: String,
        #[source]
        source: std::io::Error,
    },
    #[error("{what}")]
    Failed {
        what: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("{driver} gave a wrong result: {what}; do not use this driver, and report it")]
    Wrong { driver: String, what: &'static str },
}

impl Request {
    fn check(&self) -> Result<(), TrialError> {
        let (bytes, ms) = (self.size_bytes, self.time.as_millis());
        if !(1..=SIZE_BYTES_MAX).contains(&bytes) {
            let reason = format!("size {bytes} is outside 1 to {SIZE_BYTES_MAX}");
            return Err(TrialError::Usage(reason));
        }
        if ms == 0 || self.time > TIME_MAX {
            let reason = format!("ms {ms} is outside 1 to {}", TIME_MAX.as_millis());
            return Err(TrialError::Usage(reason));
        }
        let checked = Workload::check(self.own(), bytes);
        checked.map_err(|error| TrialError::Usage(error.to_string()))
    }

    fn own(&self) -> crypto::Kind {
        self.kind.own().expect("only the engine's kinds have names")
    }

    fn line(&self, driver: &str, elapsed_ns: u64, completed: u64) -> TrialLine {
        TrialLine {
            algorithm: self.kind.name().to_owned(),
            driver: driver.to_owned(),
            size_bytes: self.size_bytes,
            elapsed_ns,
            completed,
        }
    }

    /// As flags of either command.
    fn flags(&self) -> String {
        format!(
            "--algorithm={} --size={} --ms={}",
            self.kind.name(),
            self.size_bytes,
            self.time.max(TIME_MIN).as_millis()
        )
    }
}

impl TrialLine {
    pub fn requests_per_s(&self) -> f64 {
        self.completed as f64 / (self.elapsed_ns.max(1) as f64 / 1e9)
    }
}

/// The files that make the running program one of the guest's; none where it
/// is not lockgate that runs (a test of the library).
pub(super) fn files() -> Result<Vec<GuestFile>, ProgramError> {
    if !is_lockgate() {
        return Ok(Vec::new());
    }
    HostProgram::running()?.opens(LIBRARY).files(IN_GUEST)
}

/// The script that measures a driver, or user space instead of it.
///
/// # Errors
/// Where there is no such program to be taken into the guest.
pub(super) fn script(
    method: Method,
    driver: Driver,
    depth: usize,
    request: &Request,
) -> Result<String, Verdict> {
    if !is_lockgate() {
        let reason = "the program that runs is not lockgate, so the guest has no lockgate";
        return Err(not_measured(reason, "lockgate run kspeed"));
    }
    let flags = request.flags();
    // Names of drivers have parentheses.
    Ok(match method {
        Method::AfAlg => format!("{IN_GUEST} af-alg '--driver={driver}' {flags} 2>&1"),
        _ => format!("{IN_GUEST} user-space --depth={depth} {flags} 2>&1"),
    })
}

/// Reads what it printed; nothing where no request completed.
///
/// # Errors
/// Where that is no rate of what was asked.
pub(super) fn read(output: &Outcome, request: &Request) -> Result<Option<TrialLine>, Verdict> {
    let refused =
        |reason: String| not_measured(reason, "See what the program says: lockgate vm run SCRIPT.");
    let said = said(output);
    if output.status != 0 {
        return Err(refused(said.trim_start_matches("error: ").to_owned()));
    }
    let text = output.text();
    let line = text.lines().find(|line| line.starts_with('{'));
    let line = line.and_then(|line| serde_json::from_str::<TrialLine>(line).ok());
    let line =
        line.ok_or_else(|| refused(format!("the program printed no figures, but: {said}")))?;
    let own = (line.size_bytes, &*line.algorithm);
    if own != (request.size_bytes, request.kind.name()) || line.elapsed_ns == 0 {
        let own = plain(&format!("{line:?}"), 200);
        let reason = format!("the program did not measure {request:?}, but: {own}");
        return Err(refused(reason));
    }
    Ok((line.completed > 0).then_some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"algorithm":"aes-128-cbc","driver":"virtio_crypto_aes_cbc","size_bytes":512,"elapsed_ns":50000000,"completed":700}"#;

    const REQUEST: Request = Request {
        kind: Kind::Cbc,
        size_bytes: 512,
        time: Duration::from_millis(50),
    };

    fn read_text(status: i32, text: &str) -> Result<Option<TrialLine>, Verdict> {
        let output = text.into();
        read(&Outcome { status, output }, &REQUEST)
    }

    #[test]
    fn a_line_is_a_rate_and_anything_else_a_reason() {
        let line = read_text(0, LINE).unwrap().expect("some completed");
        assert_eq!(line.requests_per_s(), 14_000.0);
        let idle = LINE.replace("700", "0");
        assert_eq!(read_text(0, &idle), Ok(None));
        let other = LINE.replace("512", "64");
        for (status, text, part) in [
            (0, other.as_str(), "size_bytes: 64"),
            (0, "Segmentation fault", "Segmentation"),
            (4, "x\nerror: no AF_ALG socket\n", "no AF_ALG socket"),
            (127, "", "printed nothing"),
        ] {
            let refused = read_text(status, text).unwrap_err();
            assert!(refused.reason.contains(part), "{}", refused.reason);
        }
    }
}
