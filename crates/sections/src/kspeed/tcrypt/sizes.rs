//! How tcrypt is called so that it measures a driver, and which lengths it
//! has: both are compiled into it.

use crate::kspeed::catalogue::{Driver, Kind};

/// Lengths of ciphers, rounded up to whole blocks.
const CBC_BYTES: &[usize] = &[16, 64, 128, 256, 1024, 1424, 4096];
const GCM_BYTES: &[usize] = &[16, 64, 256, 512, 1024, 1420, 4096, 8192];
/// Of hashes, those in which the whole request is handed over at once.
const HASH_BYTES: &[usize] = &[16, 64, 256, 1024, 2048, 4096, 8192];

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Call {
    /// Requests in flight; none: one after the other.
    pub(in super::super) num_mb: Option<usize>,
    /// Seconds for each length; 0: cycles of eight operations.
    pub(in super::super) seconds: usize,
}

/// Whether tcrypt measures requests of that length on that driver.
pub(in super::super) fn measures(call: Call, driver: &Driver, bytes: usize) -> bool {
    match (driver.kind, call.num_mb) {
        (Kind::Cbc, _) => CBC_BYTES.contains(&bytes),
        (Kind::Gcm, _) => GCM_BYTES.contains(&bytes),
        (Kind::Sha256, None) => HASH_BYTES.contains(&bytes),
        // It had that once, and no longer has.
        (Kind::Sha256, Some(_)) => false,
    }
}

impl Call {
    /// The module's parameters.
    pub(in super::super) fn parameters(self, driver: &Driver) -> String {
        let mode = match (driver.kind, self.num_mb) {
            (Kind::Cbc, None) => "mode=500".to_owned(),
            (Kind::Cbc, Some(num_mb)) => format!("mode=600 num_mb={num_mb}"),
            (Kind::Gcm, None) => "mode=211".to_owned(),
            (Kind::Gcm, Some(num_mb)) => format!("mode=215 num_mb={num_mb}"),
            // Of hashes it takes a driver's name.
            (Kind::Sha256, _) => format!("mode=400 alg=\"{}\"", driver.name),
        };
        format!("{mode} sec={}", self.seconds)
    }

    /// How often it is called in a round: eight operations say little.
    pub(in super::super) fn times(self) -> usize {
        match (self.seconds, self.num_mb) {
            (0, None) => 2,
            _ => 1,
        }
    }

    /// How long its calls of a round take, seconds, about. Each runs twice,
    /// since busybox loads again what ended with an error, as tcrypt always
    /// does.
    pub(in super::super) fn expected_s(self, driver: &Driver) -> f64 {
        let (tests, pass_s) = match (driver.kind, self.num_mb) {
            (Kind::Cbc, None) => (42, 0.1),
            (Kind::Cbc, Some(_)) => (42, 0.4),
            (Kind::Gcm, None) => (64, 0.15),
            (Kind::Gcm, Some(_)) => (64, 0.6),
            (Kind::Sha256, _) => (22, 0.2),
        };
        2.0 * self.times() as f64 * (pass_s + (tests * self.seconds) as f64)
    }
}
