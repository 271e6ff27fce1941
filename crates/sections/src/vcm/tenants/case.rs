//! Who is at work in a trial, and under which rules.

use policy::{Moderation, Quota, Settings};

use crate::vcm::tenants::config::Config;
use crate::vcm::tenants::seats::Seats;
use kit::load::rig::Regime;

/// A tenant that takes no heed of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hostile {
    /// Keeps a deep lane full of huge requests.
    Flood,
    /// Keeps a lane full of RSA signatures, each as long as hundreds of blocks.
    Signer,
    /// Fills a deep lane and takes no completion.
    Mute,
}

impl Hostile {
    pub(super) const ALL: [Self; 3] = [Self::Flood, Self::Signer, Self::Mute];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Flood => "flood",
            Self::Signer => "signer",
            Self::Mute => "mute",
        }
    }

    pub(super) const fn what(self) -> &'static str {
        match self {
            Self::Flood => "one that floods with requests of 1 MiB",
            Self::Signer => "one that signs with RSA-2048",
            Self::Mute => "one that fills its lane and never reaps",
        }
    }
}

impl std::str::FromStr for Hostile {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|hostile| hostile.name() == name);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("unknown hostile tenant '{name}'; known: {known}")
        })
    }
}

/// A case: trials of it are one arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Case {
    /// So many equal ones.
    Equal(usize),
    /// With the weights of the configuration.
    Weighted,
    /// Two, and a third that is as polite as they.
    Polite,
    /// The same two beside a hostile one of the third's weight.
    Beside(Hostile),
    /// The first's notifications are capped.
    Cap,
    /// The first's requests are limited.
    Quota,
}

/// The two whose speed is looked at beside a third, and the third's weight.
pub(super) const VICTIM_WEIGHTS: [u32; 2] = [1, 2];
const THIRD_WEIGHT: u32 = 1;

/// What one tenant at work is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Role {
    pub(super) seat: usize,
    pub(super) weight: u32,
    pub(super) quota: Quota,
    pub(super) moderation: Moderation,
    pub(super) settings: Settings,
}

impl Role {
    fn polite(seat: usize, weight: u32) -> Self {
        Self {
            seat,
            weight,
            quota: Quota::UNLIMITED,
            moderation: Moderation::Armed,
            settings: Settings::UNLIMITED,
        }
    }

    pub(super) fn regime(&self) -> Regime {
        Regime::fixed(self.moderation, self.settings)
    }
}

impl Case {
    /// Every case of a configuration, in the order of reports.
    pub(super) fn all(config: &Config) -> Vec<Self> {
        let mut all: Vec<_> = config.tenants.iter().copied().map(Self::Equal).collect();
        if config.weights.len() > 1 {
            all.push(Self::Weighted);
        }
        if !config.hostile.is_empty() {
            all.push(Self::Polite);
            all.extend(config.hostile.iter().copied().map(Self::Beside));
        }
        all.extend(config.cap_per_s.map(|_| Self::Cap));
        all.extend(config.quota_per_s.map(|_| Self::Quota));
        all
    }

    /// In results.
    pub(super) fn name(self) -> String {
        match self {
            Self::Equal(tenants) => format!("equal-{tenants}"),
            Self::Weighted => "weighted".to_owned(),
            Self::Polite => "polite".to_owned(),
            Self::Beside(hostile) => hostile.name().to_owned(),
            Self::Cap => "cap".to_owned(),
            Self::Quota => "quota".to_owned(),
        }
    }

    /// In sentences.
    pub(super) fn what(self, config: &Config) -> String {
        match self {
            Self::Equal(1) => "one alone".to_owned(),
            Self::Equal(tenants) => format!("{tenants} equal ones"),
            Self::Weighted => {
                let weights = config.weights.iter().map(u32::to_string);
                format!("weights {}", weights.collect::<Vec<_>>().join(":"))
            }
            Self::Polite => "two (weights 1:2) and a polite third".to_owned(),
            Self::Beside(hostile) => format!("the same two and {}", hostile.what()),
            Self::Cap => "two, the first's notifications capped".to_owned(),
            Self::Quota => "two, the first's requests limited".to_owned(),
        }
    }

    /// Everyone at work, hostile ones last.
    pub(super) fn roles(self, config: &Config, seats: Seats) -> Vec<Role> {
        let weighted = |weights: &[u32]| {
            let all = weights.iter().enumerate();
            all.map(|(seat, &weight)| Role::polite(seat, weight))
                .collect::<Vec<_>>()
        };
        let third = |seat| {
            let mut roles = weighted(&VICTIM_WEIGHTS);
            roles.push(Role::polite(seat, THIRD_WEIGHT));
            roles
        };
        match self {
            Self::Equal(tenants) => weighted(&vec![1; tenants]),
            Self::Weighted => weighted(&config.weights),
            Self::Polite => third(VICTIM_WEIGHTS.len()),
            Self::Beside(hostile) => third(seats.of(hostile)),
            Self::Cap => {
                let mut roles = weighted(&[1, 1]);
                roles[0].moderation = Moderation::Each;
                roles[0].settings = config.cap_per_s.map_or(Settings::UNLIMITED, |cap| {
                    Settings::cap(cap).expect("the configuration keeps to a cap's range")
                });
                roles
            }
            Self::Quota => {
                let mut roles = weighted(&[1, 1]);
                roles[0].quota = config.quota();
                roles
            }
        }
    }

    /// Whether every tenant keeps its lane full, so that shares mean something.
    pub(super) fn is_shared_out(self) -> bool {
        matches!(self, Self::Equal(_) | Self::Weighted | Self::Polite)
    }
}
