//! Calibrations on disk: one file for each subject.

use std::fs;
use std::path::{Path, PathBuf};

use crypto::{Calibration, JOBS, Kind, Measured, SIZES_BYTES};
use serde::{Deserialize, Serialize};
use sys::trusted::check;

use crate::calibration::subject::Subject;
use crate::calibration::{Calibrated, Origin};
use crate::kept;

/// Version of the file's layout; another one is measured anew.
const SCHEMA: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: u32,
    subject: String,
    measured_utc: String,
    /// Algorithm, operation, bytes, requests at hand, back-end, ns a request.
    measured: Vec<(String, String, usize, usize, String, f64)>,
}

fn path(folder: &Path, subject: &Subject) -> PathBuf {
    folder.join(format!("calibration-{:016x}.json", subject.digest()))
}

/// What is kept for `subject`; `None` where nothing sound is.
pub(super) fn load(subject: &Subject) -> Option<Calibrated> {
    load_from(&kept::folder().ok()?, subject)
}

fn load_from(folder: &Path, subject: &Subject) -> Option<Calibrated> {
    let path = path(folder, subject);
    let document: Document = serde_json::from_str(&kept::read(&path)?).ok()?;
    if document.schema != SCHEMA || document.subject != subject.text() {
        return None;
    }
    let measured = document
        .measured
        .into_iter()
        .map(read)
        .collect::<Option<Vec<_>>>()?;
    Some(Calibrated {
        calibration: Calibration::from_measured(measured),
        origin: Origin::Cached {
            path,
            measured_utc: document.measured_utc,
        },
    })
}

fn read(row: (String, String, usize, usize, String, f64)) -> Option<Measured> {
    let (algorithm, operation, bytes, jobs, backend, ns) = row;
    let kind = Kind::new(algorithm.parse().ok()?, operation.parse().ok()?);
    let is_place = SIZES_BYTES.contains(&bytes) && JOBS.contains(&jobs);
    let is_sound = is_place && ns.is_finite() && ns > 0.0;
    is_sound.then_some(Measured {
        kind,
        bytes,
        jobs,
        backend,
        ns,
    })
}

/// Keeps it; says where, or why not: nothing is written where another user
/// may have put a link.
pub(super) fn save(subject: &Subject, calibration: &Calibration) -> Result<PathBuf, String> {
    save_to(&kept::folder()?, subject, calibration)
}

fn save_to(folder: &Path, subject: &Subject, calibration: &Calibration) -> Result<PathBuf, String> {
    let row = |one: &Measured| {
        (
            one.kind.algorithm.to_string(),
            one.kind.operation.to_string(),
            one.bytes,
            one.jobs,
            one.backend.clone(),
            one.ns,
        )
    };
    let document = Document {
        schema: SCHEMA,
        subject: subject.text().to_owned(),
        measured_utc: crate::site::utc_now(),
        measured: calibration.measured().iter().map(row).collect(),
    };
    let path = path(folder, subject);
    let bytes = serde_json::to_vec(&document).expect("text and finite numbers");
    kept::write(&path, &bytes)?;
    Ok(path)
}

/// Removes what is kept for `subject`.
pub(super) fn remove(subject: &Subject) -> Result<(), String> {
    let kept = kept::folder().map(|folder| path(&folder, subject));
    // What belongs to another user is not used.
    let Some(path) = kept.ok().filter(|path| check(path).is_ok()) else {
        return Ok(());
    };
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crypto::{Algorithm, Operation};

    fn calibration() -> Calibration {
        let one = |backend: &str, ns| Measured {
            kind: Kind::new(Algorithm::Aes128Cbc, Operation::Encrypt),
            bytes: 4096,
            jobs: 12,
            backend: backend.to_owned(),
            ns,
        };
        Calibration::from_measured(vec![one("aws-lc", 2500.25), one("kernels", 170.5)])
    }

    #[test]
    fn what_is_kept_comes_back_for_the_same_subject_only() {
        let folder = tempfile::tempdir().unwrap();
        let subject = Subject::this();
        let path = save_to(folder.path(), &subject, &calibration()).unwrap();
        let back = load_from(folder.path(), &subject).unwrap();
        assert_eq!(back.calibration.measured(), calibration().measured());
        testing::assert_matches!(back.origin, Origin::Cached { path: from, .. } if *from == path);
        let text = fs::read_to_string(&path).unwrap();
        let other = text.replace("lockgate ", "lockgate x");
        fs::write(&path, other).unwrap();
        assert!(load_from(folder.path(), &subject).is_none());
    }

    #[test]
    fn what_is_another_users_is_neither_read_nor_written() {
        if !testing::is_root() {
            return;
        }
        let give = |path: &Path, owner| std::os::unix::fs::chown(path, Some(owner), None).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let subject = Subject::this();
        let path = save_to(folder.path(), &subject, &calibration()).unwrap();
        for other in [&path, folder.path()] {
            give(other, 12_345);
            assert!(load_from(folder.path(), &subject).is_none());
            give(other, 0);
            assert!(load_from(folder.path(), &subject).is_some());
        }
        give(folder.path(), 12_345);
        for folder in [folder.path().to_owned(), folder.path().join("new")] {
            let reason = save_to(&folder, &subject, &calibration()).unwrap_err();
            assert!(reason.contains("belongs to uid 12345"), "{reason}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_damaged_file_is_as_good_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let subject = Subject::this();
        let path = save_to(folder.path(), &subject, &calibration()).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        for (from, to) in [
            ("4096", "4097"),
            ("\"encrypt\"", "\"munge\""),
            ("170.5", "-1.0"),
            ("\"schema\":1", "\"schema\":2"),
            ("{", ""),
        ] {
            assert!(text.contains(from), "{from}");
            fs::write(&path, text.replacen(from, to, 1)).unwrap();
            assert!(
                load_from(folder.path(), &subject).is_none(),
                "{from} → {to}"
            );
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(load_from(folder.path(), &subject).is_none());
        assert!(save_to(folder.path(), &subject, &calibration()).is_err());
    }
}
