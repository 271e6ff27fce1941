//! What can go wrong with AF_ALG.

use std::io;

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum AfAlgError {
    /// A value out of its range.
    #[error("{what} {got} is out of range: {limit}; give another")]
    Value {
        /// Which.
        what: &'static str,
        /// What was asked.
        got: usize,
        /// What is allowed.
        limit: String,
    },
    /// A name that no driver can have.
    #[error(
        "driver {driver:?} is no name of 1 to 63 bytes; /proc/crypto lists the names there are"
    )]
    DriverName {
        /// What was asked.
        driver: String,
    },
    /// The kernel has no AF_ALG, or this process may not use it.
    #[error(
        "no AF_ALG socket: load af_alg and algif_skcipher, algif_hash, algif_aead (kernel options CONFIG_CRYPTO_USER_API_SKCIPHER, _HASH, _AEAD), allow the address family in the container's seccomp profile, or use a guest: `lockgate vm run --module algif_skcipher …`"
    )]
    Absent(#[source] io::Error),
    /// The kernel knows no such type or algorithm.
    #[error(
        "the kernel has no {kind} '{driver}' for AF_ALG: load algif_{kind} and the driver's module; /proc/crypto lists the drivers that are there"
    )]
    Unknown {
        /// AF_ALG's type.
        kind: &'static str,
        /// What was asked.
        driver: String,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// A system call failed that should not.
    #[error("{call} failed for {driver}{remedy}")]
    System {
        /// Which.
        call: &'static str,
        /// The driver.
        driver: String,
        /// What to do, with its separator; empty where nothing is known.
        remedy: &'static str,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// A request came out wrong.
    #[error("{driver} gave a wrong result: {what}; do not use this driver, and report it")]
    Wrong {
        /// The driver.
        driver: String,
        /// What was wrong.
        what: &'static str,
    },
    /// A thread could not be started.
    #[error("thread {thread} of {depth} got no stack: lower depth, or raise the limit of threads")]
    Thread {
        /// Which.
        thread: u32,
        /// Of how many.
        depth: u32,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A thread panicked: a defect of ours.
    #[error("a measuring thread panicked; this is a defect of lockgate")]
    Panic,
}

impl AfAlgError {
    /// Whether the caller asked for something impossible.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Value { .. } | Self::DriverName { .. })
    }

    /// Whether this kernel lacks what was asked for.
    #[must_use]
    pub const fn is_missing(&self) -> bool {
        matches!(self, Self::Absent(_) | Self::Unknown { .. })
    }
}
