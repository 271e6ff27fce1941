//! The ways to do a row's work.

use std::fmt;
use std::str::FromStr;

use kit::load::fresh::arm::Arm as Like;
use probe::tier::{self, Unmaskable};

/// One way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Arm {
    /// Through a lane, polled.
    Engine,
    /// The loop of the lane's own back-end.
    OwnLoop,
    /// `openssl speed`, one stream.
    OpenSsl,
    /// `dpdk-test-crypto-perf` with 32 operations in a burst.
    Dpdk32,
    /// `dpdk-test-crypto-perf` with one operation at a time.
    Dpdk1,
    /// `ring`, called directly in a loop.
    Ring,
    /// AES rounds on registers: no memory, no mode.
    Ceiling,
}

impl Arm {
    /// In the order of reports.
    pub(super) const ALL: [Self; 7] = [
        Self::Engine,
        Self::OwnLoop,
        Self::OpenSsl,
        Self::Dpdk32,
        Self::Dpdk1,
        Self::Ring,
        Self::Ceiling,
    ];
    /// What others offer: where one of them is faster, we lose.
    pub(super) const PEERS: [Self; 4] = [Self::OpenSsl, Self::Dpdk32, Self::Dpdk1, Self::Ring];
    /// What a table's `peers` may name.
    pub(super) const OPTIONAL: [Self; 5] = [
        Self::OpenSsl,
        Self::Dpdk32,
        Self::Dpdk1,
        Self::Ring,
        Self::Ceiling,
    ];

    /// The dimension `arm`, and the name in flags and tables.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::OwnLoop => "own-loop",
            Self::OpenSsl => "openssl",
            Self::Dpdk32 => "dpdk-32",
            Self::Dpdk1 => "dpdk-1",
            Self::Ring => "ring",
            Self::Ceiling => "ceiling",
        }
    }

    /// Its name for people.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::OwnLoop => "own loop",
            Self::OpenSsl => "openssl speed",
            Self::Dpdk32 => "DPDK, burst 32",
            Self::Dpdk1 => "DPDK, burst 1",
            Self::Ring => "ring",
            Self::Ceiling => "AES ceiling",
        }
    }

    /// Operations in a burst of DPDK.
    pub(super) const fn burst(self) -> Option<usize> {
        match self {
            Self::Dpdk32 => Some(32),
            Self::Dpdk1 => Some(1),
            _ => None,
        }
    }

    /// Why it is left out under the tier in force; none where it is not.
    pub(super) fn cannot_mask(self) -> Option<Unmaskable> {
        match self {
            Self::Dpdk32 | Self::Dpdk1 => tier::cannot_mask("dpdk"),
            Self::Ring => tier::cannot_mask("ring"),
            _ => None,
        }
    }

    /// Whether it runs in this process, for as long as it is told.
    pub(super) const fn is_ours(self) -> bool {
        matches!(
            self,
            Self::Engine | Self::OwnLoop | Self::Ring | Self::Ceiling
        )
    }

    /// The arm of `crypto-speed` that is judged by the same signs: whether
    /// its client, its memory and the kernel's counters matter.
    pub(super) const fn like(self) -> Like {
        match self {
            Self::Engine => Like::POLLED,
            Self::OwnLoop | Self::Ring => Like::Raw,
            Self::OpenSsl | Self::Dpdk32 | Self::Dpdk1 | Self::Ceiling => Like::OpenSsl,
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl FromStr for Arm {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = || Self::OPTIONAL.map(Self::name).join(", ");
        Self::OPTIONAL
            .into_iter()
            .find(|arm| arm.name() == name)
            .ok_or_else(|| {
                format!(
                    "unknown peer '{name}'; known: all, {}; none: --no-peers or an empty list",
                    known()
                )
            })
    }
}
