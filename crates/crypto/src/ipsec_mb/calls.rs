//! The functions of an initialised manager, none of them null.

use super::layout::{
    CipherBurst, ExpandKey, GcmFinalize, GcmInit, GcmPrepare, GcmUpdate, GcmWhole, HashBurst,
    Manager, OneBlock, RingBurst, SetSuite, Version,
};

/// What this back-end calls. Groups of three are by key size.
#[derive(Clone, Copy)]
pub(super) struct Calls {
    pub(super) expand_key: [ExpandKey; 3],
    pub(super) sha256_one_block: OneBlock,
    pub(super) gcm: [GcmCalls; 3],
    pub(super) next_burst: RingBurst,
    pub(super) submit_burst: RingBurst,
    pub(super) flush_burst: RingBurst,
    pub(super) cipher_burst: CipherBurst,
    pub(super) hash_burst: HashBurst,
    pub(super) set_suite: Option<SetSuite>,
}

#[derive(Clone, Copy)]
pub(super) struct GcmCalls {
    pub(super) prepare: GcmPrepare,
    pub(super) seal: GcmWhole,
    pub(super) open: GcmWhole,
    pub(super) init: GcmInit,
    pub(super) encrypt: GcmUpdate,
    pub(super) decrypt: GcmUpdate,
    pub(super) encrypt_finalize: GcmFinalize,
    pub(super) decrypt_finalize: GcmFinalize,
}

impl Calls {
    pub(super) fn of(manager: &Manager, version: Version) -> Option<Self> {
        let gcm = |size: usize| {
            Some(GcmCalls {
                prepare: manager.gcm_prepare[size]?,
                seal: manager.gcm_seal[size]?,
                open: manager.gcm_open[size]?,
                init: manager.gcm_init[size]?,
                encrypt: manager.gcm_encrypt[size]?,
                decrypt: manager.gcm_decrypt[size]?,
                encrypt_finalize: manager.gcm_encrypt_finalize[size]?,
                decrypt_finalize: manager.gcm_decrypt_finalize[size]?,
            })
        };
        let [expand_128, expand_192, expand_256] = manager.expand_key;
        let set_suite = if version.has_suites() {
            Some(manager.set_suite?)
        } else {
            None
        };
        Some(Self {
            expand_key: [expand_128?, expand_192?, expand_256?],
            sha256_one_block: manager.sha256_one_block?,
            gcm: [gcm(0)?, gcm(1)?, gcm(2)?],
            next_burst: manager.next_burst?,
            submit_burst: manager.submit_burst_nocheck?,
            flush_burst: manager.flush_burst?,
            cipher_burst: manager.cipher_burst_nocheck?,
            hash_burst: manager.hash_burst_nocheck?,
            set_suite,
        })
    }
}
