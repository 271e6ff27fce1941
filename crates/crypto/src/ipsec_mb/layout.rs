//! The library's structures, as far as this back-end touches them.
//!
//! The manager is a struct of function pointers that grows at its end from
//! one minor version to the next; up to `submit_hash_burst_nocheck` every
//! offset is the same from 1.3 to 2.0 (before 1.3 there are no bursts). What
//! does differ is in [`Version`]. Taken from `lib/intel-ipsec-mb.h` at the
//! tags v1.3, v1.4, v1.5, v2.0 of github.com/intel/intel-ipsec-mb.

use std::ffi::{c_int, c_void};
use std::mem::{align_of, offset_of, size_of};

/// Most jobs of one burst (`IMB_MAX_BURST_SIZE`); the ring holds twice as many.
pub(super) const BURST: usize = 128;

/// `IMB_CIPHER_MODE`, the same in all versions.
pub(super) mod cipher {
    pub const CBC: u32 = 1;
    pub const CTR: u32 = 2;
    pub const NULL: u32 = 3;
    pub const ECB: u32 = 12;
    pub const CHACHA20_POLY1305: u32 = 19;
}

/// `IMB_HASH_ALG`, the same in all versions.
pub(super) mod hash {
    pub const HMAC_SHA256: u32 = 3;
    pub const NULL: u32 = 8;
    pub const SHA1: u32 = 13;
    pub const SHA256: u32 = 15;
    pub const SHA384: u32 = 16;
    pub const SHA512: u32 = 17;
    pub const CHACHA20_POLY1305: u32 = 29;
}

/// `IMB_CIPHER_DIRECTION`.
pub(super) mod direction {
    pub const ENCRYPT: u32 = 1;
    pub const DECRYPT: u32 = 2;
}

/// `IMB_CHAIN_ORDER`.
pub(super) mod order {
    pub const CIPHER_HASH: u32 = 1;
    pub const HASH_CIPHER: u32 = 2;
}

/// Bits of `features`: which of the library's variants the manager is.
pub(super) mod feature {
    pub const SHANI: u64 = 1 << 0;
    pub const VAES: u64 = 1 << 12;
    pub const VPCLMULQDQ: u64 = 1 << 13;
    pub const GFNI: u64 = 1 << 16;
    pub const AVX512_IFMA: u64 = 1 << 17;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    V1_3,
    V1_4,
    V1_5,
    V2_0,
}

impl Version {
    /// From `imb_get_version()`: major, minor and patch, a byte each.
    pub const fn of(number: u32) -> Option<Self> {
        match number >> 8 {
            0x0103 => Some(Self::V1_3),
            0x0104 => Some(Self::V1_4),
            0x0105 => Some(Self::V1_5),
            0x0200 => Some(Self::V2_0),
            _ => None,
        }
    }

    /// Bytes from one job of an array to the next.
    pub const fn job_bytes(self) -> usize {
        match self {
            Self::V1_3 => 200,
            Self::V1_4 | Self::V1_5 => 240,
            Self::V2_0 => 216,
        }
    }

    /// Whether a job of a burst says which functions it wants.
    pub const fn has_suites(self) -> bool {
        !matches!(self, Self::V1_3)
    }

    pub const fn bursts_ecb(self) -> bool {
        matches!(self, Self::V2_0)
    }

    /// `IMB_FLAG_AESNI_OFF`; 2.0 has no code without AES-NI.
    pub const fn aesni_off(self) -> Option<u64> {
        match self {
            Self::V2_0 => None,
            _ => Some(1 << 1),
        }
    }

    /// `IMB_FLAG_GFNI_OFF`: without it neither does the AVX2 code use VAES.
    pub const fn gfni_off(self) -> u64 {
        match self {
            Self::V2_0 => 1 << 1,
            _ => 1 << 2,
        }
    }

    /// Whether there is code for AVX without AVX2.
    pub const fn has_avx(self) -> bool {
        !matches!(self, Self::V2_0)
    }

    /// `IMB_ARCH` by name.
    pub const fn architecture(self, number: u32) -> &'static str {
        match (self, number) {
            (Self::V2_0, 1) => "SSE",
            (Self::V2_0, 2) => "AVX2",
            (Self::V2_0, 3) => "AVX-512",
            (Self::V2_0, _) => "unknown",
            (_, 1) => "SSE without AES-NI",
            (_, 2) => "SSE",
            (_, 3) => "AVX",
            (_, 4) => "AVX2",
            (_, 5) => "AVX-512",
            _ => "unknown",
        }
    }
}

/// The part of `IMB_JOB` that all versions share: the fields that a job of
/// ours needs, in place. A job in memory has [`Version::job_bytes`].
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ImbJob {
    pub enc_keys: *const c_void,
    pub dec_keys: *const c_void,
    pub key_bytes: u64,
    pub source: *const u8,
    pub destination: *mut u8,
    pub cipher_offset: u64,
    pub cipher_bytes: u64,
    pub hash_offset: u64,
    pub hash_bytes: u64,
    pub iv: *const u8,
    pub iv_bytes: u64,
    pub tag: *mut u8,
    pub tag_bytes: u64,
    /// HMAC: state after the inner pad, after the outer pad. AEAD: additional
    /// data, its bytes.
    pub extra: [*const c_void; 3],
    pub status: u32,
    pub cipher: u32,
    pub direction: u32,
    pub hash: u32,
    pub order: u32,
}

