//! What came of a capture, to be shown and exported.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::Serialize;

use super::connection::Connection;
use super::reason::{Kind, Reason};
use super::routes::Side;
use super::streams::StreamDigest;
use super::{Outcome, Seen};
use crate::{Protocol, Suite};

/// Packets that are not open and are listed one by one.
const UNOPENED_MAX: usize = 1_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct KindCount {
    pub packets: u64,
    /// Of those that have something to open.
    pub opened: u64,
}

/// A packet that is not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Unopened {
    /// Of the capture, from 1.
    pub frame: u64,
    /// Within its datagram, from 0.
    pub packet: u32,
    pub kind: Kind,
    pub reason: Reason,
    /// Of [`Summary::connections`].
    pub connection: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ConnectionSummary {
    /// That the client first sent to, in hexadecimal digits.
    pub id: String,
    pub version: Protocol,
    pub suite: Option<Suite>,
    pub client: SocketAddr,
    pub server: SocketAddr,
    pub packets: u64,
    pub opened: u64,
    /// Of client and server.
    pub key_updates: [u64; 2],
    pub closed_by: Option<Side>,
    pub close_code: Option<u64>,
    pub streams: Vec<StreamDigest>,
    /// Parts of streams that were left out of their digests: too much was out of order.
    pub left_out: u64,
    /// Packets with a frame that breaks the rules.
    pub strange_frames: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Summary {
    pub packets: u64,
    pub opened: u64,
    /// Retry, version negotiation and stateless reset.
    pub unprotected: u64,
    pub not_opened: u64,
    pub kinds: BTreeMap<Kind, KindCount>,
    pub reasons: BTreeMap<Reason, u64>,
    pub connections: Vec<ConnectionSummary>,
    pub unopened: Vec<Unopened>,
    /// More of them than are listed.
    pub unopened_left_out: u64,
    /// With zeros behind their packets.
    pub padded_datagrams: u64,
}

#[derive(Default)]
pub(super) struct Tally {
    kinds: BTreeMap<Kind, KindCount>,
    reasons: BTreeMap<Reason, u64>,
    /// By connection.
    counts: Vec<KindCount>,
    unopened: Vec<Unopened>,
    left_out: u64,
    pub(super) padded_datagrams: u64,
}

impl Tally {
    pub(super) fn count(&mut self, seen: &Seen<'_>, outcome: Outcome) {
        let Outcome {
            kind,
            connection,
            failed,
        } = outcome;
        let opened = u64::from(failed.is_none() && kind.is_protected());
        let add = |count: &mut KindCount| {
            count.packets += 1;
            count.opened += opened;
        };
        add(self.kinds.entry(kind).or_default());
        if let Some(connection) = connection {
            if self.counts.len() <= connection {
                self.counts.resize(connection + 1, KindCount::default());
            }
            add(&mut self.counts[connection]);
        }
        let Some(reason) = failed else { return };
        *self.reasons.entry(reason).or_default() += 1;
        if self.unopened.len() == UNOPENED_MAX {
            self.left_out += 1;
            return;
        }
        self.unopened.push(Unopened {
            frame: seen.origin.frame,
            packet: seen.index,
            kind,
            reason,
            connection,
        });
    }

    pub(super) fn summary(mut self, connections: &[Connection<'_>]) -> Summary {
        self.counts.resize(connections.len(), KindCount::default());
        let of = |value: fn(&KindCount) -> u64| self.kinds.values().map(value).sum::<u64>();
        let (packets, opened) = (of(|one| one.packets), of(|one| one.opened));
        let not_opened = self.reasons.values().sum();
        // In the order of the capture, though some waited.
        self.unopened.sort_by_key(|one| (one.frame, one.packet));
        let of = connections.iter().zip(&self.counts);
        let of = of.filter_map(|(own, count)| own.summary(*count));
        Summary {
            packets,
            opened,
            unprotected: packets - opened - not_opened,
            not_opened,
            kinds: self.kinds,
            reasons: self.reasons,
            connections: of.collect(),
            unopened: self.unopened,
            unopened_left_out: self.left_out,
            padded_datagrams: self.padded_datagrams,
        }
    }
}

impl Connection<'_> {
    fn summary(&self, count: KindCount) -> Option<ConnectionSummary> {
        let (client, server) = self.path?;
        let streams = |from: Side| self.sides[from as usize].streams.digests(from);
        let mut all: Vec<_> = Side::ALL.into_iter().flat_map(streams).collect();
        all.sort_by_key(|one| (one.id, one.from));
        Some(ConnectionSummary {
            id: self.origins().first()?.to_string(),
            version: self.version,
            suite: self.suite(),
            client,
            server,
            packets: count.packets,
            opened: count.opened,
            key_updates: Side::ALL.map(|from| self.key_updates(from)),
            closed_by: self.closed.map(|(from, _)| from),
            close_code: self.closed.map(|(_, code)| code),
            streams: all,
            left_out: self.sides.iter().map(|own| own.streams.left_out).sum(),
            strange_frames: self.strange_frames,
        })
    }
}
