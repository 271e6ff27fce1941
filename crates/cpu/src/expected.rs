//! Crypto flags by processor generation: what should be there.

use std::collections::BTreeSet;

use crate::Feature;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    Westmere,
    SandyBridge,
    IvyBridge,
    Haswell,
    Broadwell,
    Skylake,
    SkylakeServer,
    IceLake,
    GraniteRapids,
    AlderLake,
    ArrowLake,
    Goldmont,
    Tremont,
    Zen1,
    Zen3,
    Zen4,
}

use Feature as F;

const WESTMERE: &[F] = &[F::Ssse3, F::Sse41, F::Sse42, F::Aes, F::Pclmulqdq];
const SANDY_BRIDGE: &[F] = &[F::Avx, F::Xsave, F::Xsaveopt];
const HASWELL: &[F] = &[F::Avx2, F::Fma, F::Bmi1, F::Bmi2, F::Movbe];
const BROADWELL: &[F] = &[F::Adx, F::Rdseed];
const SKYLAKE: &[F] = &[F::Xsavec, F::Xgetbv1, F::Xsaves];
const AVX512: &[F] = &[
    F::Avx512f,
    F::Avx512bw,
    F::Avx512dq,
    F::Avx512vl,
    F::Avx512cd,
];
const AVX512_ICE_LAKE: &[F] = &[
    F::Avx512ifma,
    F::Avx512vbmi,
    F::Avx512vbmi2,
    F::Avx512bitalg,
    F::Avx512vpopcntdq,
];
const VECTOR_AES: &[F] = &[F::Vaes, F::Vpclmulqdq];
const SHA512: &[F] = &[F::Sha512, F::Sm3, F::Sm4];

impl Generation {
    pub(crate) fn features(self) -> BTreeSet<Feature> {
        let (before, adds) = self.steps();
        let mut features = before.map(Self::features).unwrap_or_default();
        features.extend(adds.iter().copied().flatten());
        features
    }

    fn steps(self) -> (Option<Self>, &'static [&'static [Feature]]) {
        match self {
            Self::Westmere => (None, &[WESTMERE]),
            Self::SandyBridge => (Some(Self::Westmere), &[SANDY_BRIDGE]),
            Self::IvyBridge => (Some(Self::SandyBridge), &[&[F::Rdrand, F::F16c]]),
            Self::Haswell => (Some(Self::IvyBridge), &[HASWELL]),
            Self::Broadwell => (Some(Self::Haswell), &[BROADWELL]),
            Self::Skylake => (Some(Self::Broadwell), &[SKYLAKE]),
            Self::SkylakeServer => (Some(Self::Skylake), &[AVX512]),
            Self::IceLake => (
                Some(Self::SkylakeServer),
                &[AVX512_ICE_LAKE, VECTOR_AES, &[F::Gfni, F::ShaNi]],
            ),
            Self::GraniteRapids => (Some(Self::IceLake), &[]),
            Self::AlderLake => (Some(Self::Skylake), &[VECTOR_AES, &[F::Gfni, F::ShaNi]]),
            Self::ArrowLake => (Some(Self::AlderLake), &[SHA512]),
            // Atoms have no AVX before Gracemont.
            Self::Goldmont => (
                Some(Self::Westmere),
                &[
                    SKYLAKE,
                    &[
                        F::Movbe,
                        F::Rdrand,
                        F::Rdseed,
                        F::ShaNi,
                        F::Xsave,
                        F::Xsaveopt,
                    ],
                ],
            ),
            Self::Tremont => (Some(Self::Goldmont), &[&[F::Gfni]]),
            Self::Zen1 => (Some(Self::Skylake), &[&[F::ShaNi]]),
            Self::Zen3 => (Some(Self::Zen1), &[VECTOR_AES]),
            Self::Zen4 => (Some(Self::Zen3), &[AVX512, AVX512_ICE_LAKE, &[F::Gfni]]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landmarks() {
        let has = |generation: Generation, feature| generation.features().contains(&feature);
        assert!(!has(Generation::SkylakeServer, F::Vaes));
        assert!(!has(Generation::SkylakeServer, F::ShaNi));
        assert!(has(Generation::IceLake, F::Vaes) && has(Generation::IceLake, F::Avx));
        assert!(has(Generation::Zen1, F::ShaNi) && !has(Generation::Zen1, F::Vaes));
        assert!(has(Generation::Zen3, F::Vaes) && !has(Generation::Zen3, F::Avx512f));
        assert!(!has(Generation::AlderLake, F::Avx512f));
        assert!(!has(Generation::Tremont, F::Avx) && has(Generation::Tremont, F::Gfni));
    }
}
