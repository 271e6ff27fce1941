//! `ring`, called directly in a loop over slots like a lane's.

use crypto::{Algorithm, Kind, Operation, Workload};
use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::{digest, hmac};

use kit::load::alone::{Alone, AloneError, Slice, alone};

/// What it does with a slot.
enum Call {
    Seal(Box<LessSafeKey>),
    Digest(&'static digest::Algorithm),
    Authenticate(hmac::Key),
}

/// Whether it has that kind in a form that one may call for blocks.
pub(super) fn knows(kind: Kind) -> bool {
    let is_there = cipher(kind).is_some() || hash(kind).is_some();
    (is_there || kind.algorithm == Algorithm::HmacSha256) && kind.operation != Operation::Decrypt
}

fn cipher(kind: Kind) -> Option<&'static aead::Algorithm> {
    match kind.algorithm {
        Algorithm::Aes128Gcm => Some(&aead::AES_128_GCM),
        Algorithm::Aes256Gcm => Some(&aead::AES_256_GCM),
        Algorithm::ChaCha20Poly1305 => Some(&aead::CHACHA20_POLY1305),
        _ => None,
    }
}

fn hash(kind: Kind) -> Option<&'static digest::Algorithm> {
    match kind.algorithm {
        Algorithm::Sha1 => Some(&digest::SHA1_FOR_LEGACY_USE_ONLY),
        Algorithm::Sha256 => Some(&digest::SHA256),
        Algorithm::Sha384 => Some(&digest::SHA384),
        Algorithm::Sha512 => Some(&digest::SHA512),
        _ => None,
    }
}

fn call(workload: &Workload) -> Result<Call, AloneError> {
    let key = workload.material.expose();
    if let Some(cipher) = cipher(workload.kind) {
        let key = UnboundKey::new(cipher, key).map_err(|_| AloneError::Refused("ring"))?;
        return Ok(Call::Seal(Box::new(LessSafeKey::new(key))));
    }
    match hash(workload.kind) {
        Some(hash) => Ok(Call::Digest(hash)),
        None => Ok(Call::Authenticate(hmac::Key::new(hmac::HMAC_SHA256, key))),
    }
}

/// A trial with this many slots on that CPU.
pub(super) fn trial(
    workload: &Workload,
    slots: usize,
    cpu: usize,
    slice: Slice<'_>,
) -> Result<Alone, AloneError> {
    alone(cpu, slice, || {
        let mut ring = RingLoop::new(workload, slots)?;
        Ok(move || ring.pass())
    })
}

struct RingLoop<'a> {
    call: Call,
    workload: &'a Workload,
    memory: Vec<u8>,
    /// Where in `memory` the first slot begins: on a cache line, as a lane's.
    begin: usize,
    slots: usize,
    count: u64,
}

impl<'a> RingLoop<'a> {
    fn new(workload: &'a Workload, slots: usize) -> Result<Self, AloneError> {
        let stride = workload.slot.stride;
        let mut memory = vec![0; slots * stride + 64];
        let begin = memory.as_ptr().align_offset(64).min(64);
        for slot in memory[begin..].chunks_exact_mut(stride).take(slots) {
            slot[..workload.input.len()].copy_from_slice(&workload.input);
        }
        Ok(Self {
            call: call(workload)?,
            workload,
            memory,
            begin,
            slots,
            count: 0,
        })
    }

    /// Every slot once; how many requests that were.
    fn pass(&mut self) -> Result<f64, AloneError> {
        let layout = self.workload.slot;
        let slots = self.memory[self.begin..].chunks_exact_mut(layout.stride);
        for slot in slots.take(self.slots) {
            self.count += 1;
            let (data, rest) = slot.split_at_mut(layout.source.1);
            let mut put = |at: usize, bytes: &[u8]| {
                rest[at - data.len()..][..bytes.len()].copy_from_slice(bytes);
            };
            match &self.call {
                Call::Digest(hash) => {
                    put(layout.destination.0, digest::digest(hash, data).as_ref())
                }
                Call::Authenticate(key) => {
                    put(layout.destination.0, hmac::sign(key, data).as_ref())
                }
                Call::Seal(key) => {
                    let mut nonce = [0; 12];
                    nonce[..8].copy_from_slice(&self.count.to_le_bytes());
                    let nonce = Nonce::assume_unique_for_key(nonce);
                    let tag = key.seal_in_place_separate_tag(nonce, Aad::empty(), data);
                    let tag = tag.map_err(|_| AloneError::Refused("ring"))?;
                    rest[layout.tag.0 - layout.source.1..][..16].copy_from_slice(tag.as_ref());
                }
            }
        }
        Ok(self.slots as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last of three slots after a pass, with its workload.
    fn passed(name: &str, bytes: usize) -> (Workload, Vec<u8>) {
        let backend = crypto::by_name("aws-lc").unwrap();
        let kind = Kind::from(name.parse::<Algorithm>().unwrap());
        assert!(knows(kind), "{name}");
        let workload = Workload::new(&backend, kind, bytes).unwrap();
        let mut ring = RingLoop::new(&workload, 3).unwrap();
        assert_eq!(ring.pass().unwrap(), 3.0);
        let last = ring.begin + 2 * workload.slot.stride;
        let slot = ring.memory[last..][..workload.slot.stride].to_vec();
        (workload, slot)
    }

    #[test]
    fn a_pass_hashes_every_slot_as_the_back_end_does() {
        let backend = crypto::by_name("aws-lc").unwrap();
        for name in ["sha1", "sha256", "sha384", "sha512", "hmac-sha256"] {
            let (workload, slot) = passed(name, 1000);
            let kind = workload.kind;
            let mut expected = vec![0; kind.algorithm.digest_bytes()];
            let key = backend.key(kind.algorithm, &workload.material).unwrap();
            let slices = crypto::Slices::plain(crypto::Data::apart(&workload.input, &mut expected));
            let status = crypto::process_slices(&*backend, &*key, kind, slices);
            assert_eq!(status, crypto::Status::Ok);
            let (at, len) = workload.slot.destination;
            assert_eq!(&slot[at..at + len], expected, "{name}");
        }
    }

    #[test]
    fn a_pass_seals_every_slot() {
        for name in ["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"] {
            let (workload, slot) = passed(name, 64);
            assert_ne!(&slot[..64], &workload.input[..]);
            assert_ne!(&slot[workload.slot.tag.0..][..16], &[0; 16]);
        }
    }
}
