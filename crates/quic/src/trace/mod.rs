//! Captured datagrams, opened with a key log: every packet is opened, or it is said why
//! not.
//!
//! An observer knows less than an endpoint: it learns connection ids as they are told,
//! which suite was chosen from the server's hello, and key phases as they come. A packet
//! that comes before what it needs waits for a while.

mod assembly;
mod connection;
mod file;
mod intake;
mod protector;
mod reason;
mod routes;
mod streams;
mod summary;

use std::collections::{HashMap, VecDeque};
use std::ops::RangeInclusive;

use crypto::Backend;
use wire::quic::{self, Packet};

use connection::{Connection, Level};
use intake::Learnt;
use protector::Sealed;
use routes::{Path, Route, Routes};
use streams::Room;
use summary::Tally;

use crate::Protocol;
use crate::capture::{Datagram, KeyLog};

pub use file::{Document, SCHEMA_VERSION, TraceError, Traced, schema, trace};
pub use reason::{Kind, Reason};
pub use routes::Side;
pub use streams::StreamDigest;
pub use summary::{ConnectionSummary, KindCount, Summary, Unopened};

/// Packets that wait for what opens them.
const WAITING_MAX: usize = 512;
const CONNECTIONS_MAX: usize = 1 << 16;
/// Connections that are tried for one packet.
const TRIES_MAX: usize = 8;

/// Bytes of datagrams that a kernel cuts.
const SEGMENT_BYTES: RangeInclusive<usize> = 1200..=1500;

/// A datagram of the capture.
#[derive(Clone, Copy)]
struct Origin {
    frame: u64,
    path: Path,
}

/// One packet and where it was.
#[derive(Clone, Copy)]
struct Seen<'p> {
    origin: Origin,
    /// Within its datagram.
    index: u32,
    /// From the datagram's begin, in bytes.
    offset: usize,
    bytes: &'p [u8],
}

/// A packet that waits.
struct Waiting {
    origin: Origin,
    index: u32,
    offset: usize,
    bytes: Vec<u8>,
}

/// What came of a packet.
#[derive(Clone, Copy)]
#[must_use = "it says what was opened"]
struct Outcome {
    kind: Kind,
    connection: Option<usize>,
    failed: Option<Reason>,
}

impl Outcome {
    fn failed(kind: Kind, reason: Reason) -> Self {
        Self {
            kind,
            connection: None,
            failed: Some(reason),
        }
    }

    /// Whether more of the capture may change it.
    fn may_change(self) -> bool {
        use Reason as R;
        let wants = [R::UnknownConnection, R::NoClientHello, R::NoSecret];
        self.failed.is_some_and(|reason| wants.contains(&reason))
    }
}

/// Opens the packets of a capture, in its order.
pub struct Trace<'b> {
    backend: &'b dyn Backend,
    keys: KeyLog,
    connections: Vec<Connection<'b>>,
    routes: Routes,
    waiting: VecDeque<Waiting>,
    segments: HashMap<Path, usize>,
    room: Room,
    tally: Tally,
    /// Whether something was learnt that may open what waits.
    is_wiser: bool,
}

impl<'b> Trace<'b> {
    pub fn new(backend: &'b dyn Backend, keys: KeyLog) -> Self {
        Self {
            backend,
            keys,
            connections: Vec::new(),
            routes: Routes::default(),
            waiting: VecDeque::new(),
            segments: HashMap::new(),
            room: Room::default(),
            tally: Tally::default(),
            is_wiser: false,
        }
    }

    /// More secrets: a capture may bring its own.
    pub fn keys(&mut self) -> &mut KeyLog {
        self.is_wiser = true;
        &mut self.keys
    }

    pub fn take(&mut self, datagram: &Datagram) {
        let origin = Origin {
            frame: datagram.number,
            path: (datagram.source, datagram.destination),
        };
        self.take_packets(origin, &mut 0, &datagram.payload);
        while std::mem::take(&mut self.is_wiser) {
            self.try_again();
        }
    }

