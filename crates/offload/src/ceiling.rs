//! Packets that nothing protects: what all of packet protection costs, and so what is to be
//! gained at most. For measuring, never for traffic.
//!
//! Nobody comes here by mistake: there is no name for it among back-ends; a tag is a number
//! that this process drew, so no other process takes its packets, nor this one another's;
//! and the socket sends to loopback addresses alone.

use quic::Suite;
use rustls::Error;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::quic::{Algorithm, HeaderProtectionKey, PacketKey, Tag};
use wire::quic::{SAMPLE_BYTES, TAG_BYTES};

use crate::mark::Mark;

pub(crate) struct Nothing(pub Suite);

impl Algorithm for Nothing {
    fn packet_key(&self, _key: AeadKey, _iv: Iv) -> Box<dyn PacketKey> {
        Box::new(Self(self.0))
    }

    fn header_protection_key(&self, _key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        Box::new(Self(self.0))
    }

    fn aead_key_len(&self) -> usize {
        self.0.key_bytes()
    }
}

impl HeaderProtectionKey for Nothing {
    fn encrypt_in_place(&self, _: &[u8], _: &mut u8, _: &mut [u8]) -> Result<(), Error> {
        Ok(())
    }

    fn decrypt_in_place(&self, _: &[u8], _: &mut u8, _: &mut [u8]) -> Result<(), Error> {
        Ok(())
    }

    fn sample_len(&self) -> usize {
        SAMPLE_BYTES
    }
}

impl PacketKey for Nothing {
    fn encrypt_in_place(&self, number: u64, _: &[u8], _: &mut [u8]) -> Result<Tag, Error> {
        Ok(Tag::from(&Mark::Unprotected.of(number)[..]))
    }

    fn decrypt_in_place<'a>(
        &self,
        number: u64,
        _: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        let (text, tag) = payload.split_last_chunk().ok_or(Error::DecryptError)?;
        match *tag == Mark::Unprotected.of(number) {
            true => Ok(text),
            false => Err(Error::DecryptError),
        }
    }

    fn tag_len(&self) -> usize {
        TAG_BYTES
    }

    fn confidentiality_limit(&self) -> u64 {
        self.0.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.0.integrity_limit()
    }
}
