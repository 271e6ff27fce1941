//! X25519 (RFC 7748 §5, §6.1).

use aws_lc_sys as lc;
use zeroize::{Zeroize, Zeroizing};

use crate::Status;
use crate::scatter::Cursor;
use crate::work::Work;

const VALUE_BYTES: usize = 32;

pub(super) struct X25519Key(Box<Zeroizing<[u8; VALUE_BYTES]>>);

impl X25519Key {
    /// `key` has 32 bytes.
    pub(super) fn new(key: &[u8]) -> Self {
        let mut own = Box::new(Zeroizing::new([0; VALUE_BYTES]));
        own.copy_from_slice(key);
        Self(own)
    }
}

/// Agrees on a secret with the peer's public value. A point of small order,
/// which would give zeros whatever the key, is refused (RFC 7748 §6.1).
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn derive(key: &X25519Key, work: &Work<'_>) -> Status {
    let (mut peer, mut secret) = ([0; VALUE_BYTES], [0; VALUE_BYTES]);
    // SAFETY: the checks gave source and destination 32 bytes; the rest is
    // private, of the sizes that the library reads and writes.
    let agreed = unsafe {
        Cursor::new(work.source).gather(peer.as_mut_ptr(), VALUE_BYTES);
        let agreed = lc::X25519(secret.as_mut_ptr(), key.0.as_ptr(), peer.as_ptr());
        Cursor::new(work.destination).scatter(secret.as_ptr(), VALUE_BYTES);
        agreed == 1
    };
    secret.zeroize();
    if agreed {
        Status::Ok
    } else {
        super::forget_errors();
        Status::InvalidInput
    }
}
