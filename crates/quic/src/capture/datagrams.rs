//! From frames to UDP datagrams, and what of the frames became none.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use wire::{ipv4, ipv6, protocol, udp};

use super::Frame;
use super::fragments::{Fragments, Key, Part, Whole};
use super::link::{self, Network};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Of the frame that completed it; see [`Frame::time_ns`].
    pub time_ns: u64,
    /// Of the same frame; see [`Frame::number`].
    pub number: u64,
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub payload: Vec<u8>,
    /// How many it was captured in: 1, unless IP fragmented it.
    pub frames: u64,
}

/// Why a frame is no datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skip {
    /// Of a link type that is not read: see [`super::LinkType`].
    Link,
    NotIp,
    NotUdp,
    /// The snap length left out what would have been needed.
    Cut,
    /// A length or a version in it is wrong.
    Malformed,
    /// A fragment of a datagram that was not whole in the capture, or was refused.
    Fragment,
}

impl Skip {
    pub const ALL: [Self; 6] = [
        Self::Link,
        Self::NotIp,
        Self::NotUdp,
        Self::Cut,
        Self::Malformed,
        Self::Fragment,
    ];
}

impl fmt::Display for Skip {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.pad(match self {
            Self::Link => "of another link type",
            Self::NotIp => "not IP",
            Self::NotUdp => "not UDP",
            Self::Cut => "cut by the snap length",
            Self::Malformed => "malformed",
            Self::Fragment => "fragment dropped",
        })
    }
}

/// Frames by the reason why they are no datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped([u64; Skip::ALL.len()]);

impl Skipped {
    pub fn count(&self, reason: Skip) -> u64 {
        self.0[reason as usize]
    }

    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Those that there are, with their number.
    pub fn counts(&self) -> impl Iterator<Item = (Skip, u64)> {
        let all = Skip::ALL.map(|reason| (reason, self.count(reason)));
        all.into_iter().filter(|(_, count)| *count > 0)
    }

    fn add(&mut self, reason: Skip, frames: u64) {
        self.0[reason as usize] += frames;
    }
}

pub(super) enum Refusal {
    Skip(Skip),
    /// Cut or malformed, which the frame knows.
    Short,
}

impl From<Skip> for Refusal {
    fn from(reason: Skip) -> Self {
        Self::Skip(reason)
    }
}

/// Finds the datagrams of frames, one after the other. IP fragments are put together;
/// checksums are not looked at, since network cards fill them in after the capture.
#[derive(Default)]
pub struct Datagrams {
    fragments: Fragments,
    skipped: Skipped,
}

impl Datagrams {
    pub fn new() -> Self {
        Self::default()
    }

    /// The datagram in the frame, or that the frame completes. `None`: it is counted in
    /// [`Self::skipped`], at least until the rest of its fragments is there.
    pub fn datagram(&mut self, frame: &Frame) -> Option<Datagram> {
        let found = match link::network(frame.link, &frame.bytes) {
            Ok(Network::V4(packet)) => self.four(frame, &packet),
            Ok(Network::V6(packet)) => self.six(frame, &packet),
            Err(refusal) => Err(refusal),
        };
        found.unwrap_or_else(|refusal| {
            self.skipped.add(refusal.reason(frame), 1);
            None
        })
    }

    /// Every frame so far is one of [`Datagram::frames`] or is counted here. Fragments that
    /// wait for others count as dropped, as they are where the capture ends.
    pub fn skipped(&self) -> Skipped {
        let mut skipped = self.skipped;
        skipped.add(Skip::Fragment, self.fragments.lost());
        skipped
    }

    fn four(
        &mut self,
        frame: &Frame,
        packet: &ipv4::Packet<'_>,
    ) -> Result<Option<Datagram>, Refusal> {
        if packet.protocol() != protocol::UDP {
            return Err(Skip::NotUdp.into());
        }
        let ends = (packet.source().into(), packet.destination().into());
        if !packet.is_fragment() {
            return of(frame, ends, packet.payload(), 1).map(Some);
        }
        let part = Part {
            key: Key::new(ends, packet.identification()),
            offset_bytes: packet.fragment_offset_bytes() as usize,
            more: packet.more_fragments(),
            next_header: protocol::UDP,
            bytes: packet.payload(),
        };
        let whole = self.fragments.add(frame.time_ns, &part);
        self.whole(whole, |whole| of(frame, ends, &whole.bytes, whole.frames))
    }