impl ImbJob {
    pub const EMPTY: Self = Self {
        enc_keys: std::ptr::null(),
        dec_keys: std::ptr::null(),
        key_bytes: 0,
        source: std::ptr::null(),
        destination: std::ptr::null_mut(),
        cipher_offset: 0,
        cipher_bytes: 0,
        hash_offset: 0,
        hash_bytes: 0,
        iv: std::ptr::null(),
        iv_bytes: 0,
        tag: std::ptr::null_mut(),
        tag_bytes: 0,
        extra: [std::ptr::null(); 3],
        status: 0,
        cipher: 0,
        direction: 0,
        hash: 0,
        order: 0,
    };
}

/// `struct gcm_key_data` of any of the versions, the largest of which has
/// 1280 bytes.
#[repr(C, align(64))]
pub(super) struct GcmKeyData(pub [u8; 1280]);

/// `struct gcm_context_data`.
#[repr(C, align(64))]
pub(super) struct GcmContext(pub [u8; 128]);

/// A place in the manager for a function that is not called.
type Unused = *const c_void;

pub(super) type ExpandKey = unsafe extern "C" fn(*const u8, *mut c_void, *mut c_void);
pub(super) type OneBlock = unsafe extern "C" fn(*const u8, *mut c_void);
pub(super) type GcmWhole = unsafe extern "C" fn(
    *const GcmKeyData,
    *mut GcmContext,
    *mut u8,
    *const u8,
    u64,
    *const u8,
    *const u8,
    u64,
    *mut u8,
    u64,
);
pub(super) type GcmInit =
    unsafe extern "C" fn(*const GcmKeyData, *mut GcmContext, *const u8, *const u8, u64);
pub(super) type GcmUpdate =
    unsafe extern "C" fn(*const GcmKeyData, *mut GcmContext, *mut u8, *const u8, u64);
pub(super) type GcmFinalize =
    unsafe extern "C" fn(*const GcmKeyData, *mut GcmContext, *mut u8, u64);
pub(super) type GcmPrepare = unsafe extern "C" fn(*const u8, *mut GcmKeyData);
pub(super) type RingBurst = unsafe extern "C" fn(*mut Manager, u32, *mut *mut ImbJob) -> u32;
pub(super) type CipherBurst =
    unsafe extern "C" fn(*mut Manager, *mut ImbJob, u32, u32, u32, u32) -> u32;
pub(super) type HashBurst = unsafe extern "C" fn(*mut Manager, *mut ImbJob, u32, u32) -> u32;
pub(super) type SetSuite = unsafe extern "C" fn(*mut Manager, *mut ImbJob);

/// The beginning of `IMB_MGR`; null pointers until it is initialised. Groups
/// of three are for keys of 128, 192 and 256 bits.
#[repr(C)]
pub(super) struct Manager {
    pub flags: u64,
    pub features: u64,
    reserved: [u64; 5],
    pub architecture: u32,
    pub error: c_int,
    job_calls: [Unused; 6],
    pub expand_key: [Option<ExpandKey>; 3],
    subkeys_and_one_blocks: [Unused; 5],
    pub sha256_one_block: Option<OneBlock>,
    hashes: [Unused; 9],
    pub gcm_seal: [Option<GcmWhole>; 3],
    pub gcm_open: [Option<GcmWhole>; 3],
    pub gcm_init: [Option<GcmInit>; 3],
    pub gcm_encrypt: [Option<GcmUpdate>; 3],
    pub gcm_decrypt: [Option<GcmUpdate>; 3],
    pub gcm_encrypt_finalize: [Option<GcmFinalize>; 3],
    pub gcm_decrypt_finalize: [Option<GcmFinalize>; 3],
    gcm_precomp: [Unused; 3],
    pub gcm_prepare: [Option<GcmPrepare>; 3],
    others: [Unused; 60],
    pub next_burst: Option<RingBurst>,
    submit_burst: Unused,
    pub submit_burst_nocheck: Option<RingBurst>,
    pub flush_burst: Option<RingBurst>,
    cipher_burst: Unused,
    pub cipher_burst_nocheck: Option<CipherBurst>,
    hash_burst: Unused,
    pub hash_burst_nocheck: Option<HashBurst>,
    aes256_cfb_one_and_quic: [Unused; 3],
    pub set_suite: Option<SetSuite>,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(offset_of!(Manager, architecture) == 56);
    assert!(offset_of!(Manager, expand_key) == 112);
    assert!(offset_of!(Manager, sha256_one_block) == 176);
    assert!(offset_of!(Manager, gcm_seal) == 256);
    assert!(offset_of!(Manager, gcm_init) == 304);
    assert!(offset_of!(Manager, gcm_encrypt) == 328);
    assert!(offset_of!(Manager, gcm_decrypt_finalize) == 400);
    assert!(offset_of!(Manager, gcm_prepare) == 448);
    assert!(offset_of!(Manager, next_burst) == 952);
    assert!(offset_of!(Manager, cipher_burst_nocheck) == 992);
    assert!(offset_of!(Manager, hash_burst_nocheck) == 1008);
    assert!(offset_of!(Manager, set_suite) == 1040);
    assert!(offset_of!(ImbJob, tag) == 88);
    assert!(offset_of!(ImbJob, extra) == 104);
    assert!(offset_of!(ImbJob, status) == 128);
    assert!(offset_of!(ImbJob, order) == 144);
    assert!(size_of::<ImbJob>() <= Version::V1_3.job_bytes());
    assert!(align_of::<ImbJob>() == 8);
};
