//! Which tier, by name.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use cpu::{Feature, Tier, tier};

/// A tier, and what is hidden besides. SHA-NI and ADX are in no tier; models also
/// hide AES-NI alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub tier: Tier,
    hides: [bool; Self::HIDEABLE.len()],
}

/// A name that no tier has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown tier '{name}'; known: {}, each with {} behind it (in this order) to hide SHA-NI, ADX or AES-NI too", Tier::ALL.map(Tier::name).join(", "), Choice::HIDEABLE.map(|(name, _)| format!("-{name}")).join(", "))]
pub struct UnknownTier {
    pub name: String,
}

impl Choice {
    /// What a name's end may hide. No CPU has VAES without AES-NI.
    const HIDEABLE: [(&str, &[Feature]); 3] = [
        ("sha", &[Feature::ShaNi]),
        ("adx", &[Feature::Adx]),
        ("aes", &[Feature::Aes, Feature::Vaes]),
    ];

    /// As a CPU of the time before AES-NI: software on SSSE3 computes AES.
    pub const BEFORE_AESNI: Self = Self {
        tier: Tier::Aesni,
        hides: [false, false, true],
    };

    /// A tier, with nothing hidden besides.
    #[must_use]
    pub fn whole(tier: Tier) -> Self {
        let hides = [false; Self::HIDEABLE.len()];
        Self { tier, hides }
    }

    /// The same without that feature, if it can be hidden alone.
    #[must_use]
    pub fn without(mut self, feature: Feature) -> Self {
        for (hides, (_, features)) in self.hides.iter_mut().zip(Self::HIDEABLE) {
            *hides |= features.contains(&feature);
        }
        self
    }

    /// As [`Self::all_of`], of a CPU with every feature.
    #[must_use]
    pub fn every() -> Vec<Self> {
        Self::all_of(&Feature::all().collect())
    }

    /// The whole of a CPU with these features, and all that hides some of them.
    #[must_use]
    pub fn all_of(usable: &BTreeSet<Feature>) -> Vec<Self> {
        let (reached, _) = tier(usable);
        let whole = Self::whole(reached);
        let lower = Tier::ALL.into_iter().rev().filter(|tier| *tier < reached);
        let alone = Self::HIDEABLE.into_iter().map(|(_, features)| features[0]);
        let alone = alone.filter(|feature| usable.contains(feature));
        let mut all = vec![whole];
        all.extend(lower.map(Self::whole));
        all.extend(alone.map(|feature| whole.without(feature)));
        all
    }

    /// What is hidden besides what the tier lacks.
    pub(super) fn besides(self) -> impl Iterator<Item = Feature> {
        let all = self.hides.into_iter().zip(Self::HIDEABLE);
        let hidden = all.filter(|(hides, _)| *hides);
        hidden.flat_map(|(_, (_, features))| features.iter().copied())
    }

    /// The first feature that is hidden alone, if one is.
    #[must_use]
    pub fn alone(self) -> Option<Feature> {
        self.besides().next()
    }

    pub(super) fn hides(self, feature: Feature) -> bool {
        self.besides().any(|hidden| hidden == feature)
    }

    /// Whether it keeps something that another hides by name.
    pub(super) fn shows_more_than(self, other: Self) -> bool {
        let mut both = self.hides.into_iter().zip(other.hides);
        both.any(|(own, other)| other && !own)
    }

    /// The tier that is left of a CPU that has every feature.
    #[must_use]
    pub fn reached(self) -> Tier {
        let tiers = Tier::ALL.into_iter().filter(|tier| *tier <= self.tier);
        let mut left: BTreeSet<_> = tiers.flat_map(Tier::adds).copied().collect();
        self.besides().for_each(|hidden| {
            left.remove(&hidden);
        });
        tier(&left).0
    }

    /// What a library sees that has those features.
    pub(super) fn seen(features: &BTreeSet<Feature>) -> Self {
        let lacks = |(_, own): (&str, &[Feature])| !own.iter().all(|one| features.contains(one));
        Self {
            tier: tier(features).0,
            hides: Self::HIDEABLE.map(lacks),
        }
    }
}

impl FromStr for Choice {
    type Err = UnknownTier;

    fn from_str(name: &str) -> Result<Self, UnknownTier> {
        let mut base = name;
        let mut hides = [false; Self::HIDEABLE.len()];
        for (hides, (end, _)) in hides.iter_mut().zip(Self::HIDEABLE).rev() {
            let shorter = base.strip_suffix(end);
            let shorter = shorter.and_then(|shorter| shorter.strip_suffix('-'));
            (base, *hides) = shorter.map_or((base, false), |shorter| (shorter, true));
        }
        let tier = Tier::ALL.into_iter().find(|tier| tier.name() == base);
        tier.map(|tier| Self { tier, hides })
            .ok_or_else(|| UnknownTier {
                name: name.to_owned(),
            })
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tier.name())?;
        let ends = self.hides.into_iter().zip(Self::HIDEABLE);
        let mut ends = ends.filter(|(hides, _)| *hides);
        ends.try_for_each(|(_, (end, _))| write!(f, "-{end}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back_as_it_was_written() {
        for tier in Tier::ALL {
            for bits in 0..8 {
                let hides = [0, 1, 2].map(|bit| bits >> bit & 1 == 1);
                let choice = Choice { tier, hides };
                assert_eq!(choice.to_string().parse(), Ok(choice));
            }
        }
    }

    #[test]
    fn a_cpu_can_be_narrowed_to_every_lower_tier_and_what_it_has_alone() {
        let tiers = Tier::ALL.into_iter().filter(|tier| *tier <= Tier::Avx2);
        let mut usable: BTreeSet<_> = tiers.flat_map(Tier::adds).copied().collect();
        usable.insert(Feature::ShaNi);
        let names = Choice::all_of(&usable)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>();
        assert_eq!(
            names,
            ["avx2", "avx", "aesni", "none", "avx2-sha", "avx2-aes"]
        );
    }

    #[test]
    fn what_is_no_tier_is_named_with_those_there_are() {
        for name in [
            "",
            "avx3",
            "AVX2",
            "avx2-",
            "-sha",
            "avx2-sha-sha",
            "avx2-adx-sha",
        ] {
            let error = name.parse::<Choice>().unwrap_err().to_string();
            assert!(error.contains(&format!("'{name}'")), "{error}");
            assert!(error.contains("aesni, avx, avx2"), "{error}");
        }
    }
}
