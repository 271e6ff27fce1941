//! Key agreement: X25519, and finite-field DH in the groups of RFC 7919.

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

use super::compute::Private;
use super::groups;
use crate::{FfdhGroup, Status};

/// The secret shared with `peer`, 32 bytes.
///
/// # Errors
/// [`Status::InvalidInput`] for a point of small order (RFC 7748 §6.1).
pub(super) fn x25519(own: &StaticSecret, peer: &[u8]) -> Result<Private, Status> {
    let peer: [u8; 32] = peer.try_into().expect("the checks gave it 32 bytes");
    let shared = own.diffie_hellman(&PublicKey::from(peer));
    if shared.was_contributory() {
        Ok(shared.as_bytes().to_vec().into())
    } else {
        Err(Status::InvalidInput)
    }
}

pub(super) struct FfdhKey {
    params: BoxedMontyParams,
    exponent: Zeroizing<BoxedUint>,
}

impl FfdhKey {
    /// `exponent` is big-endian.
    pub fn new(group: FfdhGroup, exponent: &[u8]) -> Self {
        let prime = groups::prime(group);
        let bits = u32::try_from(4 * prime.len()).expect("at most 4096");
        let prime = BoxedUint::from_be_hex(&prime, bits).expect("the digits are hexadecimal");
        let prime = Odd::new(prime).expect("these primes are odd");
        Self {
            params: BoxedMontyParams::new(prime),
            exponent: Zeroizing::new(BoxedUint::from_be_slice_vartime(exponent)),
        }
    }

    /// The secret shared with `peer`, as long as the prime.
    ///
    /// # Errors
    /// [`Status::InvalidInput`] unless 2 ≤ peer ≤ p − 2 (RFC 7919 §5.1; the
    /// other values have order 1 or 2), and for a secret outside these bounds
    /// (SP 800-56A §5.7.1.1), which no good key gives.
    pub fn derive(&self, peer: &[u8]) -> Result<Private, Status> {
        let prime: &BoxedUint = self.params.modulus().as_ref();
        let bits = prime.bits_precision();
        let peer = BoxedUint::from_be_slice(peer, bits).expect("as long as the prime");
        let one = BoxedUint::one_with_precision(bits);
        let most = prime.wrapping_sub(&one).wrapping_sub(&one);
        let within = |value: &BoxedUint| *value > one && *value <= most;
        if !within(&peer) {
            return Err(Status::InvalidInput);
        }
        let power = BoxedMontyForm::new(peer, &self.params).pow(&self.exponent);
        let secret = power.retrieve();
        if within(&secret) {
            Ok(secret.to_be_bytes().into_vec().into())
        } else {
            Err(Status::InvalidInput)
        }
    }
}
