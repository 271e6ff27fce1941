//! What hiding flags costs the work of a guest.

use std::collections::{BTreeMap, BTreeSet};

use super::Flags;
use crate::{Feature, Tier, tier};

/// The flags that a price is known for: which tier they reach, and two besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Setting {
    pub tier: Tier,
    pub has_sha: bool,
    pub has_adx: bool,
}

impl Setting {
    pub fn of(flags: &Flags) -> Self {
        let features: BTreeSet<_> = flags.features().collect();
        Self {
            tier: tier(&features).0,
            has_sha: features.contains(&Feature::ShaNi),
            has_adx: features.contains(&Feature::Adx),
        }
    }

    /// What both have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            tier: self.tier.min(other.tier),
            has_sha: self.has_sha && other.has_sha,
            has_adx: self.has_adx && other.has_adx,
        }
    }

    pub fn is_within(self, other: Self) -> bool {
        self.and(other) == self
    }
}

/// How long one kind of work takes, in any unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// By tier, with SHA-NI and ADX.
    pub by_tier: BTreeMap<Tier, f64>,
    /// As many times as long without SHA-NI; without ADX.
    pub without_sha: f64,
    pub without_adx: f64,
}

impl Work {
    /// The time in a setting. A tier that was not measured takes as long as the next
    /// that was below it, or above where there is none: hiding it is then free, which
    /// [`Prices::highest`] tells. More flags never take longer: what a measurement
    /// says otherwise is its noise, or a slower clock, and the smallest time counts.
    pub fn time(&self, setting: Setting) -> Option<f64> {
        let up_to = self.by_tier.range(..=setting.tier).map(|(_, time)| *time);
        let below = up_to.reduce(f64::min);
        let time = below.or_else(|| self.by_tier.values().next().copied())?;
        let times = |has: bool, without: f64| if has { 1.0 } else { without.max(1.0) };
        let sha = times(setting.has_sha, self.without_sha);
        Some(time * sha * times(setting.has_adx, self.without_adx))
    }
}

/// Times of work by name, such as `aes-256-gcm encrypt`, and where they are from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    pub origin: String,
    pub works: BTreeMap<String, Work>,
}

/// Which shares of a guest's CPU time work takes where nothing is hidden; the rest
/// is work that no flag speeds up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mix(pub Vec<(String, f64)>);

/// Work that guests do much of, by name: shares of a core's time.
const MIXES: &[(&str, &[(&str, f64)])] = &[
    // A server that ends TLS: transfers, and a handshake now and then.
    (
        "tls",
        &[
            ("aes-256-gcm encrypt", 0.15),
            ("aes-256-gcm decrypt", 0.05),
            ("sha256 hash", 0.02),
            ("rsa-2048-pss sign", 0.05),
            ("x25519 derive", 0.02),
        ],
    ),
    // A guest that encrypts its disks, and hashes what it stores.
    (
        "disk",
        &[
            ("xts write", 0.15),
            ("xts read", 0.15),
            ("sha256 hash", 0.05),
        ],
    ),
];

impl Mix {
    /// A mix by its name.
    pub fn named(name: &str) -> Option<Self> {
        let (_, works) = MIXES.iter().find(|(own, _)| *own == name)?;
        let works = works
            .iter()
            .map(|(work, share)| ((*work).to_owned(), *share));
        Some(Self(works.collect()))
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        MIXES.iter().map(|(name, _)| *name)
    }
}

const BUNDLED: &str = include_str!("prices.txt");

impl Prices {
    /// What comes with this program, for want of a measurement: of another CPU.
    pub fn bundled() -> Self {
        let mut lines = BUNDLED.lines();
        let origin = lines.next().unwrap_or_default().trim_start_matches("# ");
        let rates = lines.flat_map(|line| {
            let (work, rates) = line.split_once(": ").unwrap_or_default();
            let mut words = rates.split(' ');
            std::iter::from_fn(move || Some((work, words.next()?, words.next()?.parse().ok()?)))
        });
        Self::from_rates(origin, rates)
    }

