//! The libraries that do the work.

use std::collections::BTreeMap;

/// Versions by name, as the libraries themselves say.
#[must_use]
pub fn versions() -> BTreeMap<String, String> {
    let named = |(name, version): (&str, String)| (name.to_owned(), version);
    crypto::library_versions().into_iter().map(named).collect()
}
