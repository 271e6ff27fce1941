//! Tiers: sets of flags as a guest would see them.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::Feature;

/// A tier; each holds all of those before it. SHA-NI is on or off besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    None,
    Aesni,
    Avx,
    /// 256-bit integers and BMI2.
    Avx2,
    /// AES and carry-less multiplication on 256 bits.
    Vaes,
    /// The same on 512 bits, with AVX-512 F, BW, DQ and VL.
    Avx512,
}

impl Tier {
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::Aesni,
        Self::Avx,
        Self::Avx2,
        Self::Vaes,
        Self::Avx512,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Aesni => "aesni",
            Self::Avx => "avx",
            Self::Avx2 => "avx2",
            Self::Vaes => "vaes",
            Self::Avx512 => "avx512",
        }
    }

    /// What it is for, for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::None => "no AES-NI",
            Self::Aesni => "AES-NI",
            Self::Avx => "AVX",
            Self::Avx2 => "AVX2",
            Self::Vaes => "VAES",
            Self::Avx512 => "AVX-512",
        }
    }

    /// The registers that it computes on.
    pub fn registers(self) -> &'static str {
        match self {
            Self::None | Self::Aesni => "SSE",
            _ => self.label(),
        }
    }

    pub fn adds(self) -> &'static [Feature] {
        match self {
            Self::None => &[],
            Self::Aesni => &[
                Feature::Ssse3,
                Feature::Sse41,
                Feature::Aes,
                Feature::Pclmulqdq,
            ],
            Self::Avx => &[Feature::Avx],
            Self::Avx2 => &[Feature::Avx2, Feature::Bmi2],
            Self::Vaes => &[Feature::Vaes, Feature::Vpclmulqdq],
            Self::Avx512 => &[
                Feature::Avx512f,
                Feature::Avx512bw,
                Feature::Avx512dq,
                Feature::Avx512vl,
            ],
        }
    }
}

/// The highest tier that `usable` reaches without a gap, and the flags that
/// the next one lacks.
pub fn tier(usable: &BTreeSet<Feature>) -> (Tier, Vec<Feature>) {
    let mut reached = Tier::None;
    for tier in Tier::ALL {
        let lacks: Vec<_> = tier
            .adds()
            .iter()
            .copied()
            .filter(|feature| !usable.contains(feature))
            .collect();
        if !lacks.is_empty() {
            return (reached, lacks);
        }
        reached = tier;
    }
    (reached, Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up_to(tier: Tier) -> BTreeSet<Feature> {
        Tier::ALL
            .into_iter()
            .filter(|&t| t <= tier)
            .flat_map(Tier::adds)
            .copied()
            .collect()
    }

    #[test]
    fn each_tier_is_reached_by_its_flags_and_no_fewer() {
        for expected in Tier::ALL {
            assert_eq!(tier(&up_to(expected)).0, expected);
            for missing in expected.adds() {
                let mut fewer = up_to(expected);
                fewer.remove(missing);
                assert!(
                    tier(&fewer).0 < expected,
                    "{expected:?} without {missing:?}"
                );
            }
        }
    }

    #[test]
    fn avx512_without_vaes_is_avx2() {
        let mut skylake_server = up_to(Tier::Avx512);
        skylake_server.remove(&Feature::Vaes);
        skylake_server.remove(&Feature::Vpclmulqdq);
        assert_eq!(
            tier(&skylake_server),
            (Tier::Avx2, vec![Feature::Vaes, Feature::Vpclmulqdq])
        );
    }
}
