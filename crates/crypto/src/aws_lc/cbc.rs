//! AES in cipher block chaining mode.

use aws_lc_sys as lc;
use zeroize::Zeroize;

use super::aes_key::AesKey;
use crate::Status;
use crate::check::BLOCK_BYTES;
use crate::scatter::Cursor;
use crate::work::Work;

/// Schedules for both directions.
pub(super) struct CbcKey {
    encrypting: AesKey,
    decrypting: AesKey,
}

impl CbcKey {
    pub(super) fn new(key: &[u8]) -> Option<Self> {
        Some(Self {
            encrypting: AesKey::encrypting(key)?,
            decrypting: AesKey::decrypting(key)?,
        })
    }
}

/// One message being chained.
struct Chain<'k> {
    key: &'k AesKey,
    direction: i32,
    iv: [u8; BLOCK_BYTES],
}

impl Chain<'_> {
    /// Encrypts or decrypts whole blocks and keeps the last for the next call.
    ///
    /// # Safety
    /// `from` is readable and `to` writable for `bytes`; the same or apart.
    unsafe fn blocks(&mut self, from: *const u8, to: *mut u8, bytes: usize) {
        // SAFETY: the schedule matches the direction; the rest is the caller's.
        unsafe {
            lc::AES_cbc_encrypt(
                from,
                to,
                bytes,
                self.key.as_ptr(),
                self.iv.as_mut_ptr(),
                self.direction,
            );
        }
    }
}

/// Encrypts or decrypts a message of whole blocks.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn run(key: &CbcKey, encrypt: bool, work: &Work<'_>) -> Status {
    let mut chain = if encrypt {
        Chain {
            key: &key.encrypting,
            direction: lc::AES_ENCRYPT,
            iv: *work.iv,
        }
    } else {
        Chain {
            key: &key.decrypting,
            direction: lc::AES_DECRYPT,
            iv: *work.iv,
        }
    };
    // SAFETY: forwarded from the caller.
    unsafe {
        match work.contiguous() {
            _ if work.source_bytes == 0 => {}
            Some((source, to)) => chain.blocks(source.address, to.address, source.len),
            None => scattered(&mut chain, work),
        }
    }
    Status::Ok
}

/// Whole blocks where both sides have them; where a block straddles a border,
/// that block alone goes through a private one.
///
/// # Safety
/// As for [`super::run`].
unsafe fn scattered(chain: &mut Chain<'_>, work: &Work<'_>) {
    let mut source = Cursor::new(work.source);
    let mut destination = Cursor::new(work.destination);
    let mut block = [0; BLOCK_BYTES];
    let mut left = work.source_bytes;
    while left > 0 {
        let ((from, from_bytes), (to, to_bytes)) = (source.run(), destination.run());
        let mut bytes = from_bytes.min(to_bytes) & !(BLOCK_BYTES - 1);
        // SAFETY: both runs hold `bytes`, or else both lists hold a block
        // more, since the message is whole blocks; and segments are valid by
        // the caller's word.
        unsafe {
            if bytes > 0 {
                chain.blocks(from, to, bytes);
                source.advance(bytes);
                destination.advance(bytes);
            } else {
                bytes = BLOCK_BYTES;
                source.gather(block.as_mut_ptr(), bytes);
                let private = block.as_mut_ptr();
                chain.blocks(private, private, bytes);
                destination.scatter(private, bytes);
            }
        }
        left -= bytes;
    }
    block.zeroize();
}
