//! Datagrams on their way to the kernel, those that follow each other in one message.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crypto::{Key, PacketPlace, PacketSlices, Status};
use quinn::udp::{EcnCodepoint, Transmit};
use wire::quic::TAG_BYTES;

use crate::drive::Unsealed;
use crate::keys::{NotSealed, SealKey};
use crate::mark::Marked;

/// Of a message: what one IPv4 datagram carries. The kernel refuses more, and quinn-udp
/// does not tell.
pub(crate) const MESSAGE_BYTES_MAX: usize = 65_507;
/// Buffers that are kept for the next messages.
const SPARE_MAX: usize = 4;
/// Packets that one call seals: as many as quinn builds for one message, and more.
const TOGETHER: usize = 16;

/// Where a datagram goes to, and how.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Way {
    to: SocketAddr,
    from: Option<IpAddr>,
    ecn: Option<EcnCodepoint>,
}

pub(crate) type Buffer = Box<[u8; MESSAGE_BYTES_MAX]>;

pub(crate) fn buffer() -> Buffer {
    Box::new([0; MESSAGE_BYTES_MAX])
}

/// Datagrams that go the same way, all but the last of the same size.
pub(crate) struct Message {
    way: Way,
    segment_bytes: usize,
    /// Shorter datagrams end a message.
    is_complete: bool,
    pub count: usize,
    used: usize,
    bytes: Buffer,
    /// Still to be sealed, in order.
    packets: Vec<Packet>,
}

/// A packet of a message that is to be sealed.
struct Packet {
    at: usize,
    key: Arc<SealKey>,
    unsealed: Unsealed,
}

impl Message {
    fn takes(&self, way: &Way, bytes: usize, segments_max: usize) -> bool {
        self.way == *way
            && !self.is_complete
            && bytes <= self.segment_bytes
            && self.count < segments_max
            && self.used + bytes <= MESSAGE_BYTES_MAX
    }

    /// What the kernel takes.
    ///
    /// # Panics
    /// When a packet is not sealed, or there is nothing: none leaves so.
    pub(crate) fn transmit(&self) -> Transmit<'_> {
        assert!(self.packets.is_empty(), "a packet is not sealed");
        assert!(self.count > 0, "nothing is to be sent");
        Transmit {
            destination: self.way.to,
            ecn: self.way.ecn,
            contents: &self.bytes[..self.used],
            segment_size: (self.count > 1).then_some(self.segment_bytes),
            src_ip: self.way.from,
        }
    }

    /// Seals what is to be sealed, from its buffer to `other`, which takes its place; how
    /// many packets.
    ///
    /// # Errors
    /// [`NotSealed`]: nothing of the message may leave, and nothing is left of it.
    pub(crate) fn seal(&mut self, other: &mut Buffer) -> Result<usize, NotSealed> {
        let packets = self.packets.len();
        if packets == 0 {
            return Ok(0);
        }
        let sealed = self.seal_to(other);
        self.packets.clear();
        match sealed {
            Ok(()) => std::mem::swap(&mut self.bytes, other),
            Err(_) => {
                other[..self.used].fill(0);
                self.bytes[..self.used].fill(0);
                (self.used, self.count) = (0, 0);
            }
        }
        sealed.map(|()| packets)
    }

    fn seal_to(&self, other: &mut Buffer) -> Result<(), NotSealed> {
        let mut failed = 0;
        let (mut from, mut to) = (&self.bytes[..self.used], &mut other[..self.used]);
        let mut at = 0;
        for packets in self.packets.chunk_by(|a, b| Arc::ptr_eq(&a.key, &b.key)) {
            let key = &packets[0].key;
            for packets in packets.chunks(TOGETHER) {
                let guard = key.lock();
                let mut slices: [PacketSlices<'_>; TOGETHER] =
                    std::array::from_fn(|_| PacketSlices::none());
                for (slice, packet) in slices.iter_mut().zip(packets) {
                    let before = packet.at - at;
                    to[..before].copy_from_slice(&from[..before]);
                    let (packet_to, others_to) = to[before..].split_at_mut(packet.unsealed.bytes);
                    *slice = packet.unsealed.slices(&**guard, &from[before..], packet_to);
                    from = &from[before + packet.unsealed.bytes..];
                    to = others_to;
                    at = packet.at + packet.unsealed.bytes;
                }
                if let Err(not_sealed) = key.seal(&mut slices[..packets.len()]) {
                    failed += not_sealed.packets;
                }
            }
        }
        to.copy_from_slice(from);
        match failed {
            0 => Ok(()),
            packets => Err(NotSealed { packets }),
        }
    }

    /// Takes back datagrams that it took last.
    fn take_back(&mut self, count: usize, bytes: usize) {
        self.count -= count;
        self.used -= bytes;
        // It took them, so it was not complete.
        self.is_complete = false;
    }
}