    /// The packets of a datagram, the first of them number `index`.
    fn take_packets(&mut self, origin: Origin, index: &mut u32, datagram: &[u8]) {
        let mut all = packets(datagram);
        loop {
            let rest = all.rest();
            let Some(packet) = all.next() else { break };
            let offset = datagram.len() - rest.len();
            if offset > 0 && rest.iter().all(|byte| *byte == 0) {
                self.tally.padded_datagrams += 1;
                break;
            }
            let bytes = packet.as_ref().map_or(rest, Packet::bytes);
            let seen = Seen {
                origin,
                index: *index,
                offset,
                bytes,
            };
            *index += 1;
            match packet {
                Ok(_) => self.settle(&seen, index),
                Err(_) => {
                    let is_first = offset == 0;
                    let reason = if is_first {
                        Reason::Header
                    } else {
                        Reason::Trailing
                    };
                    let failed = Outcome::failed(Kind::NotQuic, reason);
                    self.tally.count(&seen, failed);
                }
            }
        }
    }

    /// Opens a packet, or has it wait.
    fn settle(&mut self, seen: &Seen<'_>, index: &mut u32) {
        let outcome = self.open(seen);
        if outcome.may_change() {
            if self.waiting.len() == WAITING_MAX {
                self.give_up_first();
            }
            return self.waiting.push_back(Waiting {
                origin: seen.origin,
                index: seen.index,
                offset: seen.offset,
                bytes: seen.bytes.to_vec(),
            });
        }
        let may_be_several = outcome.kind == Kind::OneRtt
            && outcome.failed == Some(Reason::Authentication)
            && seen.offset + seen.bytes.len() > *SEGMENT_BYTES.end();
        match may_be_several.then(|| self.segment(seen)).flatten() {
            None => self.tally.count(seen, outcome),
            Some(bytes) => {
                // The number of the packet that it was taken for goes to the first.
                *index -= 1;
                let (first, others) = seen.bytes.split_at(bytes - seen.offset);
                self.take_packets(seen.origin, index, first);
                for segment in others.chunks(bytes) {
                    self.take_packets(seen.origin, index, segment);
                }
            }
        }
    }

    /// Bytes of the datagrams that the sender's kernel was to cut this one into
    /// (`UDP_SEGMENT`): captures see it whole, and do not tell where it is cut.
    fn segment(&mut self, seen: &Seen<'_>) -> Option<usize> {
        let known = self.segments.get(&seen.origin.path).copied();
        let opens = |own: &mut Self, bytes: usize| {
            let first = bytes.checked_sub(seen.offset);
            let first = first.and_then(|bytes| seen.bytes.get(..bytes));
            first.is_some_and(|bytes| own.open(&Seen { bytes, ..*seen }).failed.is_none())
        };
        let sizes = known.into_iter().chain(SEGMENT_BYTES);
        let bytes = sizes.into_iter().find(|bytes| opens(self, *bytes))?;
        self.segments.insert(seen.origin.path, bytes);
        Some(bytes)
    }

    fn try_again(&mut self) {
        for one in std::mem::take(&mut self.waiting) {
            self.settle(&one.seen(), &mut (one.index + 1));
        }
    }

    fn give_up_first(&mut self) {
        if let Some(one) = self.waiting.pop_front() {
            let outcome = self.open(&one.seen());
            self.tally.count(&one.seen(), outcome);
        }
    }

    /// What came of all of it.
    pub fn finish(mut self) -> Summary {
        while !self.waiting.is_empty() {
            self.give_up_first();
        }
        self.tally.summary(&self.connections)
    }

