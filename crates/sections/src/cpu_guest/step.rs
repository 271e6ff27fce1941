//! The source's walk through CPU models.

/// What a guest is shown, each step with all before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// QEMU's default model.
    Baseline,
    Aesni,
    Avx,
    Avx2,
    Avx512,
    /// All that this host, or its emulator, has.
    Whole,
}

kit::named!(Step, "step");

impl Step {
    pub(super) const ALL: [Self; 6] = [
        Self::Baseline,
        Self::Aesni,
        Self::Avx,
        Self::Avx2,
        Self::Avx512,
        Self::Whole,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Aesni => "aesni",
            Self::Avx => "avx",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Whole => "whole",
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Baseline => "qemu64",
            Self::Aesni => "+ AES-NI",
            Self::Avx => "+ AVX",
            Self::Avx2 => "+ AVX2",
            Self::Avx512 => "+ AVX-512, VAES",
            Self::Whole => "whole CPU",
        }
    }

    /// The step that it is compared with.
    pub(super) fn before(self) -> Option<Self> {
        let at = Self::ALL.iter().position(|own| *own == self)?;
        match self {
            // It need not have what the steps have.
            Self::Whole => Some(Self::Baseline),
            _ => at.checked_sub(1).map(|before| Self::ALL[before]),
        }
    }

    /// What follows `-cpu`. The source has `qemu64,+aes`; programs ask for SSSE3, SSE4.1
    /// and PCLMULQDQ with it. XSAVE comes with XSAVEOPT, for which QEMU raises the
    /// CPUID level: without that no kernel uses AVX.
    pub(super) fn cpu(self, accelerator: vm::Accelerator) -> String {
        let adds = |step| match step {
            Self::Aesni => ",+ssse3,+sse4.1,+sse4.2,+popcnt,+aes,+pclmulqdq",
            Self::Avx => ",+xsave,+xsaveopt,+avx",
            Self::Avx2 => ",+avx2,+bmi1,+bmi2,+fma,+movbe,+abm",
            Self::Avx512 => ",+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd,+vaes,+vpclmulqdq",
            Self::Baseline | Self::Whole => "",
        };
        match (self, accelerator) {
            (Self::Whole, vm::Accelerator::Kvm) => "host".to_owned(),
            (Self::Whole, vm::Accelerator::Tcg) => "max".to_owned(),
            _ => {
                let up_to = Self::ALL.into_iter().take_while(|step| *step != self);
                let all: String = up_to.chain([self]).map(adds).collect();
                format!("qemu64{all},enforce")
            }
        }
    }
}