    /// From rates of work, by the names that `lockgate cpu price` gives to what a
    /// process was shown: a tier, and `-sha` or `-adx` behind the highest.
    pub fn from_rates<'r>(
        origin: &str,
        rates: impl Iterator<Item = (&'r str, &'r str, f64)>,
    ) -> Self {
        let mut by_work: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
        for (work, choice, rate) in rates.filter(|(.., rate)| *rate > 0.0) {
            by_work.entry(work).or_default().insert(choice, rate);
        }
        let works = by_work.into_iter().map(|(work, rates)| {
            let tiers = Tier::ALL.into_iter();
            let tiers = tiers.filter_map(|tier| Some((tier, 1.0 / rates.get(tier.name())?)));
            let by_tier: BTreeMap<Tier, f64> = tiers.collect();
            let without = |name: &str| {
                let (tier, _) = by_tier.last_key_value()?;
                let less = rates.get(&*format!("{}-{name}", tier.name()))?;
                Some(rates[tier.name()] / less)
            };
            (
                work.to_owned(),
                Work {
                    without_sha: without("sha").unwrap_or(1.0),
                    without_adx: without("adx").unwrap_or(1.0),
                    by_tier,
                },
            )
        });
        Self {
            origin: origin.to_owned(),
            works: works.filter(|(_, work)| !work.by_tier.is_empty()).collect(),
        }
    }

    /// How many times as long a mix takes where a guest sees `shown`, of what it takes
    /// where it sees all that the host has.
    pub fn times(&self, mix: &Mix, whole: Setting, shown: Setting) -> f64 {
        let shares = mix.0.iter().filter_map(|(name, share)| {
            let work = self.works.get(name)?;
            let (less, all) = (work.time(shown.and(whole))?, work.time(whole)?);
            Some(share * (less / all - 1.0))
        });
        1.0 + shares.sum::<f64>()
    }

    /// Which share of its speed the guest loses, 0 to 1.
    pub fn loss(&self, mix: &Mix, whole: Setting, shown: Setting) -> f64 {
        1.0 - 1.0 / self.times(mix, whole, shown)
    }

    /// The highest tier that was measured; hiding a higher one has no price here.
    pub fn highest(&self) -> Option<Tier> {
        let tiers = self
            .works
            .values()
            .filter_map(|work| work.by_tier.keys().next_back());
        tiers.max().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices() -> Prices {
        let gcm = Work {
            by_tier: BTreeMap::from([(Tier::None, 60.0), (Tier::Avx2, 2.0), (Tier::Avx512, 1.0)]),
            without_sha: 0.99,
            without_adx: 1.0,
        };
        let sha = Work {
            by_tier: BTreeMap::from([(Tier::None, 1.0), (Tier::Avx512, 1.01)]),
            without_sha: 4.0,
            without_adx: 1.0,
        };
        Prices {
            origin: String::new(),
            works: BTreeMap::from([("gcm".to_owned(), gcm), ("sha".to_owned(), sha)]),
        }
    }

    fn setting(tier: Tier, has_sha: bool) -> Setting {
        Setting {
            tier,
            has_sha,
            has_adx: true,
        }
    }

    #[test]
    fn a_mix_costs_the_sum_of_what_its_work_costs() {
        let mix = Mix(vec![("gcm".to_owned(), 0.2), ("sha".to_owned(), 0.1)]);
        let whole = setting(Tier::Avx512, true);
        let times = |shown| prices().times(&mix, whole, shown);
        assert_eq!(times(whole), 1.0);
        assert!((times(setting(Tier::Avx2, true)) - 1.2).abs() < 1e-9);
        assert!((times(setting(Tier::Avx2, false)) - 1.5).abs() < 1e-9);
        // A tier between two measured ones, and one above the host's.
        assert_eq!(
            times(setting(Tier::Vaes, true)),
            times(setting(Tier::Avx2, true))
        );
        let loss = prices().loss(&mix, setting(Tier::Avx2, true), whole);
        assert_eq!(loss, 0.0);
        let nothing = Mix(vec![("unknown".to_owned(), 1.0)]);
        assert_eq!(
            prices().loss(&nothing, whole, setting(Tier::None, false)),
            0.0
        );
    }

    #[test]
    fn prices_are_read_from_what_was_measured() {
        let rates = [
            ("gcm", "avx512", 8.0),
            ("gcm", "none", 0.5),
            ("gcm", "avx512-sha", 4.0),
            ("gcm", "avx512-aes", 1.0),
            ("nothing", "avx512", 0.0),
        ];
        let own = Prices::from_rates("here", rates.into_iter());
        assert_eq!(own.works.len(), 1);
        let gcm = &own.works["gcm"];
        assert_eq!((gcm.without_sha, gcm.without_adx), (2.0, 1.0));
        assert_eq!(
            gcm.by_tier,
            BTreeMap::from([(Tier::None, 2.0), (Tier::Avx512, 0.125)])
        );
    }

    #[test]
    fn the_bundled_prices_price_every_mix() {
        let own = Prices::bundled();
        assert!(own.origin.contains("measured"), "{}", own.origin);
        for name in Mix::names() {
            let mix = Mix::named(name).unwrap();
            for (work, _) in &mix.0 {
                assert_eq!(own.works[work].by_tier.len(), Tier::ALL.len(), "{work}");
            }
            let (whole, least) = (setting(Tier::Avx512, true), setting(Tier::None, false));
            assert!(own.loss(&mix, whole, least) > 0.5, "{name}");
        }
        assert_eq!(Mix::named("none such"), None);
    }

    #[test]
    fn settings_are_what_flags_reach() {
        let flags = "ssse3 sse4.1 aes pclmulqdq xsave avx avx2 bmi2 adx sha-ni avx512f avx512bw avx512dq avx512vl";
        let own = Setting::of(&Flags::named(flags).unwrap());
        assert_eq!(own, setting(Tier::Avx2, true), "AVX-512 without VAES");
        assert!(
            setting(Tier::Avx, true).is_within(own) && !own.is_within(setting(Tier::Avx, true))
        );
    }
}
