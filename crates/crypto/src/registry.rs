//! Back-ends by name.

use std::sync::Arc;

use crate::aws_lc::AwsLc;
use crate::ipsec_mb::{self, Unavailable, ipsec_mb};
use crate::kernels::Kernels;
use crate::portable::Portable;
use crate::{Auto, Backend, Calibration, Kind};

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownBackend {
    #[error("unknown back-end '{name}'; known: {}", backend_names().join(", "))]
    Name { name: String },
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// The back-ends that `auto` chooses among on this host, the most trusted
/// first; without the portable one, whose public-key code leaks timing.
pub fn candidates() -> Vec<Arc<dyn Backend>> {
    let mut candidates: Vec<Arc<dyn Backend>> = vec![Arc::new(AwsLc)];
    candidates.extend(ipsec_mb());
    candidates.push(Arc::new(Kernels::new()));
    candidates
}

/// The back-end that chooses among the [`candidates`] by what `source` yields
/// when the first key is made.
pub fn auto(source: impl Fn() -> Calibration + Send + Sync + 'static) -> Arc<dyn Backend> {
    Arc::new(Auto::new(candidates(), source))
}

/// Every back-end that runs on this host, the default one first. Nothing has
/// been measured for this `auto`: see [`auto()`] and [`crate::calibrate`].
pub fn backends() -> Vec<Arc<dyn Backend>> {
    let kinds: Vec<_> = Kind::all().collect();
    let expected = auto(move || Calibration::expected(&candidates(), &kinds));
    let mut backends = vec![expected];
    backends.extend(candidates());
    backends.push(Arc::new(Portable));
    backends
}

/// The back-end of that name; case does not matter.
///
/// # Errors
/// [`UnknownBackend`] names those that exist, or says why the one of that
/// name does not run here, and what helps.
pub fn by_name(name: &str) -> Result<Arc<dyn Backend>, UnknownBackend> {
    if name.eq_ignore_ascii_case(ipsec_mb::NAME) {
        return Ok(ipsec_mb()?);
    }
    backends()
        .into_iter()
        .find(|backend| backend.name().eq_ignore_ascii_case(name))
        .ok_or_else(|| UnknownBackend::Name {
            name: name.to_owned(),
        })
}

/// Each back-end's name and its library's version, for a result's environment.
pub fn library_versions() -> Vec<(&'static str, String)> {
    backends()
        .iter()
        .map(|backend| (backend.name(), backend.version()))
        .collect()
}

pub fn backend_names() -> Vec<&'static str> {
    backends().iter().map(|backend| backend.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_each_by_its_name() {
        for backend in backends() {
            let found = by_name(&backend.name().to_uppercase()).expect("it is listed");
            assert_eq!(found.name(), backend.name());
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known() {
        let Err(error) = by_name("qat") else {
            panic!("there is no such back-end")
        };
        assert_eq!(
            error.to_string(),
            format!(
                "unknown back-end 'qat'; known: {}",
                backend_names().join(", ")
            )
        );
    }

    #[test]
    fn versions_say_numbers() {
        let versions = library_versions();
        assert_eq!(versions.len(), backends().len());
        assert!(
            versions
                .iter()
                .all(|(_, version)| version.contains(char::is_numeric))
        );
    }
}
