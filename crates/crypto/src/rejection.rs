//! Implicit rejection of RSA PKCS#1 v1.5: draft-irtf-cfrg-rsa-guidance-10 §7,
//! as OpenSSL has it since 3.2. A ciphertext without a message decrypts to
//! bytes that no one without the private key can tell from one. So a sender of
//! ciphertexts learns nothing of their padding (Bleichenbacher).
//!
//! The draft makes up a length, too, and takes the end of one long text. Here
//! the caller names the length, as in TLS (RFC 5246 §7.4.7.1), and may try them
//! all. By the draft's rule all results but the message would be ends of one
//! text. So the length that is hashed into every block is the caller's, and no
//! two results are related.

use std::hint::black_box;

use zeroize::Zeroizing;

/// Bytes of SHA-256.
pub(crate) const HASH_BYTES: usize = 32;

pub(crate) type Hash = Zeroizing<[u8; HASH_BYTES]>;

/// Fills `to` with the replacement of a message (§7.1): IRPRF with the label
/// "message", under a key made of the ciphertext and of the private exponent's
/// SHA-256. `hmac` computes HMAC-SHA-256 in place, since what is moved stays on the
/// stack. `None` when it fails.
pub(crate) fn alternative(
    hmac: impl Fn(&[u8; HASH_BYTES], &[u8], &mut [u8; HASH_BYTES]) -> bool,
    exponent: &[u8; HASH_BYTES],
    ciphertext: &[u8],
    to: &mut [u8],
) -> Option<()> {
    let (mut key, mut code) = (Hash::default(), Hash::default());
    let mut is_good = hmac(exponent, ciphertext, &mut key);
    let bits = u16::try_from(8 * to.len()).expect("shorter than a modulus");
    let mut text = *b"--message--";
    text[9..].copy_from_slice(&bits.to_be_bytes());
    for (index, block) in (0_u16..).zip(to.chunks_mut(HASH_BYTES)) {
        text[..2].copy_from_slice(&index.to_be_bytes());
        is_good &= hmac(&key, &text, &mut code);
        block.copy_from_slice(&code[..block.len()]);
    }
    is_good.then_some(())
}

/// The message at the end of `padded`, of `alternative`'s length, or `alternative`. A
/// message follows 0, 2, non-zero bytes and 0 (RFC 8017 §7.2.2); the checks of
/// lengths ensure that these are at least eight. Reads and writes the same bytes in
/// the same order whatever their values.
pub(crate) fn message_or<'p>(alternative: &[u8], padded: &'p mut [u8]) -> &'p [u8] {
    let (padding, message) = padded.split_at_mut(padded.len() - alternative.len());
    let last = padding.len() - 1;
    let mut wrong = padding[0] | (padding[1] ^ 2) | padding[last];
    for &byte in &padding[2..last] {
        wrong |= all_ones_if_zero(byte);
    }
    let keep = black_box(all_ones_if_zero(wrong));
    for (byte, other) in message.iter_mut().zip(alternative) {
        *byte = (*byte & keep) | (other & !keep);
    }
    message
}

fn all_ones_if_zero(byte: u8) -> u8 {
    (u32::from(byte).wrapping_sub(1) >> 8) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded() -> [u8; 64] {
        let mut block = [0x77; 64];
        block[..2].copy_from_slice(&[0, 2]);
        block[44] = 0;
        block[45..].copy_from_slice(b"nineteen bytes here");
        block
    }

    #[test]
    fn zero_is_told_from_all_others() {
        assert_eq!(all_ones_if_zero(0), 0xff);
        assert!((1..=255).all(|byte| all_ones_if_zero(byte) == 0));
    }

    #[test]
    fn a_message_of_that_length_comes_out_and_no_other() {
        assert_eq!(
            message_or(&[0x33; 19], &mut padded()),
            b"nineteen bytes here"
        );
        for bytes in (0..=53).filter(|&bytes| bytes != 19) {
            let alternative = vec![0x33; bytes];
            assert_eq!(message_or(&alternative, &mut padded()), alternative);
        }
    }

    #[test]
    fn every_byte_of_the_padding_counts() {
        for at in 0..45 {
            let mut block = padded();
            block[at] = if (2..44).contains(&at) { 0 } else { 1 };
            assert_eq!(message_or(&[0x33; 19], &mut block), [0x33; 19], "byte {at}");
        }
    }
}
