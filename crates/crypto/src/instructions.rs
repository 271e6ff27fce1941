//! Which instructions the back-ends that choose for themselves may use.

use std::sync::OnceLock;

/// Sets of instructions, each with all before it: the tiers of guests' CPU
/// models, as far as ciphers can tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Instructions {
    /// None beyond what every CPU of the architecture has.
    Baseline,
    /// AES-NI, PCLMULQDQ, SSSE3 and SSE4.1.
    AesNi,
    Avx,
    /// AVX2 and BMI2.
    Avx2,
    /// VAES and VPCLMULQDQ, on 256-bit registers.
    Vaes,
    /// AVX-512 F, BW, DQ and VL: VAES on 512-bit registers.
    Avx512,
}

static LIMIT: OnceLock<Instructions> = OnceLock::new();

/// Forbids the use of further instructions: for measuring what a guest without them
/// would see.
///
/// # Errors
/// The limit or the set that is already in force, when it is another one:
/// the first back-end has been made, or a limit was set before.
pub fn limit_instructions(limit: Instructions) -> Result<(), Instructions> {
    match *LIMIT.get_or_init(|| limit) {
        set if set == limit => Ok(()),
        other => Err(other),
    }
}

/// What may be used: what the CPU has (and the operating system enabled), up
/// to the limit.
pub fn instructions() -> Instructions {
    let limit = *LIMIT.get_or_init(|| Instructions::Avx512);
    limit.min(*DETECTED.get_or_init(detected))
}

static DETECTED: OnceLock<Instructions> = OnceLock::new();

#[cfg(target_arch = "x86_64")]
fn detected() -> Instructions {
    let steps = [
        (
            Instructions::AesNi,
            is_x86_feature_detected!("aes")
                && is_x86_feature_detected!("pclmulqdq")
                && is_x86_feature_detected!("ssse3")
                && is_x86_feature_detected!("sse4.1"),
        ),
        (Instructions::Avx, is_x86_feature_detected!("avx")),
        (
            Instructions::Avx2,
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2"),
        ),
        (
            Instructions::Vaes,
            is_x86_feature_detected!("vaes") && is_x86_feature_detected!("vpclmulqdq"),
        ),
        (
            Instructions::Avx512,
            is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl"),
        ),
    ];
    let has = steps.iter().take_while(|(_, is_there)| *is_there);
    has.last()
        .map_or(Instructions::Baseline, |(instructions, _)| *instructions)
}

#[cfg(not(target_arch = "x86_64"))]
fn detected() -> Instructions {
    Instructions::Baseline
}

impl std::fmt::Display for Instructions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Baseline => "baseline",
            Self::AesNi => "AES-NI",
            Self::Avx => "AVX",
            Self::Avx2 => "AVX2",
            Self::Vaes => "VAES-256",
            Self::Avx512 => "VAES-512",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_limit_is_refused_and_named() {
        let in_force = instructions().max(Instructions::Avx512);
        assert_eq!(limit_instructions(in_force), Ok(()));
        assert_eq!(limit_instructions(Instructions::AesNi), Err(in_force));
        assert!(instructions() <= in_force);
    }
}
