//! The keys of a connection's 1-RTT packets, as quinn uses them.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::BytesMut;
use crypto::{
    Algorithm, Backend, Key, KeyMaterial, Operation, PacketSlices, Status, process_packets,
};
use quic::Suite;
use quinn::crypto::{CryptoError, HeaderKey, PacketKey};
use zeroize::Zeroizing;

use crate::counters::Counters;
use crate::drive::{self, Unsealed};

/// What a suite of ours made a key of, in the order of the making.
pub(crate) enum Made {
    Header(Zeroizing<Vec<u8>>),
    Packet {
        suite: Suite,
        backend: Arc<dyn Backend>,
        key: Zeroizing<Vec<u8>>,
        iv: [u8; 12],
    },
}

thread_local! {
    static MADE: RefCell<Option<Vec<Made>>> = const { RefCell::new(None) };
}

/// Runs what makes keys, and says what of.
pub(crate) fn watched<T>(make: impl FnOnce() -> T) -> (T, Vec<Made>) {
    MADE.set(Some(Vec::new()));
    let result = make();
    (result, MADE.take().unwrap_or_default())
}

/// A suite makes a key: only whoever [watches](watched) learns of it.
pub(crate) fn made(what: impl FnOnce() -> Made) {
    MADE.with_borrow_mut(|all| {
        if let Some(all) = all {
            all.push(what());
        }
    });
}

/// Packets that a back-end did not seal: none of their datagrams leaves. For the connection
/// they are lost, as datagrams may be; where all are, it times out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotSealed {
    pub packets: usize,
}

/// The keys of one side, as far as they are known.
pub(crate) struct Side {
    header: Zeroizing<Vec<u8>>,
}

/// What all packets of one side are sealed with in one key phase, together.
pub(crate) struct SealKey {
    pub suite: Suite,
    pub backend: Arc<dyn Backend>,
    /// Contended only where a connection moves from thread to thread.
    key: Mutex<Box<dyn Key>>,
    /// One more than the largest number that was used.
    next: AtomicU64,
}

impl SealKey {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Box<dyn Key>> {
        self.key.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seals packets.
    ///
    /// # Errors
    /// [`NotSealed`]; such packets are zeros.
    pub(crate) fn seal(&self, packets: &mut [PacketSlices<'_>]) -> Result<(), NotSealed> {
        let suite = self.suite.packets();
        process_packets(&*self.backend, suite, Operation::Encrypt, packets);
        let failed = packets.iter().filter(|one| one.status != Status::Ok);
        match failed.count() {
            0 => Ok(()),
            packets => Err(NotSealed { packets }),
        }
    }

    /// Uses a number up: no nonce is used twice.
    ///
    /// # Panics
    /// When the number was used: quinn counts them up.
    fn take(&self, number: u64) {
        let next = self.next.load(Ordering::Relaxed);
        assert!(number >= next, "packet number {number} was used before");
        self.next.store(number + 1, Ordering::Relaxed);
    }
}

/// The keys of one phase of a side.
pub(crate) struct PhaseKeys {
    pub suite: Suite,
    pub backend: Arc<dyn Backend>,
    pub material: KeyMaterial,
}

impl Side {
    /// From what was made for both sides: the header's key, then the packet's, of the
    /// local side, then of the other.
    pub(crate) fn both(made: Vec<Made>) -> Option<[(Self, PhaseKeys); 2]> {
        let mut made = made.into_iter();
        let mut next = || match (made.next(), made.next()) {
            (Some(Made::Header(header)), Some(packet)) => {
                let side = Self { header };
                let keys = side.phase(packet)?;
                Some((side, keys))
            }
            _ => None,
        };
        let both = [next()?, next()?];
        made.next().is_none().then_some(both)
    }

    /// From what was made for another phase.
    pub(crate) fn phase(&self, made: Made) -> Option<PhaseKeys> {
        let Made::Packet {
            suite,
            backend,
            key,
            iv,
        } = made
        else {
            return None;
        };
        let material = suite.packets().material(&self.header, &key, &iv);
        Some(PhaseKeys {
            suite,
            backend,
            material,
        })
    }
}

impl PhaseKeys {
    pub(crate) fn seal(self) -> Option<Arc<SealKey>> {
        let Self {
            suite,
            backend,
            material,
        } = self;
        let key = backend.key(Algorithm::Packets(suite.packets()), &material);
        Some(Arc::new(SealKey {
            suite,
            key: Mutex::new(key.ok()?),
            backend,
            next: AtomicU64::new(0),
        }))
    }
}

/// Seals the packets of one key phase: later, together, where it may.
pub(crate) struct Sealing {
    pub inline: Box<dyn PacketKey>,
    pub together: Arc<SealKey>,
    pub counters: Arc<Counters>,
}

impl PacketKey for Sealing {
    fn encrypt(&self, number: u64, packet: &mut [u8], header_bytes: usize) {
        self.together.take(number);
        let unsealed = Unsealed {
            number,
            number_at: 0,
            bytes: packet.len(),
        };
        if drive::leave(&self.together, unsealed) {
            let tag = packet
                .last_chunk_mut()
                .expect("quinn leaves room for a tag");
            *tag = unsealed.mark();
        } else {
            self.inline.encrypt(number, packet, header_bytes);
            self.counters.sealed_alone.add(1);
        }
    }

    fn decrypt(
        &self,
        number: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.inline.decrypt(number, header, payload)
    }

    fn tag_len(&self) -> usize {
        self.inline.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.inline.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.inline.integrity_limit()
    }
}

/// Hides the headers of packets that are sealed at once.
pub(crate) struct Hiding(pub Box<dyn HeaderKey>);

impl HeaderKey for Hiding {
    fn decrypt(&self, number_at: usize, packet: &mut [u8]) {
        self.0.decrypt(number_at, packet);
    }

    fn encrypt(&self, number_at: usize, packet: &mut [u8]) {
        if !drive::place(number_at) {
            self.0.encrypt(number_at, packet);
        }
    }

    fn sample_size(&self) -> usize {
        self.0.sample_size()
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use quic::{Protocol, Secret};

    use super::*;

    /// Of AES-128-GCM.
    pub(crate) fn seal_key(secret: &Secret) -> Arc<SealKey> {
        keys(secret).seal().expect("kernels have the suite")
    }

    /// As [`seal_key`], whose back-end refuses every packet: the key is another's.
    pub(crate) fn failing_key(secret: &Secret) -> Arc<SealKey> {
        let own = keys(secret).seal().expect("kernels have the suite");
        let mut own = Arc::into_inner(own).expect("nobody else has it");
        own.backend = crypto::by_name("aws-lc").expect("it is on every host");
        Arc::new(own)
    }

    fn keys(secret: &Secret) -> PhaseKeys {
        let suite = Suite::Aes128Gcm;
        PhaseKeys {
            suite,
            backend: crypto::by_name("kernels").expect("it is on every host"),
            material: Protocol::V1.packets_key(suite, secret, secret),
        }
    }
}
