//! Datagrams on their way to the kernel, those that follow each other in one message.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};

use crypto::Operation::Encrypt;
use crypto::{PacketPlace, PacketSlices, Status, process_packets};
use quinn::udp::{EcnCodepoint, Transmit};
use wire::quic::TAG_BYTES;

use crate::counters::Counters;
use crate::drive::Unsealed;
use crate::keys::SealKey;
use crate::mark::Marked;

/// Of a message: what one IPv4 datagram carries. The kernel refuses more, and quinn-udp
/// does not tell.
const MESSAGE_BYTES_MAX: usize = 65_507;
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

/// Datagrams that go the same way, all but the last of the same size.
struct Message {
    way: Way,
    segment_bytes: usize,
    /// Shorter datagrams end a message.
    is_complete: bool,
    count: usize,
    used: usize,
    bytes: Box<[u8; MESSAGE_BYTES_MAX]>,
}

impl Message {
    fn takes(&self, way: &Way, bytes: usize, segments_max: usize) -> bool {
        self.way == *way
            && !self.is_complete
            && bytes <= self.segment_bytes
            && self.count < segments_max
            && self.used + bytes <= MESSAGE_BYTES_MAX
    }

    fn transmit(&self) -> Transmit<'_> {
        Transmit {
            destination: self.way.to,
            ecn: self.way.ecn,
            contents: &self.bytes[..self.used],
            segment_size: (self.count > 1).then_some(self.segment_bytes),
            src_ip: self.way.from,
        }
    }
}

/// Messages in the order of their datagrams; the last may take more.
pub(crate) struct Outbox {
    segments_max: usize,
    messages: VecDeque<Message>,
    spare: Vec<Box<[u8; MESSAGE_BYTES_MAX]>>,
}

/// Datagrams that are not what was noted of them, or longer than there are: none is sent.
#[derive(Debug)]
pub(crate) struct Unmatched;

impl Outbox {
    pub(crate) fn new(segments_max: usize) -> Self {
        Self {
            segments_max: segments_max.max(1),
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

    /// Takes datagrams in; seals those that `unsealed` tells of with `key`.
    pub(crate) fn take(
        &mut self,
        transmit: &Transmit<'_>,
        key: Option<&SealKey>,
        mut unsealed: &[Unsealed],
    ) -> Result<(), Unmatched> {
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
                Some(key) => self.sealed(&way, rest, segment_bytes, key, &mut unsealed),
                None => self.copied(&way, rest, segment_bytes),
            };
            rest = &rest[bytes..];
        }
        Ok(())
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

    /// Bytes of datagrams that are as they are to be sent.
    fn copied(&mut self, way: &Way, datagrams: &[u8], segment_bytes: usize) -> usize {
        let room = self.room(way, datagrams, segment_bytes, usize::MAX);
        let bytes = room.len();
        room.copy_from_slice(&datagrams[..bytes]);
        bytes
    }

    /// Seals as many of the datagrams as one call does; their bytes.
    fn sealed(
        &mut self,
        way: &Way,
        datagrams: &[u8],
        segment_bytes: usize,
        key: &SealKey,
        unsealed: &mut &[Unsealed],
    ) -> usize {
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
            slices[packets] = PacketSlices {
                key: &**guard,
                place: PacketPlace {
                    number: one.number,
                    number_at: one.number_at,
                    phase: None,
                },
                source: &datagram[before..datagram.len() - TAG_BYTES],
                destination: to,
                status: Status::BackendFailed,
            };
            packets += 1;
        }
        // What could not be sealed is zeros, or was there before: no peer takes it for a
        // packet.
        let packets = &mut slices[..packets];
        process_packets(&*key.backend, key.suite.packets(), Encrypt, packets);
        bytes
    }

    fn message(&mut self, way: &Way, bytes: usize) -> &mut Message {
        let segments_max = self.segments_max;
        let takes = |last: &Message| last.takes(way, bytes, segments_max);
        if !self.messages.back().is_some_and(takes) {
            let spare = self.spare.pop();
            self.messages.push_back(Message {
                way: *way,
                segment_bytes: bytes,
                is_complete: false,
                count: 0,
                used: 0,
                bytes: spare.unwrap_or_else(|| Box::new([0; MESSAGE_BYTES_MAX])),
            });
        }
        self.messages.back_mut().expect("it was pushed")
    }

    /// Sends messages, all or only the complete ones, until one would have to wait; `false`
    /// then. What fails otherwise is gone, as datagrams may be.
    pub(crate) fn send(
        &mut self,
        only_complete: bool,
        counters: &Counters,
        mut send: impl FnMut(&Transmit<'_>) -> io::Result<()>,
    ) -> bool {
        while let Some(first) = self.messages.front() {
            if only_complete && !self.has_complete() {
                break;
            }
            match send(&first.transmit()) {
                Ok(()) => {
                    counters.datagrams.add(first.count);
                    counters.messages.add(1);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(_) => counters.failed_messages.add(1),
            }
            let sent = self.messages.pop_front().expect("it is the front");
            if self.spare.len() < SPARE_MAX {
                self.spare.push(sent.bytes);
            }
        }
        true
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
