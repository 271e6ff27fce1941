//! Back-ends by name.

use std::sync::Arc;

use crate::Backend;
use crate::aws_lc::AwsLc;
use crate::portable::Portable;

/// A name that no back-end has.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown back-end '{name}'; known: {}", known().join(", "))]
pub struct UnknownBackend {
    /// What was given.
    pub name: String,
}

/// Every back-end that runs on this host, the default one first.
#[must_use]
pub fn backends() -> Vec<Arc<dyn Backend>> {
    vec![Arc::new(AwsLc), Arc::new(Portable)]
}

/// The back-end of that name; case does not matter.
///
/// # Errors
/// [`UnknownBackend`] names those that exist.
pub fn by_name(name: &str) -> Result<Arc<dyn Backend>, UnknownBackend> {
    backends()
        .into_iter()
        .find(|backend| backend.name().eq_ignore_ascii_case(name))
        .ok_or_else(|| UnknownBackend {
            name: name.to_owned(),
        })
}

/// Each back-end's name and its library's version, for a result's environment.
#[must_use]
pub fn library_versions() -> Vec<(&'static str, String)> {
    backends()
        .iter()
        .map(|backend| (backend.name(), backend.version()))
        .collect()
}

fn known() -> Vec<&'static str> {
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
            "unknown back-end 'qat'; known: aws-lc, portable"
        );
    }

    #[test]
    fn versions_say_numbers() {
        let versions = library_versions();
        assert_eq!(versions.len(), 2);
        assert!(
            versions
                .iter()
                .all(|(_, version)| version.contains(char::is_numeric))
        );
    }
}