    fn open(&mut self, seen: &Seen<'_>) -> Outcome {
        let Some(Ok(packet)) = packets(seen.bytes).next() else {
            return Outcome::failed(Kind::NotQuic, Reason::Header);
        };
        match packet {
            Packet::Long(long) => self.open_long(seen, &long),
            Packet::Short(short) => self.open_short(seen, &short),
            Packet::Retry(retry) => self.take_retry(seen, &retry),
            Packet::VersionNegotiation(_) => self.take_negotiation(seen),
            Packet::Unknown(_) => Outcome::failed(Kind::UnknownVersion, Reason::Version),
        }
    }

    fn open_long(&mut self, seen: &Seen<'_>, long: &quic::Long<'_>) -> Outcome {
        let (kind, level) = match long.kind {
            quic::LongType::Initial => (Kind::Initial, Level::Initial),
            quic::LongType::ZeroRtt => (Kind::ZeroRtt, Level::Early),
            _ => (Kind::Handshake, Level::Handshake),
        };
        let Some(version) = Protocol::of(long.version) else {
            return Outcome::failed(Kind::UnknownVersion, Reason::Version);
        };
        let sealed = Sealed {
            bytes: seen.bytes,
            number_at: long.packet_number_at,
        };
        let mut routes = self.routes.of_id(&long.destination, seen.origin.path);
        routes.truncate(TRIES_MAX);
        // Its id was told in a packet that the capture lacks.
        let on_path = self.routes.of_path(seen.origin.path);
        routes.extend(on_path.filter(|own| !routes.contains(own)));
        let mut failed = None;
        for route in routes {
            let from = route.to.other();
            let own = &mut self.connections[route.connection];
            match own.open(&self.keys, version, (level, from), &sealed) {
                Ok(mut learnt) => {
                    learnt.ids.push(long.source);
                    return self.opened(seen, kind, route, learnt);
                }
                Err(reason) => fail(&mut failed, route, reason),
            }
        }
        if level == Level::Initial
            && let Some(outcome) = self.begin(seen, version, long, &sealed)
        {
            return outcome;
        }
        let (connection, reason) = failed.unzip();
        Outcome {
            kind,
            connection,
            failed: Some(reason.unwrap_or(Reason::UnknownConnection)),
        }
    }

    /// A new connection, if its first packet is a client's.
    fn begin(
        &mut self,
        seen: &Seen<'_>,
        version: Protocol,
        long: &quic::Long<'_>,
        sealed: &Sealed<'_>,
    ) -> Option<Outcome> {
        let mut own = Connection::new(self.backend, version, long.destination, &self.room);
        let from = (Level::Initial, Side::Client);
        let mut learnt = match own.open(&self.keys, version, from, sealed) {
            Err(reason @ Reason::ReservedBits) => {
                return Some(Outcome::failed(Kind::Initial, reason));
            }
            opened => opened.ok()?,
        };
        if self.connections.len() == CONNECTIONS_MAX {
            return Some(Outcome::failed(Kind::Initial, Reason::Connections));
        }
        let route = Route {
            connection: self.connections.len(),
            to: Side::Server,
        };
        own.path = Some(seen.origin.path);
        self.connections.push(own);
        self.add_id(long.destination, route);
        learnt.ids.push(long.source);
        learnt.has_keys = true;
        Some(self.opened(seen, Kind::Initial, route, learnt))
    }

    /// Whether it is new.
    fn add_id(&mut self, id: quic::ConnectionId, route: Route) -> bool {
        self.connections[route.connection].id_bytes[route.to as usize] = id.length().into();
        self.routes.add_id(id, route)
    }

    fn opened(&mut self, seen: &Seen<'_>, kind: Kind, route: Route, learnt: Learnt) -> Outcome {
        let sender = Route {
            to: route.to.other(),
            ..route
        };
        self.is_wiser |= learnt.has_keys;
        for id in learnt.ids {
            self.is_wiser |= self.add_id(id, sender);
        }
        self.routes.add_path(seen.origin.path, route);
        Outcome {
            kind,
            connection: Some(route.connection),
            failed: None,
        }
    }

