//! What of the host a grid depends on.

use trial::Probe;

use crate::place;

/// What of the host the grid depends on.
#[derive(Clone, Debug)]
pub struct Host {
    pub cpus: Vec<usize>,
    /// Per core; 0 when unknown.
    pub l2_bytes: u64,
    pub has_openssl: bool,
}

impl Host {
    /// What the probe and the system say; openssl is looked for where it is
    /// wanted.
    pub fn of(probe: Option<&Probe>, wants_openssl: bool) -> Self {
        let l2_bytes = probe.and_then(|probe| probe.number("cpu.cache.l2_bytes"));
        Self {
            cpus: place::usable_cpus().unwrap_or_else(|_| vec![0]),
            l2_bytes: l2_bytes.unwrap_or(0),
            has_openssl: wants_openssl && probe::command::is_there("openssl"),
        }
    }
}
