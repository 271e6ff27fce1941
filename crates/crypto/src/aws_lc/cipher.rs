//! A cipher context that is set up once and restarted for each job.

use std::ffi::c_int;
use std::ptr::{self, NonNull};

use aws_lc_sys as lc;

pub(super) struct Cipher(NonNull<lc::EVP_CIPHER_CTX>);

// SAFETY: the context belongs to no thread; this value is its only owner and,
// not being `Sync`, used by one thread at a time.
unsafe impl Send for Cipher {}

impl Cipher {
    /// Sets the key up; `key` has as many bytes as `cipher` takes.
    pub(super) fn new(cipher: *const lc::EVP_CIPHER, key: &[u8], encrypt: bool) -> Option<Self> {
        // SAFETY: `cipher` is one of the library's constants.
        let key_bytes = unsafe { lc::EVP_CIPHER_key_length(cipher) };
        assert_eq!(
            key_bytes as usize,
            key.len(),
            "the caller picks the cipher by key length"
        );
        // SAFETY: has no preconditions; null means no memory.
        let context = Self(NonNull::new(unsafe { lc::EVP_CIPHER_CTX_new() })?);
        // SAFETY: the context is ours, and `key` has the cipher's key length.
        let done = unsafe {
            lc::EVP_CipherInit_ex(
                context.0.as_ptr(),
                cipher,
                ptr::null_mut(),
                key.as_ptr(),
                ptr::null(),
                c_int::from(encrypt),
            )
        };
        (done == 1).then_some(context)
    }

    /// Begins a job: same key, another IV. The ciphers in use take the first
    /// 12 or all 16 bytes. The direction may change for GCM and
    /// ChaCha20-Poly1305, which have one key schedule for both.
    pub(super) fn start(&self, iv: &[u8; 16], encrypt: bool) -> bool {
        // SAFETY: the context is initialised and only we use it; null cipher
        // and key keep what is there.
        let done = unsafe {
            lc::EVP_CipherInit_ex(
                self.0.as_ptr(),
                ptr::null(),
                ptr::null_mut(),
                ptr::null(),
                iv.as_ptr(),
                c_int::from(encrypt),
            )
        };
        done == 1
    }

    /// One call into the cipher; what it returns is the cipher's own.
    ///
    /// # Safety
    /// `from` is readable and `to` writable for `bytes`, and they are the
    /// same or apart; or they are what the cipher takes nulls for.
    pub(super) unsafe fn step(&self, to: *mut u8, from: *const u8, bytes: usize) -> c_int {
        // SAFETY: the context is initialised; the rest is the caller's.
        unsafe { lc::EVP_Cipher(self.0.as_ptr(), to, from, bytes) }
    }

    /// Reads or sets a parameter of the cipher.
    ///
    /// # Safety
    /// `pointer` is valid for what `command` does with `argument` bytes.
    pub(super) unsafe fn control(&self, command: c_int, argument: c_int, pointer: *mut u8) -> bool {
        // SAFETY: the context is initialised; the rest is the caller's.
        unsafe { lc::EVP_CIPHER_CTX_ctrl(self.0.as_ptr(), command, argument, pointer.cast()) == 1 }
    }
}

impl Drop for Cipher {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again. Wipes the key: the library's
        // `OPENSSL_free` cleanses every block it gives back.
        unsafe { lc::EVP_CIPHER_CTX_free(self.0.as_ptr()) };
    }
}
