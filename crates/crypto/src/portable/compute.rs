//! One job: copy in, compute, copy out.

#![allow(unsafe_code, reason = "copies raw segments in and out")]

use aes::cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt,
    BlockSizeUser, InnerIvInit, StreamCipher, consts::U16,
};
use aes_gcm::{AeadInOut, Nonce, aead::consts::U12};
use ctr::{Ctr128BE, CtrCore};
use rsa::{Pkcs1v15Sign, RsaPrivateKey, rand_core::OsRng};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::key::{Context, PortableKey};
use crate::check::{BLOCK_BYTES, SIGNED_DIGEST_BYTES as DIGEST_BYTES};
use crate::scatter::{Cursor, wipe};
use crate::work::Work;
use crate::{Operation, Segment, Status};

/// The ASN.1 `DigestInfo` in front of a SHA-256 digest (RFC 8017 §9.2 note 1).
const SHA256_DIGEST_INFO: [u8; 19] = [
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05,
    0x00, 0x04, 0x20,
];

/// Private bytes, wiped when dropped.
type Private = Zeroizing<Vec<u8>>;

/// Runs one job.
///
/// # Safety
/// The segments of `work` are readable, those that the operation writes
/// writable; `work` has passed the checks for the key's algorithm.
pub(super) unsafe fn run(key: &PortableKey, operation: Operation, work: &Work<'_>) -> Status {
    // SAFETY: the caller vouches for the source.
    let mut text = unsafe { copied(work.source, work.source_bytes) };
    let encrypt = operation == Operation::Encrypt;
    match &key.context {
        Context::Cbc128(cipher) => cbc(&**cipher, encrypt, work.iv, &mut text),
        Context::Cbc256(cipher) => cbc(&**cipher, encrypt, work.iv, &mut text),
        Context::Ctr128(cipher) => ctr(&**cipher, work.iv, &mut text),
        Context::Ctr256(cipher) => ctr(&**cipher, work.iv, &mut text),
        // SAFETY: forwarded from the caller.
        Context::Gcm128(cipher) => return unsafe { gcm(&**cipher, encrypt, work, text) },
        // SAFETY: forwarded from the caller.
        Context::Gcm256(cipher) => return unsafe { gcm(&**cipher, encrypt, work, text) },
        Context::Xts(cipher) if encrypt => cipher.encrypt_sector(&mut text, (*work.iv).into()),
        Context::Xts(cipher) => cipher.decrypt_sector(&mut text, (*work.iv).into()),
        Context::Sha256 => text = Zeroizing::new(Sha256::digest(&*text).to_vec()),
        // SAFETY: forwarded from the caller.
        Context::Rsa(key) => return unsafe { rsa(key, operation, work, &text) },
    }
    // SAFETY: the caller vouches for the destination.
    unsafe { put(&text, work.destination) };
    Status::Ok
}

/// # Safety
/// The list is readable and holds `bytes`.
unsafe fn copied(list: &[Segment], bytes: usize) -> Private {
    let mut private = Zeroizing::new(vec![0; bytes]);
    // SAFETY: forwarded from the caller; the vector has room.
    unsafe { Cursor::new(list).gather(private.as_mut_ptr(), bytes) };
    private
}

/// # Safety
/// The list is writable and holds as many bytes as `private`.
unsafe fn put(private: &[u8], list: &[Segment]) {
    // SAFETY: forwarded from the caller.
    unsafe { Cursor::new(list).scatter(private.as_ptr(), private.len()) };
}

fn cbc<C>(cipher: &C, encrypt: bool, iv: &[u8; 16], text: &mut [u8])
where
    C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>,
{
    let (blocks, rest) = Array::slice_as_chunks_mut(text);
    assert!(rest.is_empty(), "the checks let only whole blocks through");
    if encrypt {
        cbc::Encryptor::inner_iv_init(cipher, iv.into()).encrypt_blocks(blocks);
    } else {
        cbc::Decryptor::inner_iv_init(cipher, iv.into()).decrypt_blocks(blocks);
    }
}

fn ctr<C>(cipher: &C, iv: &[u8; 16], text: &mut [u8])
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>,
{
    let core = CtrCore::inner_iv_init(cipher, iv.into());
    let mut stream = Ctr128BE::from_core(core);
    stream.apply_keystream(text);
}

/// # Safety
/// As for [`run`].
unsafe fn gcm<A>(cipher: &A, encrypt: bool, work: &Work<'_>, mut text: Private) -> Status
where
    A: AeadInOut<NonceSize = U12, TagSize = U16>,
{
    let nonce = Nonce::<U12>::try_from(&work.iv[..12]).expect("12 bytes are 12 bytes");
    // SAFETY: forwarded from the caller.
    let aad = unsafe { copied(&[work.aad], work.aad.len) };
    let text_bytes = text.as_mut_slice();
    if encrypt {
        let Ok(tag) = cipher.encrypt_inout_detached(&nonce, &aad, text_bytes.into()) else {
            return Status::BackendFailed;
        };
        // SAFETY: forwarded from the caller; the checks gave the tag 16 bytes.
        unsafe { put(&tag, &[work.tag]) };
    } else {
        // SAFETY: as above.
        let tag = unsafe { copied(&[work.tag], BLOCK_BYTES) };
        let tag = Array::try_from(tag.as_slice()).expect("16 bytes are 16 bytes");
        if cipher
            .decrypt_inout_detached(&nonce, &aad, text_bytes.into(), &tag)
            .is_err()
        {
            // SAFETY: the caller vouches for the destination.
            unsafe { wipe(work.destination) };
            return Status::AuthenticationFailed;
        }
    }
    // SAFETY: the caller vouches for the destination.
    unsafe { put(&text, work.destination) };
    Status::Ok
}

/// # Safety
/// As for [`run`].
unsafe fn rsa(key: &RsaPrivateKey, operation: Operation, work: &Work<'_>, digest: &[u8]) -> Status {
    let padding = Pkcs1v15Sign {
        hash_len: Some(DIGEST_BYTES),
        prefix: Box::new(SHA256_DIGEST_INFO),
    };
    if operation == Operation::Sign {
        let Ok(signature) = key.sign_with_rng(&mut OsRng, padding, digest) else {
            return Status::BackendFailed;
        };
        // SAFETY: the checks gave the tag 256 bytes, a signature's size.
        unsafe { put(&signature, &[work.tag]) };
        return Status::Ok;
    }
    // SAFETY: as above.
    let signature = unsafe { copied(&[work.tag], work.tag.len) };
    match key.to_public_key().verify(padding, digest, &signature) {
        Ok(()) => Status::Ok,
        Err(_) => Status::AuthenticationFailed,
    }
}
