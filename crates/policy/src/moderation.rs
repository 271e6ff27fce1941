//! When a completion becomes a notification.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moderation {
    /// Every completion is a notification, as on a device without moderation: the
    /// naive baseline.
    Each,
    /// Only a client that said it sleeps is notified, and only when what it
    /// waits for is there or the lane has run dry.
    Armed,
    /// As `Armed`; but the client polls where a wait is too short to be worth a
    /// wake-up, and is woken early enough to poll at its end
    /// ([`Hybrid`](crate::Hybrid)). On a core shared with the worker the same as
    /// `Armed`.
    Hybrid,
    /// Never: the client polls. The worker sleeps when it has nothing to do.
    Polled,
    /// Never, and the worker does not sleep either: no crossing at all, at
    /// the price of two busy cores.
    Spin,
}

/// What the worker knows when it has just published completions of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Completions published since the last decision.
    pub published: u32,
    pub is_dry: bool,
    pub unreaped: u32,
    pub in_flight: u32,
    /// One of them, just completed, asked for a notification at once.
    pub is_urgent: bool,
}

/// What the worker must do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Silent,
    Signal(u32),
    /// Signal if the client sleeps and what it waits for is there.
    IfReached,
    /// Signal if the client sleeps, whatever it waits for: nothing more will
    /// come, and no completion may be stranded.
    IfAsleep,
    Later(u64),
}

impl Moderation {
    pub const ALL: [Self; 5] = [
        Self::Each,
        Self::Armed,
        Self::Hybrid,
        Self::Polled,
        Self::Spin,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Each => "each",
            Self::Armed => "armed",
            Self::Hybrid => "hybrid",
            Self::Polled => "polled",
            Self::Spin => "spin",
        }
    }

    pub const fn decide(self, progress: Progress) -> Decision {
        match self {
            Self::Polled | Self::Spin => Decision::Silent,
            Self::Each => Decision::Signal(progress.published),
            Self::Armed | Self::Hybrid if progress.is_dry || progress.is_urgent => {
                Decision::IfAsleep
            }
            Self::Armed | Self::Hybrid => Decision::IfReached,
        }
    }

    /// Whether a waiting client sleeps, at least in a long wait (else it polls).
    pub const fn client_sleeps(self) -> bool {
        !matches!(self, Self::Polled | Self::Spin)
    }

    /// Whether a waiting client polls, at least now and then.
    pub const fn client_looks(self) -> bool {
        matches!(self, Self::Hybrid | Self::Polled | Self::Spin)
    }

    /// Whether a worker that serves the lane may sleep when idle.
    pub const fn worker_sleeps(self) -> bool {
        !matches!(self, Self::Spin)
    }
}

impl fmt::Display for Moderation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown policy '{name}'; known: each, armed, hybrid, polled, spin")]
pub struct UnknownModeration {
    pub name: String,
}

impl FromStr for Moderation {
    type Err = UnknownModeration;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|policy| policy.name() == name)
            .ok_or_else(|| UnknownModeration {
                name: name.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_lane_never_strands_a_sleeper() {
        for policy in Moderation::ALL
            .into_iter()
            .filter(|policy| policy.client_sleeps())
        {
            let decision = policy.decide(Progress {
                published: 1,
                is_dry: true,
                ..Progress::default()
            });
            assert!(
                matches!(decision, Decision::Signal(1) | Decision::IfAsleep),
                "{policy}"
            );
        }
    }

    #[test]
    fn clients_that_poll_are_never_signalled() {
        for policy in Moderation::ALL
            .into_iter()
            .filter(|policy| !policy.client_sleeps())
        {
            for is_dry in [false, true] {
                assert_eq!(
                    policy.decide(Progress {
                        published: 9,
                        is_dry,
                        ..Progress::default()
                    }),
                    Decision::Silent
                );
            }
        }
    }

    #[test]
    fn names_round_trip() {
        for policy in Moderation::ALL {
            assert_eq!(policy.name().parse(), Ok(policy));
        }
        let error = "coalesced".parse::<Moderation>().unwrap_err();
        assert!(error.to_string().contains("coalesced") && error.to_string().contains("armed"));
    }
}
