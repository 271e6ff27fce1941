//! Who is at work in a trial, and with which weights.

use super::Config;

/// A tenant that takes no heed of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hostile {
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
        self.said().0
    }

    /// Its name, and in words.
    const fn said(self) -> (&'static str, &'static str) {
        match self {
            Self::Flood => ("flood", "one that floods with requests of 1 MiB"),
            Self::Signer => ("signer", "one that signs with RSA-2048"),
            Self::Mute => ("mute", "one that fills its lane and never reaps"),
        }
    }
}

kit::named!(Hostile, "hostile tenant");

/// Which tenants work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Case {
    /// This many equal ones.
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

/// Whose values they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Of all tenants together.
    All,
    /// Of one, counted from 0.
    Tenant(usize),
    Hostile,
}

/// Of the two whose speed is looked at beside a third, and of that.
pub(super) const VICTIM_WEIGHTS: [u32; 2] = [1, 2];
const THIRD_WEIGHT: u32 = 1;

impl Case {
    /// Every case of a configuration, in the order of reports.
    pub(super) fn all(config: &Config) -> Vec<Self> {
        let mut tenants: Vec<_> = config.tenants.iter().map(|count| count.get()).collect();
        let mut hostile: Vec<_> = config.hostile.iter().map(|name| name.0).collect();
        tenants.sort_unstable();
        tenants.dedup();
        hostile.sort_unstable();
        hostile.dedup();
        let polite = (!hostile.is_empty()).then_some(Self::Polite);
        let optional = [
            (config.weights.len() > 1, Self::Weighted),
            (config.cap_per_s.get() > 0, Self::Cap),
            (config.quota_per_s.get() > 0, Self::Quota),
        ];
        let [weighted, cap, quota] = optional.map(|(is_wanted, case)| is_wanted.then_some(case));
        (tenants.into_iter().map(Self::Equal))
            .chain(weighted)
            .chain(polite)
            .chain(hostile.into_iter().map(Self::Beside))
            .chain(cap)
            .chain(quota)
            .collect()
    }

    /// Its name, and in words.
    pub(super) fn said(self, config: &Config) -> (String, String) {
        let own = |name: &str, words: &str| (name.to_owned(), words.to_owned());
        match self {
            Self::Equal(1) => own("equal-1", "one tenant alone"),
            Self::Equal(count) => (format!("equal-{count}"), format!("{count} equal tenants")),
            Self::Weighted => {
                let weights = config.weights.iter().map(|weight| weight.get().to_string());
                let weights = weights.collect::<Vec<_>>().join(":");
                own("weighted", &format!("weights {weights}"))
            }
            Self::Polite => own("polite", "beside a polite third"),
            Self::Beside(hostile) => {
                let (name, words) = hostile.said();
                own(name, &format!("beside {words}"))
            }
            Self::Cap => own("cap", "two, the first's notifications capped"),
            Self::Quota => own("quota", "two, the first's requests limited"),
        }
    }

    /// Everyone at work with the own weight, a hostile one last.
    pub(super) fn tenants(self, config: &Config) -> Vec<(Place, u32)> {
        let weighted = |weights: &[u32]| {
            let all = weights.iter().enumerate();
            all.map(|(index, &weight)| (Place::Tenant(index), weight))
                .collect::<Vec<_>>()
        };
        let victims = weighted(&VICTIM_WEIGHTS).into_iter();
        let beside = |third| victims.chain([(third, THIRD_WEIGHT)]).collect();
        match self {
            Self::Equal(tenants) => weighted(&vec![1; tenants]),
            Self::Weighted => {
                let weights = config.weights.iter().map(|weight| weight.get());
                weighted(&weights.map(|weight| weight as u32).collect::<Vec<_>>())
            }
            Self::Polite => beside(Place::Tenant(VICTIM_WEIGHTS.len())),
            Self::Beside(_) => beside(Place::Hostile),
            Self::Cap | Self::Quota => weighted(&[1, 1]),
        }
    }

    /// Whether every tenant keeps its lane full, so that shares mean something.
    pub(super) fn is_shared_out(self) -> bool {
        matches!(self, Self::Equal(_) | Self::Weighted | Self::Polite)
    }

    /// Whether one tenant is limited, so that the worker may rest.
    pub(super) fn is_limited(self) -> bool {
        matches!(self, Self::Cap | Self::Quota)
    }
}
