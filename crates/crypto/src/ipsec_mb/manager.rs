//! A manager in memory of ours, for the instructions that may be used.

use std::ffi::CStr;

use super::calls::Calls;
use super::layout::{self, Version, feature};
use super::library::Library;
use super::memory::Memory;
use super::unavailable::Unavailable;
use crate::{Instructions, instructions};

pub(super) struct Manager {
    memory: Memory,
    pub(super) calls: Calls,
    version: Version,
}

struct Start {
    init: &'static CStr,
    flags: u64,
}

impl Start {
    /// `None` when the version has no code for so few.
    fn with(version: Version, instructions: Instructions) -> Option<Self> {
        let (init, flags) = match instructions {
            Instructions::Baseline => (c"init_mb_mgr_sse", version.aesni_off()?),
            Instructions::Avx if version.has_avx() => (c"init_mb_mgr_avx", 0),
            Instructions::AesNi | Instructions::Avx => (c"init_mb_mgr_sse", 0),
            // The AVX2 code takes VAES up by itself, unless GFNI is hidden.
            Instructions::Avx2 => (c"init_mb_mgr_avx2", version.gfni_off()),
            Instructions::Vaes => (c"init_mb_mgr_avx2", 0),
            Instructions::Avx512 => (c"init_mb_mgr_avx512", 0),
        };
        Some(Self { init, flags })
    }
}

impl Manager {
    pub(super) fn new(library: &Library) -> Result<Self, Unavailable> {
        let failed = |reason: &str| Unavailable::Manager {
            file: library.file,
            instructions: instructions(),
            reason: reason.to_owned(),
        };
        let start = Start::with(library.version, instructions())
            .ok_or_else(|| failed("it has no code for them"))?;
        let init = library.init(start.init)?;
        let memory = Memory::new(library.manager_bytes()).ok_or_else(|| failed("no memory"))?;
        // SAFETY: the memory is zeroed, has the bytes and the alignment.
        let manager = unsafe { library.lay_out(memory.start().cast(), start.flags) };
        if manager.is_null() {
            return Err(failed("it was built without them"));
        }
        // SAFETY: laid out by the call above, at the start of our memory; the
        // layout is that of the version that the library says it is.
        let (calls, error) = unsafe {
            init(manager);
            (Calls::of(&*manager, library.version), (*manager).error)
        };
        if error != 0 {
            return Err(failed(&format!("error {error}")));
        }
        let calls = calls.ok_or_else(|| failed("functions are missing"))?;
        Ok(Self {
            memory,
            calls,
            version: library.version,
        })
    }

    pub(super) fn as_ptr(&self) -> *mut layout::Manager {
        self.memory.start().cast()
    }

    pub(super) fn chosen(&self) -> Chosen {
        // SAFETY: initialised in `new`, and only this thread's.
        let (architecture, features) =
            unsafe { ((*self.as_ptr()).architecture, (*self.as_ptr()).features) };
        Chosen {
            architecture: self.version.architecture(architecture),
            features,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    architecture: &'static str,
    features: u64,
}

/// How many messages it works on at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lanes {
    pub(super) cbc: usize,
    pub(super) sha256: usize,
    /// SHA-384 and SHA-512.
    pub(super) sha512: usize,
}

impl Chosen {
    /// The library's own rule for its second type of AVX2 and AVX-512.
    fn has_vaes(self) -> bool {
        let avx2 = feature::SHANI | feature::VAES | feature::VPCLMULQDQ | feature::GFNI;
        let all = match self.architecture {
            "AVX2" => avx2,
            "AVX-512" => avx2 | feature::AVX512_IFMA,
            _ => return false,
        };
        self.features & all == all
    }

    /// Whether ChaCha20-Poly1305 reads past the end of a text that is no
    /// whole number of blocks: found with a page behind it that has no access.
    pub(super) fn chacha_reads_beyond(self) -> bool {
        self.architecture.starts_with("SSE")
    }

    pub(super) fn described(self) -> String {
        if self.has_vaes() {
            format!("{} with VAES", self.architecture)
        } else {
            self.architecture.to_owned()
        }
    }

    pub(super) fn lanes(self) -> Lanes {
        let (cbc, sha256, sha512) = match self.architecture {
            "AVX-512" if self.has_vaes() => (16, 16, 8),
            "AVX-512" => (8, 16, 8),
            "AVX2" => (8, 8, 4),
            "AVX" => (8, 4, 2),
            _ => (4, 2, 2),
        };
        Lanes {
            cbc,
            sha256,
            sha512,
        }
    }
}
