//! The tester's frames (RFC 2544, C.2.6.4: UDP to the echo port, with a stamp).

use std::net::IpAddr;

use crate::checksum::{Pseudo, Sum};
use crate::ethernet::{self, EtherType};
use crate::{ParseError, STAMP_BYTES, Stamp, ipv4, ipv6, protocol, udp, vlan};

/// RFC 862: what RFC 2544, C.2.6.4.2, sends to.
const ECHO_PORT: u16 = 7;

/// The frame check sequence, which a frame's size includes and memory does not
/// hold.
const FCS_BYTES: usize = 4;

/// The longest frame: 1518 bytes, and 4 for a tag (IEEE 802.3, 3.2.7).
const FRAME_BYTES_MAX: usize = 1518;

/// A frame of the tester, without its stamp: Ethernet, a tag if wanted, IPv4 or IPv6,
/// UDP, zeros, stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestFrame {
    pub source_ethernet: [u8; 6],
    pub destination_ethernet: [u8; 6],
    pub vlan: Option<u16>,
    pub source: IpAddr,
    pub destination: IpAddr,
    pub source_port: u16,
    /// With the frame check sequence of 4 bytes, which is not written: 64 to
    /// 1518, 84 at least over IPv6, 4 more with a tag.
    pub frame_bytes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TestFrameError {
    #[error(
        "a test frame of {frame_bytes} bytes: {least} to {most} are possible with this family and tag"
    )]
    Size {
        frame_bytes: u32,
        least: usize,
        most: usize,
    },
    #[error("a test frame from {from} to {to}: both addresses must be IPv4 or both IPv6", from = .0, to = .1)]
    Families(IpAddr, IpAddr),
    #[error("a test frame for VLAN {0}: 0 to 4094 are possible")]
    Vlan(u16),
    #[error("a test frame takes {needed_bytes} bytes and the buffer has {found_bytes}")]
    Buffer {
        needed_bytes: usize,
        found_bytes: usize,
    },
}

impl TestFrame {
    /// The shortest of this family and tag, with its frame check sequence.
    pub fn frame_bytes_min(&self) -> usize {
        self.headers_bytes() + STAMP_BYTES + FCS_BYTES
    }

    /// Bytes in memory: without the frame check sequence.
    pub fn memory_bytes(&self) -> usize {
        (self.frame_bytes as usize).saturating_sub(FCS_BYTES)
    }

    pub fn to_bytes(&self, stamp: Stamp) -> Result<Vec<u8>, TestFrameError> {
        self.check()?;
        let mut bytes = vec![0; self.memory_bytes()];
        self.write(stamp, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes the whole frame to the start of `buffer` and returns its length.
    /// Its cost hardly depends on the size: zeros need no sum.
    ///
    /// # Errors
    /// [`TestFrameError`]; then the buffer is as it was.
    pub fn write(&self, stamp: Stamp, buffer: &mut [u8]) -> Result<usize, TestFrameError> {
        let pseudo = self.check()?;
        let needed_bytes = self.memory_bytes();
        let found_bytes = buffer.len();
        let frame = buffer
            .get_mut(..needed_bytes)
            .ok_or(TestFrameError::Buffer {
                needed_bytes,
                found_bytes,
            })?;
        let network = self.write_link(frame);
        let network_bytes = network.len();
        let datagram = match pseudo {
            Pseudo::V4(source, destination) => {
                let header = ipv4::Repr::new(source, destination, protocol::UDP);
                let (head, datagram) = network.split_at_mut(ipv4::HEADER_BYTES);
                let payload_bytes = network_bytes - ipv4::HEADER_BYTES;
                header
                    .write_header(payload_bytes, head)
                    .expect("below 1518 bytes");
                datagram
            }
            Pseudo::V6(source, destination) => {
                let header = ipv6::Repr::new(source, destination, protocol::UDP);
                let (head, datagram) = network.split_at_mut(ipv6::HEADER_BYTES);
                let payload_bytes = network_bytes - ipv6::HEADER_BYTES;
                header
                    .write_header(payload_bytes, head)
                    .expect("below 1518 bytes");
                datagram
            }
        };
        self.write_datagram(&pseudo, stamp, datagram);
        Ok(needed_bytes)
    }

    fn check(&self) -> Result<Pseudo, TestFrameError> {
        let pseudo = Pseudo::new(self.source, self.destination)
            .ok_or(TestFrameError::Families(self.source, self.destination))?;
        if let Some(identifier) = self.vlan.filter(|vlan| *vlan > vlan::IDENTIFIER_MAX) {
            return Err(TestFrameError::Vlan(identifier));
        }
        let least = self.frame_bytes_min();
        let most = FRAME_BYTES_MAX + self.tag_bytes();
        if !(least..=most).contains(&(self.frame_bytes as usize)) {
            return Err(TestFrameError::Size {
                frame_bytes: self.frame_bytes,
                least,
                most,
            });
        }
        Ok(pseudo)
    }

    fn tag_bytes(&self) -> usize {
        self.vlan.map_or(0, |_| vlan::TAG_BYTES)
    }

    fn headers_bytes(&self) -> usize {
        let network = match self.destination {
            IpAddr::V4(_) => ipv4::HEADER_BYTES,
            IpAddr::V6(_) => ipv6::HEADER_BYTES,
        };
        ethernet::HEADER_BYTES + self.tag_bytes() + network + udp::HEADER_BYTES
    }

    fn write_link<'a>(&self, frame: &'a mut [u8]) -> &'a mut [u8] {
        let network = match self.destination {
            IpAddr::V4(_) => EtherType::IPV4,
            IpAddr::V6(_) => EtherType::IPV6,
        };
        let header = ethernet::Repr {
            destination: self.destination_ethernet,
            source: self.source_ethernet,
            ether_type: self.vlan.map_or(network, |_| EtherType::VLAN),
        };
        let (head, mut rest) = frame.split_at_mut(ethernet::HEADER_BYTES);
        head.copy_from_slice(&header.header());
        if let Some(identifier) = self.vlan {
            let tag = vlan::Repr {
                identifier,
                priority: 0,
                drop_eligible: false,
                ether_type: network,
            };
            let (head, behind) = rest.split_at_mut(vlan::TAG_BYTES);
            head.copy_from_slice(&tag.header().expect("the identifier was checked"));
            rest = behind;
        }
        rest
    }

