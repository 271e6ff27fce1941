//! An AES key schedule.

use std::mem::MaybeUninit;

use aws_lc_sys as lc;

/// Round keys on their own cache lines, filled where they stay (a moved
/// schedule would leave a copy behind) and wiped on drop.
pub(super) struct AesKey(Box<Schedule>);

#[repr(C, align(64))]
struct Schedule(MaybeUninit<lc::AES_KEY>);

type Expand = unsafe extern "C" fn(*const u8, std::ffi::c_uint, *mut lc::AES_KEY) -> i32;

impl AesKey {
    /// For encrypting blocks; `key` has 16, 24 or 32 bytes.
    pub(super) fn encrypting(key: &[u8]) -> Option<Self> {
        Self::expanded(key, lc::AES_set_encrypt_key)
    }

    /// For decrypting blocks; `key` has 16, 24 or 32 bytes.
    pub(super) fn decrypting(key: &[u8]) -> Option<Self> {
        Self::expanded(key, lc::AES_set_decrypt_key)
    }

    fn expanded(key: &[u8], expand: Expand) -> Option<Self> {
        let mut own = Self(Box::new(Schedule(MaybeUninit::zeroed())));
        let bits = u32::try_from(key.len() * 8).ok()?;
        // SAFETY: `key` has `bits` bits, and the schedule is ours to write.
        // The library refuses other sizes than AES has.
        let refused = unsafe { expand(key.as_ptr(), bits, own.0.0.as_mut_ptr()) };
        (refused == 0).then_some(own)
    }

    pub(super) fn prefetch(&self) {
        crate::prefetch(&*self.0);
    }

    pub(super) fn as_ptr(&self) -> *const lc::AES_KEY {
        self.0.0.as_ptr()
    }
}

impl Drop for AesKey {
    fn drop(&mut self) {
        let schedule = self.0.0.as_mut_ptr();
        // SAFETY: the schedule is ours, and any bytes are valid in it.
        unsafe { lc::OPENSSL_cleanse(schedule.cast(), size_of::<lc::AES_KEY>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_aes_sizes_expand() {
        assert!(AesKey::encrypting(&[1; 16]).is_some());
        assert!(AesKey::decrypting(&[1; 32]).is_some());
        assert!(AesKey::encrypting(&[1; 15]).is_none());
    }
}
