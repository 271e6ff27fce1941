//! Which crypto back-end does what on this host: measured once, kept in a
//! cache, told by the probe.

mod cache;
mod choice;
mod facts;
mod subject;
mod table;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crypto::{Backend, Calibration, Kind, UnknownBackend};

pub use facts::facts;
pub use table::table;

use subject::Subject;

/// What measuring may take, about: it happens once for a processor and a set
/// of libraries.
const BUDGET: Duration = Duration::from_millis(800);

/// The calibration in use, and where it is from.
#[derive(Clone, Debug)]
pub struct Calibrated {
    pub calibration: Calibration,
    pub origin: Origin,
}

/// Where a calibration is from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// Measured by this process, and kept there; or not, for that reason.
    Measured {
        seconds: f64,
        kept: Result<PathBuf, String>,
    },
    /// Found in the cache.
    Cached { path: PathBuf, measured_utc: String },
}

/// This process's calibration: from the cache, else measured now.
pub fn current() -> &'static Calibrated {
    static CURRENT: OnceLock<Calibrated> = OnceLock::new();
    CURRENT.get_or_init(|| {
        let subject = Subject::this();
        let found = cache::load(&subject).unwrap_or_else(|| measured(&subject));
        Calibrated {
            calibration: found.calibration.among(&crypto::candidates()),
            ..found
        }
    })
}

/// Forgets what the cache holds for this host, so that the next use measures.
///
/// # Errors
/// What the file system says, with the path.
pub fn forget() -> Result<(), String> {
    cache::remove(&Subject::this())
}

fn measured(subject: &Subject) -> Calibrated {
    let kinds: Vec<_> = Kind::all().collect();
    let budget_ns = BUDGET.as_nanos() as u64;
    let begin = sys::clock::now_ns();
    let calibration =
        crypto::calibrate(&crypto::candidates(), &kinds, budget_ns, sys::clock::now_ns);
    let seconds = (sys::clock::now_ns() - begin) as f64 / 1e9;
    let kept = cache::save(subject, &calibration);
    Calibrated {
        calibration,
        origin: Origin::Measured { seconds, kept },
    }
}

/// The back-end of that name; `auto` chooses by this host's calibration.
///
/// # Errors
/// [`UnknownBackend`].
pub fn backend(name: &str) -> Result<Arc<dyn Backend>, UnknownBackend> {
    let found = crypto::by_name(name)?;
    if found.name() == AUTO {
        return Ok(crypto::auto(|| current().calibration.clone()));
    }
    Ok(found)
}

/// The name of the back-end that chooses.
pub const AUTO: &str = "auto";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_knows_this_hosts_calibration_and_others_are_themselves() {
        let auto = backend("AUTO").unwrap();
        let gcm = Kind::new(crypto::Algorithm::Aes128Gcm, crypto::Operation::Encrypt);
        assert!(auto.supports(gcm) && auto.width(gcm) >= 1);
        assert_eq!(backend("aws-lc").unwrap().name(), "aws-lc");
        assert!(backend("qat").is_err());
        let contested = crypto::candidates()
            .iter()
            .filter(|one| one.supports(gcm))
            .count()
            > 1;
        let at = current().calibration.at(gcm, 4096, 12);
        assert_eq!(at.len() > 1, contested);
    }
}
