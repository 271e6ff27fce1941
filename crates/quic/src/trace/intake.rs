//! What the frames of opened packets tell.

use wire::quic::transport_parameters::{Observed, parameters};
use wire::quic::{ConnectionId, Frame, frames};

use super::assembly::Assembly;
use super::connection::{Connection, Level};
use super::routes::Side;
use super::streams::{Room, Streams};
use crate::tls::{self, MESSAGE_BYTES_MAX, Said};

/// RFC 9000 §18.2.
const STATELESS_RESET_TOKEN: u64 = 2;

/// Tokens of stateless resets of one connection.
const RESET_TOKENS_MAX: usize = 256;

/// What one side said.
pub(crate) struct Spoken {
    /// The largest packet number by space.
    pub(crate) largest: [Option<u64>; 3],
    /// TLS's messages in Initial and Handshake packets, those that are not read yet.
    handshake: [(Assembly, Vec<u8>); 2],
    pub(crate) streams: Streams,
}

impl Spoken {
    pub(super) fn new(room: Room) -> Self {
        Self {
            largest: [None; 3],
            handshake: Default::default(),
            streams: Streams::new(room),
        }
    }

    /// The first message comes again, perhaps another one.
    pub(super) fn forget_hello(&mut self) {
        self.handshake[0] = Default::default();
    }
}

/// What a packet taught the observer.
#[derive(Default)]
pub(crate) struct Learnt {
    /// Ids that its sender may be reached by.
    pub(crate) ids: Vec<ConnectionId>,
    /// Packets that could not be opened may be now.
    pub(crate) has_keys: bool,
}

impl Connection<'_> {
    /// Takes in the frames of a packet, up to the first that breaks the rules.
    pub(super) fn take_in(&mut self, level: Level, from: Side, payload: &[u8]) -> Learnt {
        let mut learnt = Learnt::default();
        for frame in frames(payload) {
            match frame {
                Ok(frame) if frame.is_allowed_in(level.packet_kind()) => {
                    self.take_frame(level, from, &frame, &mut learnt);
                }
                _ => {
                    self.strange_frames += 1;
                    break;
                }
            }
        }
        learnt
    }

    fn take_frame(&mut self, level: Level, from: Side, frame: &Frame<'_>, learnt: &mut Learnt) {
        let own = &mut self.sides[from as usize];
        match *frame {
            Frame::Stream {
                stream,
                offset_bytes,
                data,
                fin,
                ..
            } => own.streams.take(stream, offset_bytes, data, fin),
            Frame::ResetStream { stream, .. } => own.streams.reset(stream),
            Frame::Crypto { offset_bytes, data } => {
                if let Some(at) = [Level::Initial, Level::Handshake]
                    .iter()
                    .position(|one| *one == level)
                {
                    self.take_handshake(at, from, offset_bytes, data, learnt);
                }
            }
            Frame::NewConnectionId {
                id, reset_token, ..
            } => {
                learnt.ids.push(id);
                self.add_reset_token(reset_token);
            }
            Frame::ConnectionClose { error, .. } => {
                self.closed.get_or_insert((from, error));
            }
            _ => {}
        }
    }

    fn add_reset_token(&mut self, token: [u8; 16]) {
        if self.reset_tokens.len() < RESET_TOKENS_MAX && !self.reset_tokens.contains(&token) {
            self.reset_tokens.push(token);
        }
    }

    fn take_handshake(
        &mut self,
        at: usize,
        from: Side,
        offset: u64,
        data: &[u8],
        learnt: &mut Learnt,
    ) {
        let (assembly, mut stream) = {
            let (assembly, stream) = &mut self.sides[from as usize].handshake[at];
            (assembly, std::mem::take(stream))
        };
        let room = MESSAGE_BYTES_MAX.saturating_sub(stream.len());
        assembly.take(offset, data, room, |more| {
            stream.extend(&more[..more.len().min(room)]);
        });
        while let Some((bytes, said)) = tls::message(&stream) {
            if let Some(said) = said {
                self.take_said(said, learnt);
            }
            stream.drain(..bytes);
        }
        self.sides[from as usize].handshake[at].1 = stream;
    }

    fn take_said(&mut self, said: Said<'_>, learnt: &mut Learnt) {
        match said {
            Said::ClientRandom(random) => {
                learnt.has_keys |= self.client_random.replace(random) != Some(random);
            }
            Said::Suite(number) => {
                learnt.has_keys |= self.suite_number.replace(number).is_none();
            }
            Said::ServerParameters(bytes) => {
                let observed = Observed::parse(bytes).unwrap_or_default();
                if let Some(address) = observed.preferred_address {
                    learnt.ids.push(address.id);
                    self.add_reset_token(address.reset_token);
                }
                let all = parameters(bytes).flatten();
                let tokens = all.filter(|one| one.id == STATELESS_RESET_TOKEN);
                for token in tokens.filter_map(|one| one.value.try_into().ok()) {
                    self.add_reset_token(token);
                }
            }
        }
    }
}
