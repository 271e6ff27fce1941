//! Where and when a run takes place, and which libraries do the work.

use std::collections::BTreeMap;
use std::fs;

use jiff::{Timestamp, Unit};

/// The host's name; `unknown` where the system does not say.
#[must_use]
pub fn name() -> String {
    let named = |text: &String| !text.is_empty();
    let from_kernel = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    from_kernel
        .map(|text| text.trim().to_owned())
        .filter(named)
        .or_else(|| std::env::var("HOSTNAME").ok().filter(named))
        .unwrap_or_else(|| "unknown".to_owned())
}

/// Now, in UTC, as RFC 3339 with whole seconds: `2026-11-21T21:00:00Z`.
#[must_use]
pub fn utc_now() -> String {
    let now = Timestamp::now();
    now.round(Unit::Second).unwrap_or(now).to_string()
}

/// Versions of the libraries that do the work by name, as they state them.
#[must_use]
pub fn library_versions() -> BTreeMap<String, String> {
    let named = |(name, version): (&str, String)| (name.to_owned(), version);
    crypto::library_versions().into_iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_host_has_a_name_and_a_time() {
        assert!(!super::name().is_empty());
        let now = super::utc_now();
        assert_eq!((now.len(), now.ends_with('Z')), (20, true), "{now}");
    }
}