    fn open_short(&mut self, seen: &Seen<'_>, short: &quic::Short<'_>) -> Outcome {
        let mut tries = self.routes.of_short(seen.bytes, seen.origin.path);
        let on_path = self.routes.of_path(seen.origin.path);
        if let Some(route) = on_path {
            // Its id was told in a packet that the capture lacks.
            let id_bytes = self.connections[route.connection].id_bytes[route.to as usize];
            if !tries.contains(&(id_bytes, route)) {
                tries.push((id_bytes, route));
            }
        }
        tries.truncate(TRIES_MAX);
        let mut failed = None;
        for (id_bytes, route) in tries {
            let own = &mut self.connections[route.connection];
            let sealed = Sealed {
                bytes: seen.bytes,
                number_at: 1 + id_bytes,
            };
            let from = (Level::Application, route.to.other());
            let version = own.version;
            match own.open(&self.keys, version, from, &sealed) {
                Ok(learnt) => return self.opened(seen, Kind::OneRtt, route, learnt),
                Err(reason) => fail(&mut failed, route, reason),
            }
        }
        if let Some(route) = on_path
            && self.connections[route.connection].is_reset_by(seen.bytes)
        {
            return Outcome {
                kind: Kind::StatelessReset,
                connection: Some(route.connection),
                failed: None,
            };
        }
        match failed {
            Some((connection, reason)) => Outcome {
                kind: Kind::OneRtt,
                connection: Some(connection),
                failed: Some(reason),
            },
            None if short.first_byte.is_fixed_bit_set() => {
                Outcome::failed(Kind::OneRtt, Reason::UnknownConnection)
            }
            None => Outcome::failed(Kind::NotQuic, Reason::Header),
        }
    }

    fn take_negotiation(&mut self, seen: &Seen<'_>) -> Outcome {
        let route = self.routes.of_path(seen.origin.path);
        let route = route.filter(|route| route.to == Side::Client);
        let connection = route.map(|route| route.connection);
        if let Some(connection) = connection {
            self.connections[connection].begins_again();
        }
        Outcome {
            kind: Kind::VersionNegotiation,
            connection,
            failed: None,
        }
    }

    fn take_retry(&mut self, seen: &Seen<'_>, retry: &quic::Retry<'_>) -> Outcome {
        let failed = |reason| Outcome::failed(Kind::Retry, reason);
        let Some(version) = Protocol::of(retry.version) else {
            return failed(Reason::Version);
        };
        let routes = self.routes.of_id(&retry.destination, seen.origin.path);
        let mut reason = Reason::UnknownConnection;
        for route in routes.into_iter().take(TRIES_MAX) {
            let own = &mut self.connections[route.connection];
            let origin = own.origins().last().copied();
            let (untagged, given) = retry.untagged_and_tag();
            let tag =
                origin.and_then(|origin| version.retry_tag(self.backend, origin.bytes(), untagged));
            if tag != Some(given) {
                reason = Reason::RetryTag;
                continue;
            }
            own.retried(retry.source);
            let learnt = Learnt {
                ids: vec![retry.source],
                has_keys: true,
            };
            return self.opened(seen, Kind::Retry, route, learnt);
        }
        failed(reason)
    }
}

/// The first reason is told, unless a tag matches later: then it is of that connection.
fn fail(failed: &mut Option<(usize, Reason)>, route: Route, reason: Reason) {
    if failed.is_none() || reason == Reason::ReservedBits {
        *failed = Some((route.connection, reason));
    }
}

/// The packets of a datagram. Where the id of a short header ends is found later.
fn packets<'a>(bytes: &'a [u8]) -> quic::Datagram<'a, fn(&'a [u8]) -> usize> {
    quic::Datagram::new(bytes, |_| 0)
}

impl Waiting {
    fn seen(&self) -> Seen<'_> {
        Seen {
            origin: self.origin,
            index: self.index,
            offset: self.offset,
            bytes: &self.bytes,
        }
    }
}
