//! What is known of one connection, and how its packets are opened.

use std::collections::BTreeMap;

use crypto::Backend;
use wire::quic::{ConnectionId, PacketKind};

use super::intake::{Learnt, Spoken};
use super::protector::{Protector, Sealed, Shown};
use super::reason::Reason;
use super::routes::{Path, Side};
use super::streams::Room;
use crate::capture::{KeyLog, Label};
use crate::protection::OpenError;
use crate::tls::RANDOM_BYTES;
use crate::{Protocol, Suite};

/// Ids that Initial keys are made by: the client's first, and those of Retry packets.
const ORIGINS_MAX: usize = 4;

/// Levels of secrets (RFC 9001 §4.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Initial,
    Early,
    Handshake,
    Application,
}

impl Level {
    /// Packet number spaces (RFC 9000 §12.3).
    pub(crate) fn space(self) -> usize {
        match self {
            Self::Initial => 0,
            Self::Handshake => 1,
            Self::Early | Self::Application => 2,
        }
    }

    pub(crate) fn packet_kind(self) -> PacketKind {
        match self {
            Self::Initial => PacketKind::Initial,
            Self::Early => PacketKind::ZeroRtt,
            Self::Handshake => PacketKind::Handshake,
            Self::Application => PacketKind::OneRtt,
        }
    }

    fn label(self, from: Side) -> Option<Label> {
        Some(match (self, from) {
            (Self::Early, Side::Client) => Label::ClientEarly,
            (Self::Handshake, Side::Client) => Label::ClientHandshake,
            (Self::Handshake, Side::Server) => Label::ServerHandshake,
            (Self::Application, Side::Client) => Label::ClientTraffic,
            (Self::Application, Side::Server) => Label::ServerTraffic,
            (Self::Initial, _) | (Self::Early, Side::Server) => return None,
        })
    }
}

/// Keys of Initial packets, which whoever sees the first one can make.
struct InitialKeys<'b> {
    version: Protocol,
    origin: ConnectionId,
    sides: [Protector<'b>; 2],
}

impl<'b> InitialKeys<'b> {
    fn new(backend: &'b dyn Backend, version: Protocol, origin: ConnectionId) -> Option<Self> {
        let secrets = version.initial_secrets(origin.bytes());
        let [client, server] =
            secrets.map(|secret| Protector::new(backend, version, Suite::Aes128Gcm, &secret));
        Some(Self {
            version,
            origin,
            sides: [client?, server?],
        })
    }
}

pub(crate) struct Connection<'b> {
    backend: &'b dyn Backend,
    /// From client to server, at first.
    pub(crate) path: Option<Path>,
    /// Of the ids that client and server were last told to be reached by.
    pub(crate) id_bytes: [usize; 2],
    /// That the two agreed on, as far as is known.
    pub(crate) version: Protocol,
    origins: Vec<ConnectionId>,
    initial: Vec<InitialKeys<'b>>,
    pub(crate) client_random: Option<[u8; RANDOM_BYTES]>,
    /// As the server chose, by its number.
    pub(crate) suite_number: Option<u16>,
    later: BTreeMap<(Side, Level), Protector<'b>>,
    pub(crate) sides: [Spoken; 2],
    /// Tokens that say that a packet is a stateless reset (RFC 9000 §10.3).
    pub(crate) reset_tokens: Vec<[u8; 16]>,
    pub(crate) closed: Option<(Side, u64)>,
    pub(crate) strange_frames: u64,
}

impl<'b> Connection<'b> {
    pub(crate) fn new(
        backend: &'b dyn Backend,
        version: Protocol,
        origin: ConnectionId,
        room: &Room,
    ) -> Self {
        Self {
            backend,
            path: None,
            id_bytes: [0; 2],
            version,
            origins: vec![origin],
            initial: Vec::new(),
            client_random: None,
            suite_number: None,
            later: BTreeMap::new(),
            sides: Side::ALL.map(|_| Spoken::new(room.clone())),
            reset_tokens: Vec::new(),
            closed: None,
            strange_frames: 0,
        }
    }

    /// The client sends its Initial packets there from now on, with keys made by it.
    pub(crate) fn retried(&mut self, to: ConnectionId) {
        if !self.origins.contains(&to) && self.origins.len() < ORIGINS_MAX {
            self.origins.push(to);
            // Some clients begin their handshake anew, though they must not (RFC 9000
            // §17.2.5.2).
            self.begins_again();
        }
    }

    /// The client's first message comes again, perhaps another one: unless the server has
    /// answered it.
    pub(crate) fn begins_again(&mut self) {
        if self.sides[Side::Server as usize].largest == [None; 3] {
            self.sides[Side::Client as usize].forget_hello();
        }
    }

    pub(crate) fn origins(&self) -> &[ConnectionId] {
        &self.origins
    }

