//! AES-256 in XTS (IEEE 1619-2018, SP 800-38E).
//!
//! The library takes a data unit in one piece. A scattered one goes through a
//! bounded private buffer, a chunk at a time: the tweak of a chunk that
//! begins at block j is E₂(iv)·xʲ, and since the library encrypts whatever
//! tweak it is given, it is given D₂(E₂(iv)·xʲ).

use std::mem::MaybeUninit;

use aws_lc_sys as lc;

use super::aes_key::AesKey;
use super::cipher::Cipher;
use crate::check::BLOCK_BYTES;
use crate::scatter::Cursor;
use crate::tweak::{chunk_bytes, times_x};
use crate::work::Work;
use crate::{Between, Status};

/// Bytes of a chunk of a scattered data unit; on the stack.
const CHUNK_BYTES: usize = 4096;

/// Contexts for both directions, and the tweak key's schedules.
pub(super) struct XtsKey {
    encrypting: Cipher,
    decrypting: Cipher,
    tweak_encrypting: AesKey,
    tweak_decrypting: AesKey,
}

impl XtsKey {
    /// `key` has 64 bytes: the data key, then the tweak key, and they differ.
    pub(super) fn new(key: &[u8]) -> Option<Self> {
        // SAFETY: returns a pointer to a constant of the library.
        let cipher = unsafe { lc::EVP_aes_256_xts() };
        let tweak_key = &key[key.len() / 2..];
        Some(Self {
            encrypting: Cipher::new(cipher, key, true)?,
            decrypting: Cipher::new(cipher, key, false)?,
            tweak_encrypting: AesKey::encrypting(tweak_key)?,
            tweak_decrypting: AesKey::decrypting(tweak_key)?,
        })
    }

    fn cipher(&self, encrypt: bool) -> &Cipher {
        if encrypt {
            &self.encrypting
        } else {
            &self.decrypting
        }
    }

    fn encrypted_tweak(&self, iv: &[u8; BLOCK_BYTES]) -> u128 {
        let mut out = [0; BLOCK_BYTES];
        // SAFETY: one block each, and a schedule for this direction.
        unsafe {
            lc::AES_encrypt(
                iv.as_ptr(),
                out.as_mut_ptr(),
                self.tweak_encrypting.as_ptr(),
            );
        }
        u128::from_le_bytes(out)
    }

    fn decrypted_tweak(&self, tweak: u128) -> [u8; BLOCK_BYTES] {
        let (block, mut out) = (tweak.to_le_bytes(), [0; BLOCK_BYTES]);
        // SAFETY: one block each, and a schedule for this direction.
        unsafe {
            lc::AES_decrypt(
                block.as_ptr(),
                out.as_mut_ptr(),
                self.tweak_decrypting.as_ptr(),
            );
        }
        out
    }
}

/// Encrypts or decrypts one data unit.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn run(key: &XtsKey, encrypt: bool, work: &Work<'_>) -> Status {
    let cipher = key.cipher(encrypt);
    // SAFETY: forwarded from the caller.
    let good = unsafe {
        match work.contiguous() {
            Some((source, destination)) => {
                cipher.start(work.iv, encrypt)
                    && cipher.step(destination.address, source.address, source.len) == 1
            }
            None => scattered(key, encrypt, work, &mut key.encrypted_tweak(work.iv)),
        }
    };
    ended(good)
}

/// Encrypts or decrypts a piece of a data unit; the encrypted tweak of the next piece is
/// kept.
///
/// # Safety
/// As for [`super::run`]; `between` is of this data unit.
pub(super) unsafe fn piece(
    key: &XtsKey,
    encrypt: bool,
    work: &Work<'_>,
    between: &mut Between,
) -> Status {
    let (tweak, is_first) = between.state::<u128>();
    // SAFETY: our own, zeroed or what was left here; the rest is the caller's word.
    let good = unsafe {
        if is_first {
            *tweak = key.encrypted_tweak(work.iv);
        }
        match work.contiguous() {
            Some((source, destination)) => {
                let cipher = key.cipher(encrypt);
                let begin = key.decrypted_tweak(*tweak);
                *tweak = times_x(*tweak, source.len / BLOCK_BYTES);
                cipher.start(&begin, encrypt)
                    && cipher.step(destination.address, source.address, source.len) == 1
            }
            None => scattered(key, encrypt, work, &mut *tweak),
        }
    };
    ended(good)
}

fn ended(good: bool) -> Status {
    if good {
        Status::Ok
    } else {
        Status::BackendFailed
    }
}

/// # Safety
/// As for [`super::run`].
#[inline(never)]
unsafe fn scattered(key: &XtsKey, encrypt: bool, work: &Work<'_>, tweak: &mut u128) -> bool {
    let cipher = key.cipher(encrypt);
    let mut chunk = MaybeUninit::<[u8; CHUNK_BYTES]>::uninit();
    let private = chunk.as_mut_ptr().cast::<u8>();
    let mut source = Cursor::new(work.source);
    let mut destination = Cursor::new(work.destination);
    let (mut left, mut good) = (work.source_bytes, true);
    while left > 0 && good {
        let bytes = chunk_bytes(left, CHUNK_BYTES);
        // SAFETY: both lists hold `left` bytes more, and the chunk has room.
        unsafe {
            source.gather(private, bytes);
            good = cipher.start(&key.decrypted_tweak(*tweak), encrypt)
                && cipher.step(private, private, bytes) == 1;
            if good {
                destination.scatter(private, bytes);
            }
        }
        *tweak = times_x(*tweak, bytes / BLOCK_BYTES);
        left -= bytes;
    }
    // SAFETY: our own buffer; it may hold plaintext.
    unsafe { lc::OPENSSL_cleanse(private.cast(), work.source_bytes.min(CHUNK_BYTES)) };
    good
}
