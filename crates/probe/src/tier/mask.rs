//! The mask that hides from AWS-LC and OpenSSL what a tier lacks.

use cpu::{Feature, Tier};

use crate::tier::choice::Choice;

/// Features that no CPU has without one that a tier adds, so that they go
/// with it. As far as [`Feature`] names them; the rest is in [`UNNAMED`].
const DEPENDENT: [(Tier, &[Feature]); 3] = [
    (Tier::Aesni, &[Feature::Sse42]),
    (Tier::Avx, &[Feature::Fma, Feature::F16c]),
    (
        Tier::Avx512,
        &[
            Feature::Avx512cd,
            Feature::Avx512er,
            Feature::Avx512pf,
            Feature::Avx512ifma,
            Feature::Avx512vbmi,
            Feature::Avx512vbmi2,
            Feature::Avx512bitalg,
            Feature::Avx512vpopcntdq,
        ],
    ),
];

/// The same by leaf and bit: XOP (to which OpenSSL gives the bit of SDBG) needs AVX;
/// VNNI needs AVX-512.
const UNNAMED: [(Tier, u32, u32); 2] = [(Tier::Avx, 1, 32 + 11), (Tier::Avx512, 7, 32 + 11)];

/// Bits to be cleared of the capability vector's first two words. It can only
/// clear, so that no mask shows a library what the CPU lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mask {
    /// Of leaf 1: EDX, and ECX above it.
    leaf1: u64,
    /// Of leaf 7: EBX, and ECX above it.
    leaf7: u64,
}

impl Mask {
    /// Hides all that tiers above `choice` add.
    pub(super) fn of(choice: Choice) -> Self {
        let above = |tier: &Tier| *tier > choice.tier;
        let added = Tier::ALL.into_iter().filter(above).flat_map(Tier::adds);
        let dependent = DEPENDENT
            .iter()
            .filter(|(tier, _)| above(tier))
            .flat_map(|(_, features)| *features);
        let named = added.chain(dependent).copied();
        let named = named
            .chain(choice.besides())
            .filter_map(|feature| feature.capability_bit());
        let unnamed = UNNAMED.iter().filter(|(tier, ..)| above(tier));
        let mut mask = Self::default();
        for (leaf, bit) in named.chain(unnamed.map(|&(_, leaf, bit)| (leaf, bit))) {
            match leaf {
                1 => mask.leaf1 |= 1 << bit,
                _ => mask.leaf7 |= 1 << bit,
            }
        }
        mask
    }

    pub(super) fn hides(self, feature: Feature) -> bool {
        match feature.capability_bit() {
            Some((1, bit)) => self.leaf1 >> bit & 1 == 1,
            Some((_, bit)) => self.leaf7 >> bit & 1 == 1,
            None => false,
        }
    }

    /// The variable's value; none where nothing is hidden. Both words are
    /// always there: without the second, OpenSSL takes all of leaf 7 away and
    /// AWS-LC none of it.
    pub(super) fn variable(self) -> Option<String> {
        (self != Self::default()).then(|| format!("~{:#x}:~{:#x}", self.leaf1, self.leaf7))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cpu::tier;
    use proptest::prelude::*;

    use super::*;

    fn mask(name: &str) -> Mask {
        Mask::of(name.parse().unwrap())
    }

    #[test]
    fn masks_have_the_bits_that_were_measured() {
        assert_eq!(mask("avx512").variable(), None);
        assert_eq!(
            mask("avx512-sha").variable().as_deref(),
            Some("~0x0:~0x20000000")
        );
        let of = |name| (mask(name).leaf1, mask(name).leaf7);
        // What hid them in measurements, and the dependent rest.
        let avx512 = 0xCC23_0000 | 1 << 28 | (1 << 1 | 1 << 6 | 1 << 11 | 1 << 12 | 1 << 14) << 32;
        assert_eq!(of("vaes"), (0, avx512));
        let vaes = avx512 | 0x600 << 32;
        assert_eq!(of("avx2"), (0, vaes));
        assert_eq!(of("avx"), (0, vaes | 0x120));
        let avx = 1 << 60 | 1 << 44 | 1 << 61 | 1 << 43;
        assert_eq!(of("aesni"), (avx, vaes | 0x120));
        let aesni = avx | 0x0200_0002_0000_0000 | 1 << 41 | 1 << 51 | 1 << 52;
        assert_eq!(of("none"), (aesni, vaes | 0x120));
        assert_eq!(of("none-sha"), (aesni, vaes | 0x120 | 1 << 29));
        assert_eq!(of("avx512-adx-aes"), (1 << 57, 1 << 19 | 0x200 << 32));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whatever a CPU has, what is left is the tier, or all it had where
        /// that is less; and nothing appears.
        #[test]
        fn what_is_left_is_the_tier(bits in any::<u64>(), at in 0..Tier::ALL.len(), sha: bool) {
            let mut choice = Choice::whole(Tier::ALL[at]);
            if !sha {
                choice = choice.without(Feature::ShaNi);
            }
            let mask = Mask::of(choice);
            // Mostly whole tiers, so that high ones are reached too.
            let has = |&feature: &Feature| bits >> (feature as u64 % 64) & 1 == 1;
            let extra = Feature::all().filter(has);
            let whole = Tier::ALL.into_iter().take(bits as usize % 7).flat_map(Tier::adds).copied();
            let host: BTreeSet<_> = extra.chain(whole).collect();
            let seen: BTreeSet<_> = host.iter().copied().filter(|&f| !mask.hides(f)).collect();
            prop_assert_eq!(tier(&seen).0, tier(&host).0.min(choice.tier));
            prop_assert_eq!(seen.contains(&Feature::ShaNi), sha && host.contains(&Feature::ShaNi));
        }
    }
}