    /// Whether a packet that does not open is a stateless reset.
    pub(crate) fn is_reset_by(&self, packet: &[u8]) -> bool {
        let token = packet.last_chunk();
        token.is_some_and(|token| self.reset_tokens.contains(token))
    }

    /// Of packets that opened; else as the server chose.
    pub(crate) fn suite(&self) -> Option<Suite> {
        let used = self.later.values().next().map(Protector::suite);
        used.or(self.suite_number.and_then(Suite::from_number))
    }

    /// Key updates that a side made.
    pub(crate) fn key_updates(&self, from: Side) -> u64 {
        let own = self.later.get(&(from, Level::Application));
        own.map_or(0, Protector::phase)
    }

    /// Opens a packet and takes in its frames.
    ///
    /// # Errors
    /// Why it is not open.
    pub(crate) fn open(
        &mut self,
        keys: &KeyLog,
        version: Protocol,
        (level, from): (Level, Side),
        sealed: &Sealed<'_>,
    ) -> Result<Learnt, Reason> {
        let mut payload = Vec::new();
        let largest = self.sides[from as usize].largest[level.space()];
        let shown = if level == Level::Initial {
            self.open_initial(version, from, sealed, largest, &mut payload)?
        } else {
            let key = (from, level);
            if !self.later.contains_key(&key) {
                self.start(keys, version, key, sealed, largest)?;
            }
            let own = self
                .later
                .get_mut(&key)
                .expect("it is there, or was put there");
            own.open(sealed, largest, &mut payload).map_err(reason)?
        };
        let largest = &mut self.sides[from as usize].largest[level.space()];
        *largest = (*largest).max(Some(shown.number));
        if from == Side::Server && shown.first.is_long() {
            // What the server answers with is what they agreed on (RFC 9368 §2).
            self.version = version;
        }
        Ok(self.take_in(level, from, &payload))
    }

    fn open_initial(
        &mut self,
        version: Protocol,
        from: Side,
        sealed: &Sealed<'_>,
        largest: Option<u64>,
        payload: &mut Vec<u8>,
    ) -> Result<Shown, Reason> {
        let mut failed = Reason::Authentication;
        // Some go on with the keys of the version that they came with, though they agreed
        // on another (RFC 9369 §4.1). And the latest origin first: a client goes on with
        // what a Retry packet gave it.
        let versions = [version, version.other()].into_iter();
        let origins = self.origins.iter().rev();
        let all = versions.flat_map(|version| origins.clone().map(move |own| (version, own)));
        for (version, origin) in all {
            let is_it = |one: &InitialKeys<'b>| one.version == version && one.origin == *origin;
            let at = match self.initial.iter().position(is_it) {
                Some(at) => at,
                None => {
                    let made = InitialKeys::new(self.backend, version, *origin);
                    self.initial.push(made.ok_or(Reason::Backend)?);
                    self.initial.len() - 1
                }
            };
            let own = &mut self.initial[at].sides[from as usize];
            match own.open(sealed, largest, payload) {
                Ok(shown) => return Ok(shown),
                // The tag matches: no other key opens it.
                Err(OpenError::ReservedBits) => return Err(Reason::ReservedBits),
                Err(error) => failed = reason(error),
            }
        }
        Err(failed)
    }

    /// Finds the keys of a level by its first packet: which of the suites that the secret
    /// fits opens it, unless the server's choice is known.
    fn start(
        &mut self,
        keys: &KeyLog,
        version: Protocol,
        (from, level): (Side, Level),
        sealed: &Sealed<'_>,
        largest: Option<u64>,
    ) -> Result<(), Reason> {
        let random = self.client_random.ok_or(Reason::NoClientHello)?;
        let label = level.label(from).ok_or(Reason::Header)?;
        let secret = keys.secret(&random, label).ok_or(Reason::NoSecret)?;
        // What goes before the server's choice has the cipher of an earlier connection.
        let chosen = self.suite_number.filter(|_| level != Level::Early);
        let chosen = chosen.map(|number| Suite::from_number(number).ok_or(Reason::Suite));
        let chosen = chosen.transpose()?;
        let mut failed = Reason::NoSecret;
        for suite in Suite::ALL {
            if chosen.is_some_and(|chosen| chosen != suite) {
                continue;
            }
            let Some(mut own) = Protector::new(self.backend, version, suite, secret) else {
                continue;
            };
            match own.open(sealed, largest, &mut Vec::new()) {
                Ok(_) => {
                    self.later.insert((from, level), own);
                    return Ok(());
                }
                Err(OpenError::ReservedBits) => return Err(Reason::ReservedBits),
                Err(error) => failed = reason(error),
            }
        }
        Err(failed)
    }
}

fn reason(error: OpenError) -> Reason {
    match error {
        OpenError::Short { .. } => Reason::Short,
        OpenError::Authentication => Reason::Authentication,
        OpenError::ReservedBits => Reason::ReservedBits,
        OpenError::Backend => Reason::Backend,
    }
}