    /// Writes ports, zeros and the stamp, and a checksum over what is not zero.
    fn write_datagram(&self, pseudo: &Pseudo, stamp: Stamp, datagram: &mut [u8]) {
        let stamp = stamp.to_bytes();
        let length = u16::try_from(datagram.len()).expect("below 1518");
        let (header, payload) = datagram.split_at_mut(udp::HEADER_BYTES);
        let (zeros, end) = payload.split_at_mut(payload.len() - STAMP_BYTES);
        zeros.fill(0);
        end.copy_from_slice(&stamp);
        header[..2].copy_from_slice(&self.source_port.to_be_bytes());
        header[2..4].copy_from_slice(&ECHO_PORT.to_be_bytes());
        header[4..6].copy_from_slice(&length.to_be_bytes());
        let sum = Sum::new()
            .over_pseudo(pseudo, protocol::UDP, length.into())
            .over(&header[..6]);
        // Behind an odd number of zeros, the stamp's bytes change halves.
        let sum = if zeros.len().is_multiple_of(2) {
            sum.over(&stamp)
        } else {
            sum.over(&shifted(&stamp))
        };
        header[6..].copy_from_slice(&udp::checksum(sum).to_be_bytes());
    }
}

fn shifted(stamp: &[u8; STAMP_BYTES]) -> [u8; STAMP_BYTES + 1] {
    let mut bytes = [0; STAMP_BYTES + 1];
    bytes[1..].copy_from_slice(stamp);
    bytes
}

/// The stamp of a frame of unknown origin: the last 18 bytes of its UDP payload,
/// skipping tags and IPv4 options. `None` for a frame that is not UDP, is a fragment,
/// or carries no stamp. Checksums are not verified: the tester counts what comes
/// back, damaged or not.
pub fn stamp_of(frame: &[u8]) -> Option<Stamp> {
    let payload = udp_payload(frame).ok()??;
    Stamp::from_bytes(payload.last_chunk()?)
}

fn udp_payload(frame: &[u8]) -> Result<Option<&[u8]>, ParseError> {
    let (ether_type, network) = ethernet::Packet::new(frame)?.network()?;
    let datagram = match ether_type {
        EtherType::IPV4 => {
            let packet = ipv4::Packet::new(network)?;
            (packet.protocol() == protocol::UDP && !packet.is_fragment()).then(|| packet.payload())
        }
        EtherType::IPV6 => {
            let upper = ipv6::Packet::new(network)?.upper()?;
            (upper.protocol == protocol::UDP && upper.fragment.is_none()).then_some(upper.payload)
        }
        _ => None,
    };
    Ok(match datagram {
        Some(datagram) => Some(udp::Packet::new(datagram)?.payload()),
        None => None,
    })
}
