//! Who sends: every phase's keys, one packet after the other.

use std::cell::RefCell;

use crypto::{Backend, Key, KeyMaterial};
use lockgate_quic::protection::{HeaderKey, PacketKey, TAG_BYTES};
use lockgate_quic::{Protocol, Secret, Suite};

use crate::packets::Random;

pub(crate) struct Peer {
    pub(crate) protocol: Protocol,
    pub(crate) suite: Suite,
    pub(crate) header: HeaderKey,
    secrets: RefCell<Vec<Secret>>,
}

/// What is sealed in a packet.
pub(crate) const PAYLOAD: [u8; 32] = *b"nobody but the peer may see this";

impl Peer {
    pub(crate) fn new(suite: Suite, random: &mut Random) -> Self {
        let protocol = [Protocol::V1, Protocol::V2][random.below(2)];
        let first = Secret::new(random.bytes(suite.secret_bytes()));
        Self {
            protocol,
            suite,
            header: HeaderKey::derive(protocol, suite, &first),
            secrets: RefCell::new(vec![first]),
        }
    }

    pub(crate) fn fixed() -> Self {
        Self::new(Suite::Aes128Gcm, &mut Random(0x1234_5678_9abc_def1))
    }

    pub(crate) fn secret(&self, phase: usize) -> Secret {
        let mut secrets = self.secrets.borrow_mut();
        while secrets.len() <= phase {
            let last = secrets.last().expect("the first is there");
            let next = self.protocol.next_secret(self.suite, last);
            secrets.push(next);
        }
        secrets[phase].clone()
    }

    pub(crate) fn material(&self, phase: usize) -> KeyMaterial {
        let secret = self.secret(phase);
        self.protocol
            .packets_key(self.suite, &self.secret(0), &secret)
    }

    pub(crate) fn key(&self, backend: &dyn Backend, phase: usize) -> Box<dyn Key> {
        let algorithm = crypto::Algorithm::Packets(self.suite.packets());
        backend.key(algorithm, &self.material(phase)).unwrap()
    }

    pub(crate) fn alone<'b>(&self, backend: &'b dyn Backend, phase: usize) -> PacketKey<'b> {
        let secret = self.secret(phase);
        PacketKey::derive(backend, self.protocol, self.suite, &secret).unwrap()
    }

    /// A header as it is before it is hidden.
    pub(crate) fn header(id: &[u8], number: u64, bytes: usize, phase: usize) -> Vec<u8> {
        let first = 0x40 | (phase as u8 & 1) << 2 | (bytes as u8 - 1);
        [&[first], id, &number.to_be_bytes()[8 - bytes..]].concat()
    }

    pub(crate) fn sealed(&self, mut packet: Vec<u8>, id: &[u8], at: (u64, usize)) -> Vec<u8> {
        let portable = super::portable();
        packet.extend([0; TAG_BYTES]);
        let key = self.alone(&*portable, at.1);
        key.seal(&self.header, &mut packet, 1 + id.len(), at.0)
            .unwrap();
        packet
    }

    pub(crate) fn packet(&self, id: &[u8], number: u64, bytes: usize, phase: usize) -> Vec<u8> {
        let header = Self::header(id, number, bytes, phase);
        self.sealed([&header[..], &PAYLOAD].concat(), id, (number, phase))
    }

    /// To an id of one byte, the number in four.
    pub(crate) fn short(&self, id: u8, number: u64, phase: usize) -> Vec<u8> {
        self.packet(&[id], number, 4, phase)
    }
}
