//! Lockgate itself in the guest: what user space gets of the kernel's crypto
//! through its socket, and what it does without the kernel.

use std::time::Duration;

use vm::image::{GuestFile, HostProgram, ProgramError};

use crate::kspeed::af_alg::{AfAlg, AfAlgType, Direction};
use crate::kspeed::catalogue::Kind;
use crate::kspeed::cell::{Failure, Place};
use crate::kspeed::method::Method;
use crate::kspeed::module::{GCM_AAD_BYTES, GCM_TAG_BYTES};
use crate::kspeed::shell::Output;
use crate::kspeed::trial_line::TrialLine;
use crate::kspeed::userspace::{
    LoadMode, UserSpace, af_alg_arguments, read_line, shell_line, user_space_arguments,
};

/// Where the program is in the guest, and how its file is called on the host.
const IN_GUEST: &str = "/usr/bin/lockgate";
const NAME: &str = "lockgate";
/// The library it opens while it runs, if it is there.
const LIBRARY: &str = "libIPSec_MB.so.1";
const WARM_UP: Duration = Duration::from_millis(5);
/// In a shorter time an emulated guest completes no lane full of 64 KiB.
const TIME_MIN: Duration = Duration::from_millis(100);

/// What is known of one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    pub(super) requests_per_s: f64,
    pub(super) completed: u64,
}

/// The files that make the running program one of the guest's; none where it
/// is not lockgate that runs (a test of the library).
///
/// # Errors
/// [`ProgramError`].
pub(super) fn files() -> Result<Vec<GuestFile>, ProgramError> {
    if !is_lockgate() {
        return Ok(Vec::new());
    }
    HostProgram::running()?.opens(LIBRARY).files(IN_GUEST)
}

fn is_lockgate() -> bool {
    std::env::current_exe().is_ok_and(|path| path.file_name().is_some_and(|name| name == NAME))
}

/// The script that measures a place; none of a method that needs no program.
///
/// # Errors
/// [`Failure`] where there is no such program to be taken into the guest.
pub(super) fn script(
    method: Method,
    place: Place,
    depth: usize,
    duration: Duration,
) -> Result<String, Failure> {
    if !is_lockgate() {
        return Err(Failure {
            reason: "the program that runs is not lockgate, so the guest has no lockgate"
                .to_owned(),
            remedy: "lockgate run kspeed".to_owned(),
        });
    }
    let duration = duration.max(TIME_MIN);
    let arguments = match method {
        Method::AfAlg => af_alg_arguments(&af_alg(place, duration)),
        _ => user_space_arguments(&engine(place, depth, duration)?),
    };
    Ok(shell_line(IN_GUEST, &arguments))
}

fn af_alg(place: Place, time: Duration) -> AfAlg {
    let kind = place.driver.kind;
    AfAlg {
        kind: match kind {
            Kind::Cbc => AfAlgType::Skcipher,
            Kind::Gcm => AfAlgType::Aead,
            Kind::Sha256 => AfAlgType::Hash,
        },
        driver: place.driver.name.to_owned(),
        direction: Direction::Encrypt,
        size_bytes: place.size_bytes,
        key_bytes: kind.key_bytes(),
        aad_bytes: GCM_AAD_BYTES,
        tag_bytes: GCM_TAG_BYTES,
        depth: 1,
        warm_up: WARM_UP,
        time,
    }
}

fn engine(place: Place, depth: usize, time: Duration) -> Result<UserSpace, Failure> {
    let kind = place.driver.kind;
    let arm = UserSpace::named(kind.name(), None).map_err(|error| Failure {
        reason: error.to_string(),
        remedy: String::new(),
    })?;
    Ok(UserSpace {
        size_bytes: place.size_bytes,
        mode: LoadMode::Async,
        depth: u32::try_from(depth).unwrap_or(u32::MAX),
        time,
        ..arm
    })
}

/// Reads what the program printed; nothing where no request completed.
///
/// # Errors
/// [`Failure`] where that is no rate of this place.
pub(super) fn read(method: Method, place: Place, output: &Output) -> Result<Option<Rate>, Failure> {
    let failure = |reason: String| Failure {
        reason,
        remedy: "see what the program says: lockgate vm run SCRIPT".to_owned(),
    };
    let line = read_line(output.status, &output.text);
    let line = line.map_err(|error| failure(error.to_string()))?;
    check(method, place, &line).map_err(failure)?;
    Ok((line.completed > 0).then(|| Rate {
        requests_per_s: line.requests_per_s(),
        completed: line.completed,
    }))
}

/// Whether the line answers what was asked, with figures that can be.
fn check(method: Method, place: Place, line: &TrialLine) -> Result<(), String> {
    if line.size_bytes != place.size_bytes as u64 {
        return Err(format!(
            "the program measured {} bytes, asked were {}",
            line.size_bytes, place.size_bytes
        ));
    }
    if method == Method::AfAlg && line.driver != place.driver.name {
        return Err(format!(
            "the program measured {}, asked was {}",
            line.driver, place.driver
        ));
    }
    if line.errors > 0 || line.elapsed_ns == 0 {
        return Err(format!(
            "{} requests completed and {} failed in {} ns",
            line.completed, line.errors, line.elapsed_ns
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kspeed::catalogue::DRIVERS;

    const LINE: &str = r#"{"schema":1,"ok":true,"source":"af-alg","type":"skcipher","algorithm":"cbc(aes)","driver":"virtio_crypto_aes_cbc","is_async":true,"mode":"sync","op":"encrypt","size_bytes":512,"key_bytes":16,"depth":1,"thread_count":1,"elapsed_ns":50000000,"completed":700,"bytes":358400,"errors":0,"verified":true,"verified_by":"known-answer","latency_ns":{"count":0,"sum":0,"min":0,"max":0,"buckets":[]},"threads":[]}"#;

    const PLACE: Place = Place {
        driver: &DRIVERS[0],
        size_bytes: 512,
        threads: 1,
    };

    fn read_text(status: i32, text: &str) -> Result<Option<Rate>, Failure> {
        let text = text.to_owned();
        read(Method::AfAlg, PLACE, &Output { status, text })
    }

    #[test]
    fn a_line_is_a_rate() {
        let rate = read_text(0, LINE).unwrap().expect("some completed");
        assert_eq!((rate.requests_per_s, rate.completed), (14_000.0, 700));
        let idle = LINE.replace("\"completed\":700", "\"completed\":0");
        assert_eq!(read_text(0, &idle), Ok(None));
    }

    #[test]
    fn what_is_no_rate_of_this_place_is_a_failure_in_words() {
        for (text, part) in [
            (
                LINE.replace("\"size_bytes\":512", "\"size_bytes\":64"),
                "64 bytes",
            ),
            (
                LINE.replace("virtio_crypto_aes_cbc", "cbc-aes-aesni"),
                "cbc-aes-aesni",
            ),
            (LINE.replace("\"errors\":0", "\"errors\":3"), "3 failed"),
            ("Segmentation fault".to_owned(), "Segmentation"),
        ] {
            let failure = read_text(0, &text).unwrap_err();
            assert!(failure.reason.contains(part), "{}", failure.reason);
        }
        let failure = read_text(4, "error: no AF_ALG socket").unwrap_err();
        assert!(failure.reason.contains("no AF_ALG socket"));
    }

    #[test]
    fn every_kind_has_arguments() {
        for driver in DRIVERS {
            let place = Place { driver, ..PLACE };
            let time = Duration::from_millis(50);
            assert!(engine(place, 16, time).is_ok(), "{driver}");
            assert_eq!(af_alg(place, time).driver, driver.name);
        }
    }
}
