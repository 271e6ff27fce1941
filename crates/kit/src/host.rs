//! What of the host a grid depends on.

use probe::tier::Choice;
use trial::Probe;

use crate::controllers::depth;
use crate::{openssl, place};

/// DPDK's benchmark of crypto drivers; Debian puts it into the package `dpdk-dev`.
pub const DPDK_CRYPTO: &str = "dpdk-test-crypto-perf";

/// What is planned for before the host is known: what is in flight within L2 is there
/// on nearly every host, and takes as long however large that is.
const L2_BYTES_USUAL: u64 = 1 << 20;

/// What of the host the grid depends on.
#[derive(Clone, Debug, Default)]
pub struct Host {
    pub cpus: Vec<usize>,
    /// Per core; 0 when unknown.
    pub l2_bytes: u64,
    /// What a CPU model may hide of it, the whole first; empty where it has no tiers.
    pub tiers: Vec<Choice>,
    /// Programs to compare with that are not installed.
    pub missing: Vec<&'static str>,
}

impl Host {
    /// What the probe and the system say.
    pub fn of(probe: Option<&Probe>) -> Self {
        let l2_bytes = match probe {
            Some(probe) => probe.number("cpu.cache.l2_bytes"),
            None => Some(L2_BYTES_USUAL),
        };
        let is_missing = |program: &&str| !probe::command::is_there(program);
        Self {
            cpus: place::usable_cpus().unwrap_or_else(|_| vec![0]),
            l2_bytes: l2_bytes.unwrap_or(0),
            tiers: probe::tier::choices(),
            missing: [openssl::PROGRAM, DPDK_CRYPTO]
                .into_iter()
                .filter(is_missing)
                .collect(),
        }
    }

    /// Where a single thread is measured: the last CPU, since CPU 0 takes most interrupts.
    pub fn quiet_cpu(&self) -> usize {
        self.cpus.last().copied().unwrap_or(0)
    }

    /// One with these CPUs, every tier and every program.
    pub fn with_cpus(cpus: impl Into<Vec<usize>>) -> Self {
        Self {
            cpus: cpus.into(),
            tiers: Choice::every(),
            ..Self::default()
        }
    }

    /// As many requests of that many bytes as half of L2 holds, or one of the usual size
    /// where its own is not known: `most` at most, in eights.
    pub fn requests_held(&self, most: usize, bytes: usize) -> usize {
        let l2_bytes = match self.l2_bytes {
            0 => L2_BYTES_USUAL,
            known => known,
        };
        let held = depth(most, bytes, l2_bytes);
        if held < 8 { held } else { held / 8 * 8 }
    }

    pub fn has(&self, program: &str) -> bool {
        !self.missing.contains(&program)
    }
}