    fn six(
        &mut self,
        frame: &Frame,
        packet: &ipv6::Packet<'_>,
    ) -> Result<Option<Datagram>, Refusal> {
        let Some(part) = part_of(packet)? else {
            return upper(frame, packet, 1).map(Some);
        };
        if !may_be_udp(part.next_header) {
            return Err(Skip::NotUdp.into());
        }
        let whole = self.fragments.add(frame.time_ns, &part);
        self.whole(whole, |whole| {
            let header = ipv6::Repr::new(packet.source(), packet.destination(), whole.next_header);
            let again = header.to_bytes(&whole.bytes);
            let again = again.map_err(|_| Skip::Malformed)?;
            upper(frame, &ipv6::Packet::new(&again)?, whole.frames)
        })
    }

    /// Where it is no datagram, all its frames are counted: the last one by the caller.
    fn whole(
        &mut self,
        whole: Option<Whole>,
        read: impl FnOnce(&Whole) -> Result<Datagram, Refusal>,
    ) -> Result<Option<Datagram>, Refusal> {
        let Some(whole) = whole else { return Ok(None) };
        let datagram = read(&whole).map_err(|refusal| {
            // Each frame was whole.
            let reason = match refusal {
                Refusal::Skip(reason) => reason,
                Refusal::Short => Skip::Malformed,
            };
            self.skipped.add(reason, whole.frames - 1);
            reason
        })?;
        Ok(Some(datagram))
    }
}

impl Refusal {
    fn reason(&self, frame: &Frame) -> Skip {
        match self {
            Self::Skip(reason) => *reason,
            Self::Short if frame.is_cut => Skip::Cut,
            Self::Short => Skip::Malformed,
        }
    }
}

/// What the first fragment header says, unless it says that it holds everything
/// (RFC 6946).
fn part_of<'f>(packet: &ipv6::Packet<'f>) -> Result<Option<Part<'f>>, Refusal> {
    let mut extensions = packet.extensions();
    while let Some(header) = extensions.next() {
        let header = header?;
        let Some(fragment) = header.fragment() else {
            continue;
        };
        if fragment.more || fragment.offset_bytes > 0 {
            let ends = (packet.source().into(), packet.destination().into());
            return Ok(Some(Part {
                key: Key::new(ends, fragment.identification),
                offset_bytes: fragment.offset_bytes.into(),
                more: fragment.more,
                next_header: header.next_header(),
                bytes: extensions.rest().1,
            }));
        }
    }
    Ok(None)
}

fn may_be_udp(next_header: u8) -> bool {
    next_header == protocol::UDP || ipv6::extension::is_extension(next_header)
}

fn upper(frame: &Frame, packet: &ipv6::Packet<'_>, frames: u64) -> Result<Datagram, Refusal> {
    // Fragments of fragments: nobody sends them (RFC 8200, section 4.5).
    if part_of(packet)?.is_some() {
        return Err(Skip::Malformed.into());
    }
    let found = packet.upper()?;
    if found.protocol != protocol::UDP {
        return Err(Skip::NotUdp.into());
    }
    let ends = (packet.source().into(), packet.destination().into());
    of(frame, ends, found.payload, frames)
}

fn of(
    frame: &Frame,
    (source, destination): (IpAddr, IpAddr),
    bytes: &[u8],
    frames: u64,
) -> Result<Datagram, Refusal> {
    let packet = udp::Packet::new(bytes)?;
    Ok(Datagram {
        time_ns: frame.time_ns,
        number: frame.number,
        source: SocketAddr::new(source, packet.source_port()),
        destination: SocketAddr::new(destination, packet.destination_port()),
        payload: packet.payload().to_vec(),
        frames,
    })
}
