//! Register state that the operating system saves and restores.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Component {
    X87,
    Sse,
    Avx,
    /// AVX-512 mask registers k0–k7.
    Opmask,
    /// Upper halves of ZMM0–ZMM15.
    ZmmHi256,
    /// ZMM16–ZMM31.
    Hi16Zmm,
}

impl Component {
    pub const ALL: [Self; 6] = [
        Self::X87,
        Self::Sse,
        Self::Avx,
        Self::Opmask,
        Self::ZmmHi256,
        Self::Hi16Zmm,
    ];

    /// Name as in our keys: `zmm_hi256`.
    pub fn name(self) -> &'static str {
        match self {
            Self::X87 => "x87",
            Self::Sse => "sse",
            Self::Avx => "avx",
            Self::Opmask => "opmask",
            Self::ZmmHi256 => "zmm_hi256",
            Self::Hi16Zmm => "hi16_zmm",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Self::X87 => "x87 state",
            Self::Sse => "SSE state (XMM)",
            Self::Avx => "AVX state (YMM)",
            Self::Opmask => "AVX-512 mask state (opmask)",
            Self::ZmmHi256 => "AVX-512 state (ZMM_Hi256)",
            Self::Hi16Zmm => "AVX-512 state (Hi16_ZMM)",
        }
    }

    fn bit(self) -> u32 {
        match self {
            Self::X87 => 0,
            Self::Sse => 1,
            Self::Avx => 2,
            Self::Opmask => 5,
            Self::ZmmHi256 => 6,
            Self::Hi16Zmm => 7,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XState {
    /// XCR0, or `None` without OSXSAVE: then the kernel saves x87 and SSE
    /// with FXSAVE and nothing else.
    pub xcr0: Option<u64>,
    pub supported: u64,
}

impl XState {
    pub fn is_enabled(&self, component: Component) -> bool {
        match self.xcr0 {
            Some(xcr0) => xcr0 >> component.bit() & 1 == 1,
            // x86-64 Linux cannot start without FXSAVE.
            None => matches!(component, Component::X87 | Component::Sse),
        }
    }

    pub fn is_supported(&self, component: Component) -> bool {
        self.supported >> component.bit() & 1 == 1
            || matches!(component, Component::X87 | Component::Sse)
    }
}