impl Unsealed {
    /// The packet, which `from` begins with.
    fn slices<'s>(&self, key: &'s dyn Key, from: &'s [u8], to: &'s mut [u8]) -> PacketSlices<'s> {
        PacketSlices {
            key,
            place: PacketPlace {
                number: self.number,
                number_at: self.number_at,
                phase: None,
            },
            source: &from[..self.bytes - TAG_BYTES],
            destination: to,
            status: Status::BackendFailed,
        }
    }
}

/// Messages in the order of their datagrams; the last may take more.
pub(crate) struct Outbox {
    segments_max: usize,
    /// Whether packets are sealed when their message is sent, not as they are taken in.
    seals_later: bool,
    messages: VecDeque<Message>,
    spare: Vec<Message>,
}

/// Packets that were sealed as they were taken in, and those that were not.
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use = "what was not sealed is counted"]
pub(crate) struct Taken {
    pub sealed: usize,
    pub not_sealed: usize,
}

/// Datagrams that are not what was noted of them, or longer than there are: none is sent.
#[derive(Debug)]
pub(crate) struct Unmatched;

impl Outbox {
    pub(crate) fn new(segments_max: usize, seals_later: bool) -> Self {
        Self {
            segments_max: segments_max.max(1),
            seals_later,
            messages: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    pub(crate) fn messages(&self) -> usize {
        self.messages.len()
    }

    /// Whether there is a message that no datagram can be added to, or another follows.
    pub(crate) fn has_complete(&self) -> bool {
        self.messages.len() > 1
            || self.messages.back().is_some_and(|last| {
                last.is_complete
                    || last.count == self.segments_max
                    || last.used + last.segment_bytes > MESSAGE_BYTES_MAX
            })
    }

    /// Takes datagrams in; those that `unsealed` tells of are sealed with `key`, now or
    /// later. How many packets were sealed, and how many failed to be: those and their
    /// neighbours are left out.
    pub(crate) fn take(
        &mut self,
        transmit: &Transmit<'_>,
        key: Option<&Arc<SealKey>>,
        mut unsealed: &[Unsealed],
    ) -> Result<Taken, Unmatched> {
        let mut taken = Taken::default();
        let way = Way {
            to: transmit.destination,
            from: transmit.src_ip,
            ecn: transmit.ecn,
        };
        let mut rest = transmit.contents;
        let segment_bytes = transmit.segment_size.unwrap_or(rest.len()).max(1);
        if segment_bytes.min(rest.len()) > MESSAGE_BYTES_MAX {
            return Err(Unmatched);
        }
        check(rest.chunks(segment_bytes), unsealed)?;
        while !rest.is_empty() {
            let bytes = match key {
                Some(key) if !self.seals_later => {
                    let before = unsealed.len();
                    let (bytes, sealed) =
                        self.sealed(&way, rest, segment_bytes, key, &mut unsealed);
                    match sealed {
                        Ok(()) => taken.sealed += before - unsealed.len(),
                        Err(NotSealed { packets }) => taken.not_sealed += packets,
                    }
                    bytes
                }
                _ => self.copied(&way, rest, segment_bytes, key, &mut unsealed),
            };
            rest = &rest[bytes..];
        }
        Ok(taken)
    }

    /// Room in a message for the first of the datagrams, and for others that fit it, too.
    fn room(
        &mut self,
        way: &Way,
        datagrams: &[u8],
        segment_bytes: usize,
        count_max: usize,
    ) -> &mut [u8] {
        let segments_max = self.segments_max;
        let message = self.message(way, segment_bytes.min(datagrams.len()));
        let begin = message.used;
        for datagram in datagrams.chunks(segment_bytes).take(count_max) {
            let bytes = datagram.len();
            if !message.takes(way, bytes, segments_max) {
                break;
            }
            message.used += bytes;
            message.count += 1;
            message.is_complete = bytes < message.segment_bytes;
        }
        &mut message.bytes[begin..message.used]
    }

    /// Copies as many of the datagrams as fit one message, and notes which of their packets
    /// are to be sealed; their bytes.
    fn copied(
        &mut self,
        way: &Way,
        datagrams: &[u8],
        segment_bytes: usize,
        key: Option<&Arc<SealKey>>,
        unsealed: &mut &[Unsealed],
    ) -> usize {
        let room = self.room(way, datagrams, segment_bytes, usize::MAX);
        let bytes = room.len();
        room.copy_from_slice(&datagrams[..bytes]);
        let Some(key) = key else {
            return bytes;
        };
        let message = self.messages.back_mut().expect("there was room in it");
        let mut end = message.used - bytes;
        for datagram in datagrams[..bytes].chunks(segment_bytes) {
            end += datagram.len();
            if let Some(one) = unsealed.first().filter(|one| one.is_end_of(datagram)) {
                *unsealed = &unsealed[1..];
                message.packets.push(Packet {
                    at: end - one.bytes,
                    key: key.clone(),
                    unsealed: *one,
                });
            }
        }
        bytes
    }

    /// Seals as many of the datagrams as one call does, or leaves all of these out; their
    /// bytes.
    fn sealed(
        &mut self,
        way: &Way,
        datagrams: &[u8],
        segment_bytes: usize,
        key: &SealKey,
        unsealed: &mut &[Unsealed],
    ) -> (usize, Result<(), NotSealed>) {
        let room = self.room(way, datagrams, segment_bytes, TOGETHER);
        let bytes = room.len();
        let guard = key.lock();
        let mut slices: [PacketSlices<'_>; TOGETHER] =
            std::array::from_fn(|_| PacketSlices::none());
        let mut packets = 0;
        let datagrams = datagrams[..bytes].chunks(segment_bytes);
        for (datagram, to) in datagrams.zip(room.chunks_mut(segment_bytes)) {
            let Some(one) = unsealed.first().filter(|one| one.is_end_of(datagram)) else {
                to.copy_from_slice(datagram);
                continue;
            };
            *unsealed = &unsealed[1..];
            let before = datagram.len() - one.bytes;
            let (others, to) = to.split_at_mut(before);
            others.copy_from_slice(&datagram[..before]);
            slices[packets] = one.slices(&**guard, &datagram[before..], to);
            packets += 1;
        }
        let sealed = key.seal(&mut slices[..packets]);
        if sealed.is_err() {
            room.fill(0);
            let last = self.messages.back_mut().expect("there was room in it");
            last.take_back(bytes.div_ceil(segment_bytes), bytes);
            if last.count == 0
                && let Some(empty) = self.messages.pop_back()
            {
                self.recycle(empty);
            }
        }
        (bytes, sealed)
    }

    fn message(&mut self, way: &Way, bytes: usize) -> &mut Message {
        let segments_max = self.segments_max;
        let takes = |last: &Message| last.takes(way, bytes, segments_max);
        if !self.messages.back().is_some_and(takes) {
            let spare = self.spare.pop().map(|spare| (spare.bytes, spare.packets));
            let (buffer, packets) = spare.unwrap_or_else(|| (buffer(), Vec::new()));
            self.messages.push_back(Message {
                way: *way,
                segment_bytes: bytes,
                is_complete: false,
                count: 0,
                used: 0,
                bytes: buffer,
                packets,
            });
        }
        self.messages.back_mut().expect("it was pushed")
    }

    /// The first message; if `only_complete`, none that may take more.
    pub(crate) fn next(&mut self, only_complete: bool) -> Option<Message> {
        let waits = only_complete && !self.has_complete();
        if waits {
            None
        } else {
            self.messages.pop_front()
        }
    }

    /// A message that could not be sent yet.
    pub(crate) fn put_back(&mut self, message: Message) {
        self.messages.push_front(message);
    }

    /// What is left of a message that is gone.
    pub(crate) fn recycle(&mut self, mut message: Message) {
        message.packets.clear();
        if self.spare.len() < SPARE_MAX {
            self.spare.push(message);
        }
    }
}

/// Every packet that was noted ends a datagram, in order.
fn check<'d>(
    datagrams: impl Iterator<Item = &'d [u8]>,
    mut unsealed: &[Unsealed],
) -> Result<(), Unmatched> {
    for datagram in datagrams {
        if unsealed.first().is_some_and(|one| one.is_end_of(datagram)) {
            unsealed = &unsealed[1..];
        }
    }
    match unsealed.is_empty() {
        true => Ok(()),
        false => Err(Unmatched),
    }
}

impl Unsealed {
    /// Whether the packet is the datagram's last.
    fn is_end_of(&self, datagram: &[u8]) -> bool {
        self.number_at > 0 && self.bytes <= datagram.len() && Marked::of(datagram).is(self.mark())
    }
}

#[cfg(test)]
mod tests;
