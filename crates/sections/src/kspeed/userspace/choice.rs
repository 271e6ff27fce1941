//! Which back-end an arm uses.

use std::sync::Arc;

use crypto::{Backend, Kind};
use sys::clock::now_ns;

use crate::kspeed::userspace::UserSpaceError;
use probe::calibration::AUTO;

/// `auto` measures the candidates on this kind for so long; the calibration
/// of every kind takes seconds where the processor is emulated.
const BUDGET_NS: u64 = 60_000_000;

/// The back-end of that name, or of `auto` the one that is fastest here for
/// requests of that size, so many at a time.
pub(super) fn backend(
    name: &str,
    kind: Kind,
    size_bytes: usize,
    jobs: usize,
) -> Result<Arc<dyn Backend>, UserSpaceError> {
    let found = if name.eq_ignore_ascii_case(AUTO) {
        fastest(kind, size_bytes, jobs)
    } else {
        Some(crypto::by_name(name)?)
    };
    found
        .filter(|backend| backend.supports(kind))
        .ok_or_else(|| UserSpaceError::Kind {
            backend: name.to_owned(),
            kind,
        })
}

fn fastest(kind: Kind, size_bytes: usize, jobs: usize) -> Option<Arc<dyn Backend>> {
    let candidates = crypto::candidates();
    let calibration = crypto::calibrate(&candidates, &[kind], BUDGET_NS, now_ns);
    let chosen = calibration.backend_for(kind, size_bytes, jobs);
    let mut having = candidates.into_iter().filter(|one| one.supports(kind));
    match chosen {
        Some(name) => having.find(|one| one.name() == name),
        None => having.next(),
    }
}
