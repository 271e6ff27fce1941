//! quinn's TLS sessions, with keys of ours for 1-RTT packets.

use std::any::Any;
use std::sync::Arc;

use quinn::crypto::{
    ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig,
    Session, UnsupportedVersion,
};
use quinn::{ConnectError, ConnectionId, Side as End};
use quinn_proto::TransportError;
use quinn_proto::transport_parameters::TransportParameters;

use crate::keys::{Hiding, Made, SealKey, Sealing, Side, watched};
use crate::receive::{Opening, Receiver, Receiving, Showing};

/// A server's TLS, whose 1-RTT packets are sealed and opened together.
pub(crate) struct Server {
    pub tls: Arc<dyn ServerConfig>,
    pub receiving: Arc<Receiving>,
}

impl ServerConfig for Server {
    fn initial_keys(&self, version: u32, id: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.tls.initial_keys(version, id)
    }

    fn retry_tag(&self, version: u32, id: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.tls.retry_tag(version, id, packet)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        parameters: &TransportParameters,
    ) -> Box<dyn Session> {
        let inner = self.tls.clone().start_session(version, parameters);
        Box::new(Watched::new(inner, &self.receiving))
    }
}

/// A client's.
pub(crate) struct Client {
    pub tls: Arc<dyn ClientConfig>,
    pub receiving: Arc<Receiving>,
}

impl ClientConfig for Client {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let tls = self.tls.clone();
        let inner = tls.start_session(version, server, parameters)?;
        Ok(Box::new(Watched::new(inner, &self.receiving)))
    }
}

/// A session whose keys are watched as they are made.
struct Watched {
    inner: Box<dyn Session>,
    receiving: Arc<Receiving>,
    /// Handshake keys were made: the next are those of 1-RTT packets.
    has_handshake_keys: bool,
    /// `None` before there are 1-RTT keys, and where these are not of a suite of ours.
    sides: Option<Sides>,
}

struct Sides {
    local: Side,
    remote: Side,
    receiver: Arc<Receiver>,
    /// Of the keys that were made last.
    phase: u16,
}

impl Watched {
    fn new(inner: Box<dyn Session>, receiving: &Arc<Receiving>) -> Self {
        Self {
            inner,
            receiving: receiving.clone(),
            has_handshake_keys: false,
            sides: None,
        }
    }

    fn sealed(&self, inline: Box<dyn PacketKey>, together: Arc<SealKey>) -> Box<dyn PacketKey> {
        let counters = self.receiving.counters.clone();
        Box::new(Sealing {
            inline,
            together,
            counters,
        })
    }

    /// Keys of 1-RTT packets, ours where they can be.
    fn own(&mut self, keys: Keys, made: Vec<Made>) -> Keys {
        let Some([(local, sealing), (remote, opening)]) = Side::both(made) else {
            return keys;
        };
        let receiver = Receiver::new(&self.receiving, opening.suite, &opening.material);
        let (Some(receiver), Some(together)) = (receiver, sealing.seal()) else {
            return keys;
        };
        let packet = KeyPair {
            local: self.sealed(keys.packet.local, together),
            remote: opened(keys.packet.remote, &receiver, 0),
        };
        self.sides = Some(Sides {
            local,
            remote,
            receiver,
            phase: 0,
        });
        Keys {
            header: KeyPair {
                local: Box::new(Hiding(keys.header.local)),
                remote: Box::new(Showing(keys.header.remote)),
            },
            packet,
        }
    }
}

fn opened(inline: Box<dyn PacketKey>, receiver: &Arc<Receiver>, phase: u16) -> Box<dyn PacketKey> {
    Box::new(Opening {
        inline,
        receiver: receiver.clone(),
        phase,
    })
}

impl Session for Watched {
    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        let (keys, made) = watched(|| self.inner.write_handshake(out));
        let keys = keys?;
        if !std::mem::replace(&mut self.has_handshake_keys, true) {
            return Some(keys);
        }
        Some(self.own(keys, made))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let (keys, made) = watched(|| self.inner.next_1rtt_keys());
        let mut keys = keys?;
        // Taken out: what makes keys asks for the counters beside it.
        let Some(mut sides) = self.sides.take() else {
            return Some(keys);
        };
        sides.phase = sides.phase.wrapping_add(1);
        let mut made = made.into_iter();
        let (local, remote) = (made.next(), made.next());
        if let Some(keys_made) = local.and_then(|made| sides.local.phase(made))
            && let Some(together) = keys_made.seal()
        {
            keys.local = self.sealed(keys.local, together);
        }
        if let Some(keys_made) = remote.and_then(|made| sides.remote.phase(made)) {
            sides.receiver.later(keys_made.material);
            keys.remote = opened(keys.remote, &sides.receiver, sides.phase);
        }
        self.sides = Some(sides);
        Some(keys)
    }

    fn initial_keys(&self, id: &ConnectionId, end: End) -> Keys {
        self.inner.initial_keys(id, end)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(bytes)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn is_valid_retry(&self, id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(id, header, payload)
    }

    fn export_keying_material(
        &self,
        out: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(out, label, context)
    }
}
