//! What can be measured besides throughput.

use std::fmt;
use std::str::FromStr;

/// One of the other procedures of RFC 2544, section 26.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extra {
    /// At the throughput and at 10, 50 and 90% of it.
    Latency,
    /// From the link's rate down in steps of a tenth.
    FrameLoss,
    /// The longest burst at the link's rate.
    BackToBack,
}

impl Extra {
    const ALL: [Self; 3] = [Self::Latency, Self::FrameLoss, Self::BackToBack];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::FrameLoss => "frame-loss",
            Self::BackToBack => "back-to-back",
        }
    }

    /// Trials that it takes, about, each as long as the others.
    pub(crate) const fn trials(self) -> usize {
        match self {
            Self::Latency => 4,
            Self::FrameLoss => 10,
            // Most are short: a burst that is lost is short.
            Self::BackToBack => 20,
        }
    }
}

impl fmt::Display for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a name is none of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no procedure '{name}'; there are: {}", Extra::ALL.map(Extra::name).join(", "))]
pub(crate) struct UnknownExtra {
    name: String,
}

impl FromStr for Extra {
    type Err = UnknownExtra;

    fn from_str(name: &str) -> Result<Self, UnknownExtra> {
        let own = Self::ALL.into_iter().find(|extra| extra.name() == name);
        own.ok_or_else(|| UnknownExtra {
            name: name.to_owned(),
        })
    }
}
