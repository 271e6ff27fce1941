//! What stands in for a message of PKCS#1 v1.5 that is not there, computed once
//! more: draft-irtf-cfrg-rsa-guidance-10 §7.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::rsa_key;

pub struct Rejection {
    pub key: Vec<u8>,
    modulus_bytes: usize,
}

impl Rejection {
    pub fn new(pkcs8: &[u8], ciphertext: &[u8]) -> Self {
        let [modulus, exponent] = rsa_key::numbers(pkcs8);
        Self {
            key: hmac(&Sha256::digest(exponent), ciphertext),
            modulus_bytes: modulus.len(),
        }
    }

    pub fn of(&self, bytes: usize) -> Vec<u8> {
        self.prf("message", bytes)
    }

    /// The draft's, whose length is the last of 128 candidates that fits.
    pub fn of_the_draft(&self) -> Vec<u8> {
        let most = self.modulus_bytes - 11;
        let mask = most.next_power_of_two() - 1;
        let candidates = self.prf("length", 256);
        let bytes = candidates
            .chunks_exact(2)
            .map(|pair| usize::from(u16::from_be_bytes([pair[0], pair[1]])) & mask)
            .rfind(|&bytes| bytes <= most)
            .unwrap_or(0);
        self.prf("message", self.modulus_bytes)[self.modulus_bytes - bytes..].to_vec()
    }

    fn prf(&self, label: &str, bytes: usize) -> Vec<u8> {
        let bits = (8 * bytes as u16).to_be_bytes();
        let block = |index: u16| {
            let text = [&index.to_be_bytes(), label.as_bytes(), &bits].concat();
            hmac(&self.key, &text)
        };
        (0..).flat_map(block).take(bytes).collect()
    }
}

fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let keyed = Hmac::<Sha256>::new_from_slice(key).expect("any length");
    keyed.chain_update(text).finalize().into_bytes().to_vec()
}
