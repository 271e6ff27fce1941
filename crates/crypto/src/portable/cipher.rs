//! AES in the modes without a tag, and the AEADs, over private bytes.

use aes::cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt,
    BlockSizeUser, InnerIvInit, StreamCipher, consts::U16,
};
use aes_gcm::{AeadInOut, Nonce, aead::consts::U12};
use ctr::{Ctr128BE, CtrCore};

use super::compute::Private;
use crate::Status;

/// A block cipher as every mode wants it.
pub(super) trait Cipher:
    BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>
{
}

impl<C> Cipher for C where
    C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>
{
}

fn blocks(text: &mut [u8]) -> &mut [Array<u8, U16>] {
    let (blocks, rest) = Array::slice_as_chunks_mut(text);
    assert!(rest.is_empty(), "the checks let only whole blocks through");
    blocks
}

pub(super) fn ecb(cipher: &impl Cipher, encrypt: bool, text: &mut [u8]) {
    if encrypt {
        cipher.encrypt_blocks(blocks(text));
    } else {
        cipher.decrypt_blocks(blocks(text));
    }
}

pub(super) fn cbc(cipher: &impl Cipher, encrypt: bool, iv: &[u8; 16], text: &mut [u8]) {
    if encrypt {
        cbc::Encryptor::inner_iv_init(cipher, iv.into()).encrypt_blocks(blocks(text));
    } else {
        cbc::Decryptor::inner_iv_init(cipher, iv.into()).decrypt_blocks(blocks(text));
    }
}

pub(super) fn ctr(cipher: &impl Cipher, iv: &[u8; 16], text: &mut [u8]) {
    let core = CtrCore::inner_iv_init(cipher, iv.into());
    let mut stream = Ctr128BE::from_core(core);
    stream.apply_keystream(text);
}

/// Seals `text` where it is; the tag.
///
/// # Errors
/// [`Status::BackendFailed`].
pub(super) fn seal<A>(
    cipher: &A,
    iv: &[u8; 16],
    aad: &[u8],
    text: &mut Private,
) -> Result<Private, Status>
where
    A: AeadInOut<NonceSize = U12, TagSize = U16>,
{
    let sealed = cipher.encrypt_inout_detached(&nonce(iv), aad, text.as_mut_slice().into());
    match sealed {
        Ok(tag) => Ok(tag.to_vec().into()),
        Err(_) => Err(Status::BackendFailed),
    }
}

/// Opens `text` where it is.
///
/// # Errors
/// [`Status::AuthenticationFailed`].
pub(super) fn open<A>(
    cipher: &A,
    iv: &[u8; 16],
    aad: &[u8],
    text: &mut Private,
    tag: &[u8],
) -> Result<(), Status>
where
    A: AeadInOut<NonceSize = U12, TagSize = U16>,
{
    let tag = Array::try_from(tag).expect("the checks gave the tag 16 bytes");
    cipher
        .decrypt_inout_detached(&nonce(iv), aad, text.as_mut_slice().into(), &tag)
        .map_err(|_| Status::AuthenticationFailed)
}

fn nonce(iv: &[u8; 16]) -> Nonce<U12> {
    Nonce::try_from(&iv[..12]).expect("12 bytes are 12 bytes")
}
