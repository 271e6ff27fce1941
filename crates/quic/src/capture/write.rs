//! A pcapng file of IP packets, with the secrets to read them.

use std::io::{self, Write};

use wire::checksum::Pseudo;
use wire::{ipv4, ipv6, protocol, udp};

use super::Datagram;
use super::link::LinkType;
use super::pcapng::{BLOCK_BYTES_MAX, BLOCK_BYTES_MIN, BYTE_ORDER, SECRETS_TLS, SECTION, kind};

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("cannot write the capture")]
    Write(#[from] io::Error),
    #[error(
        "a {part} of {found_bytes} bytes is more than a capture holds, {limit_bytes}; split it"
    )]
    Long {
        part: &'static str,
        found_bytes: usize,
        limit_bytes: u32,
    },
}

/// One section in little-endian order with one interface, of link type
/// [`LinkType::RAW`] and nanoseconds. Writes as it goes: the output should be buffered.
pub struct Writer<W> {
    output: W,
}

impl<W: Write> Writer<W> {
    /// Writes section header and interface description.
    ///
    /// # Errors
    /// As the output reports them.
    pub fn new(output: W) -> Result<Self, WriteError> {
        let mut writer = Self { output };
        let section = [
            &BYTE_ORDER.to_le_bytes()[..],
            &1_u16.to_le_bytes(),
            &0_u16.to_le_bytes(),
            // The length of the section is not known.
            &u64::MAX.to_le_bytes(),
        ];
        writer.block(u32::from_le_bytes(SECTION), "section header", &section)?;
        let interface = [
            &u32::from(LinkType::RAW.0).to_le_bytes()[..],
            // Packets are not cut.
            &0_u32.to_le_bytes(),
            // if_tsresol, 1 byte: 10^-9; and the end of options.
            &[9, 0, 1, 0, 9, 0, 0, 0],
            &[0; 4],
        ];
        writer.block(kind::INTERFACE, "interface description", &interface)?;
        Ok(writer)
    }

    /// Writes the text of a key log, which readers expect before the packets it is for.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn secrets(&mut self, key_log: &[u8]) -> Result<(), WriteError> {
        let bytes = length("key log", key_log.len())?;
        let head = [SECRETS_TLS.to_le_bytes(), bytes.to_le_bytes()];
        let body = [head.as_flattened(), key_log];
        self.block(kind::SECRETS, "key log", &body)
    }

    /// Writes an IPv4 or IPv6 packet; the time is [`super::Frame::time_ns`].
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn packet(&mut self, time_ns: u64, packet: &[u8]) -> Result<(), WriteError> {
        let bytes = length("packet", packet.len())?;
        let interface = 0_u32;
        let high = u32::try_from(time_ns >> 32).expect("it has 32 bits");
        let low = u32::try_from(time_ns & 0xffff_ffff).expect("it has 32 bits");
        let head = [interface, high, low, bytes, bytes].map(u32::to_le_bytes);
        self.block(kind::ENHANCED, "packet", &[head.as_flattened(), packet])
    }

    /// Writes a datagram as one packet, whatever it was captured in.
    ///
    /// # Errors
    /// [`WriteError`]; of one that no IP packet holds, too.
    pub fn datagram(&mut self, datagram: &Datagram) -> Result<(), WriteError> {
        let packet = packet(datagram).ok_or(WriteError::Long {
            part: "datagram",
            found_bytes: datagram.payload.len(),
            limit_bytes: PAYLOAD_BYTES_MAX,
        })?;
        self.packet(datagram.time_ns, &packet)
    }

    /// # Errors
    /// As the output reports them.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.output.flush()?;
        Ok(self.output)
    }

    /// The last piece may have any length: it is padded (section 3.1).
    fn block(&mut self, kind: u32, part: &'static str, pieces: &[&[u8]]) -> Result<(), WriteError> {
        let body_bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        let padded_bytes = body_bytes.next_multiple_of(4);
        let bytes = length(part, padded_bytes)? + BLOCK_BYTES_MIN;
        self.output.write_all(&kind.to_le_bytes())?;
        self.output.write_all(&bytes.to_le_bytes())?;
        for piece in pieces {
            self.output.write_all(piece)?;
        }
        self.output
            .write_all(&[0; 3][..padded_bytes - body_bytes])?;
        self.output.write_all(&bytes.to_le_bytes())?;
        Ok(())
    }
}

/// Of what a block holds.
/// Behind an IPv4 header without options and a UDP header.
const PAYLOAD_BYTES_MAX: u32 = 65_507;

/// `None` where it is too long, or source and destination are not of one version.
fn packet(datagram: &Datagram) -> Option<Vec<u8>> {
    let Datagram {
        source,
        destination,
        ..
    } = datagram;
    let pseudo = Pseudo::new(source.ip(), destination.ip())?;
    let ports = udp::Repr {
        source_port: source.port(),
        destination_port: destination.port(),
    };
    let bytes = ports.to_bytes(&pseudo, &datagram.payload).ok()?;
    let packet = match pseudo {
        Pseudo::V4(source, destination) => {
            ipv4::Repr::new(source, destination, protocol::UDP).to_bytes(&bytes)
        }
        Pseudo::V6(source, destination) => {
            ipv6::Repr::new(source, destination, protocol::UDP).to_bytes(&bytes)
        }
    };
    packet.ok()
}

fn length(part: &'static str, found_bytes: usize) -> Result<u32, WriteError> {
    const LIMIT_BYTES: u32 = BLOCK_BYTES_MAX - BLOCK_BYTES_MIN;
    let bytes = u32::try_from(found_bytes).ok();
    let bytes = bytes.filter(|bytes| *bytes <= LIMIT_BYTES);
    bytes.ok_or(WriteError::Long {
        part,
        found_bytes,
        limit_bytes: LIMIT_BYTES,
    })
}
