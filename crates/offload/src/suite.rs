//! TLS cipher suites whose QUIC packets a back-end of ours protects, one by one.

use std::sync::{Arc, Mutex, PoisonError};

use crypto::{
    Backend, Data, HeaderMask, Key, KeyMaterial, Kind, Operation, Slices, Status, packet_nonce,
    process_slices,
};
use quic::Suite;
use rustls::crypto::CryptoProvider;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::quic::{Algorithm, HeaderProtectionKey, PacketKey, Tag};
use rustls::{CipherSuite, Error, SupportedCipherSuite, Tls13CipherSuite};
use wire::quic::packet_number::BYTES_MAX;
use wire::quic::{FirstByte, SAMPLE_BYTES, TAG_BYTES};
use zeroize::Zeroizing;

use crate::ceiling::Nothing;
use crate::keys::{Made, made};

const IV_BYTES: usize = 12;

/// The provider of rustls that quinn uses (ring), but for QUIC's packets: those are
/// protected by `backend`.
///
/// Suites live as long as the process, as rustls wants them; a back-end has one set.
pub fn provider(backend: &Arc<dyn Backend>) -> CryptoProvider {
    provider_of(backend.name(), |suite| {
        Box::leak(Box::new(Packets {
            suite,
            backend: backend.clone(),
        }))
    })
}

/// Of packets that nothing protects.
pub(crate) fn unprotected() -> CryptoProvider {
    provider_of("", |suite| Box::leak(Box::new(Nothing(suite))))
}

fn provider_of(
    name: &'static str,
    packets: impl Fn(Suite) -> &'static dyn Algorithm,
) -> CryptoProvider {
    static MADE: Mutex<Vec<(&str, Vec<SupportedCipherSuite>)>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let theirs = rustls::crypto::ring::default_provider();
    let known = made.iter().find(|(of, _)| *of == name);
    let cipher_suites = match known {
        Some((_, suites)) => suites.clone(),
        None => {
            let own = |one: &SupportedCipherSuite| own(*one, &packets);
            let suites: Vec<_> = theirs.cipher_suites.iter().filter_map(own).collect();
            made.push((name, suites.clone()));
            suites
        }
    };
    CryptoProvider {
        cipher_suites,
        ..theirs
    }
}

/// The suite with packets of ours; `None` of what QUIC does not use.
fn own(
    theirs: SupportedCipherSuite,
    packets: impl Fn(Suite) -> &'static dyn Algorithm,
) -> Option<SupportedCipherSuite> {
    let tls = theirs.tls13()?;
    let suite = match tls.common.suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => Suite::Aes128Gcm,
        CipherSuite::TLS13_AES_256_GCM_SHA384 => Suite::Aes256Gcm,
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => Suite::ChaCha20Poly1305,
        _ => return None,
    };
    let own = Box::leak(Box::new(Tls13CipherSuite {
        common: rustls::crypto::CipherSuiteCommon {
            suite: tls.common.suite,
            hash_provider: tls.common.hash_provider,
            confidentiality_limit: tls.common.confidentiality_limit,
        },
        hkdf_provider: tls.hkdf_provider,
        aead_alg: tls.aead_alg,
        quic: Some(packets(suite)),
    }));
    Some(SupportedCipherSuite::Tls13(own))
}

struct Packets {
    suite: Suite,
    backend: Arc<dyn Backend>,
}

impl Algorithm for Packets {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey> {
        let mut bytes = Zeroizing::new(key.as_ref().to_vec());
        let mut own_iv = [0; IV_BYTES];
        own_iv.copy_from_slice(iv.as_ref());
        made(|| Made::Packet {
            suite: self.suite,
            backend: self.backend.clone(),
            key: bytes.clone(),
            iv: own_iv,
        });
        let material = KeyMaterial::take(&mut bytes);
        let key = self.backend.key(self.suite.algorithm(), &material);
        Box::new(Inline {
            suite: self.suite,
            backend: self.backend.clone(),
            key: Mutex::new(key.expect("rustls asks how long a key is")),
            iv: own_iv,
        })
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        made(|| Made::Header(Zeroizing::new(key.as_ref().to_vec())));
        let mask = HeaderMask::new(self.suite.algorithm(), key.as_ref());
        Box::new(Header(mask.expect("rustls asks how long a key is")))
    }

    fn aead_key_len(&self) -> usize {
        self.suite.key_bytes()
    }
}

/// A packet's key, for one packet after the other.
struct Inline {
    suite: Suite,
    backend: Arc<dyn Backend>,
    /// Never contended: a connection does one packet at a time.
    key: Mutex<Box<dyn Key>>,
    iv: [u8; IV_BYTES],
}

impl Inline {
    fn run(
        &self,
        operation: Operation,
        number: u64,
        header: &[u8],
        text: &mut [u8],
        tag: &mut [u8],
    ) -> Status {
        let kind = Kind::new(self.suite.algorithm(), operation);
        let key = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        let slices = Slices {
            iv: packet_nonce(&self.iv, number),
            aad: header,
            data: Data::InPlace(text),
            tag,
        };
        process_slices(&*self.backend, &**key, kind, slices)
    }
}

impl PacketKey for Inline {
    fn encrypt_in_place(
        &self,
        number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error> {
        let mut tag = [0; TAG_BYTES];
        match self.run(Operation::Encrypt, number, header, payload, &mut tag) {
            Status::Ok => Ok(Tag::from(&tag[..])),
            _ => Err(Error::EncryptError),
        }
    }

    fn decrypt_in_place<'a>(
        &self,
        number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        let bytes = payload.len().checked_sub(TAG_BYTES);
        let (text, tag) = payload.split_at_mut(bytes.ok_or(Error::DecryptError)?);
        match self.run(Operation::Decrypt, number, header, text, tag) {
            Status::Ok => Ok(text),
            _ => Err(Error::DecryptError),
        }
    }

    fn tag_len(&self) -> usize {
        TAG_BYTES
    }

    fn confidentiality_limit(&self) -> u64 {
        self.suite.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.suite.integrity_limit()
    }
}

struct Header(HeaderMask);

impl Header {
    fn mask(&self, sample: &[u8], number: &[u8]) -> Result<[u8; 5], Error> {
        let sample: Result<&[u8; SAMPLE_BYTES], _> = sample.try_into();
        let sample = sample.map_err(|_| Error::General("a sample has 16 bytes".into()))?;
        match number.len() <= BYTES_MAX {
            true => Ok(self.0.mask(sample)),
            false => Err(Error::General("a packet number has up to 4 bytes".into())),
        }
    }
}

impl HeaderProtectionKey for Header {
    fn encrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        number: &mut [u8],
    ) -> Result<(), Error> {
        let mask = self.mask(sample, number)?;
        apply(mask, number, FirstByte(*first));
        *first = FirstByte(*first).masked(mask[0]).0;
        Ok(())
    }

    fn decrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        number: &mut [u8],
    ) -> Result<(), Error> {
        let mask = self.mask(sample, number)?;
        let shown = FirstByte(*first).masked(mask[0]);
        apply(mask, number, shown);
        *first = shown.0;
        Ok(())
    }

    fn sample_len(&self) -> usize {
        SAMPLE_BYTES
    }
}

/// Masks as many bytes of the number as the first byte, shown, says (RFC 9001 §5.4.1).
fn apply(mask: [u8; 5], number: &mut [u8], first: FirstByte) {
    let bytes = first.packet_number_bytes();
    for (byte, mask) in number.iter_mut().take(bytes).zip(&mask[1..]) {
        *byte ^= mask;
    }
}
