//! Captures of the next generation (draft-ietf-opsawg-pcapng).

use std::io::Read;

use zeroize::Zeroizing;

use super::fields::{Fields, Order};
use super::interface::Interface;
use super::source::Source;
use super::{Frame, Item, ReadError};

/// Of a block, with its type and both lengths.
pub const BLOCK_BYTES_MAX: u32 = 16 << 20;
/// Of a section.
pub const INTERFACES_MAX: usize = 4096;

/// Type, length, and the length again.
pub(super) const BLOCK_BYTES_MIN: u32 = 12;
/// The same in either byte order (section 4.1).
pub(super) const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
pub(super) const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// TLS key log, as NSS writes it (section 4.7).
pub(super) const SECRETS_TLS: u32 = 0x544c_534b;
const MAJOR: u16 = 1;

/// Types of blocks (the registry of standardized ones).
pub(super) mod kind {
    pub const INTERFACE: u32 = 1;
    /// Obsolete (appendix A).
    pub const PACKET: u32 = 2;
    pub const SIMPLE: u32 = 3;
    pub const ENHANCED: u32 = 6;
    pub const SECRETS: u32 = 10;

    pub const READ: [u32; 5] = [INTERFACE, PACKET, SIMPLE, ENHANCED, SECRETS];
}

/// The section that is being read.
#[derive(Default)]
pub(super) struct Pcapng {
    order: Order,
    interfaces: Vec<Interface>,
}

/// What stands before a packet's bytes.
struct Head {
    interface: u32,
    /// `None` in a simple packet block.
    ticks: Option<u64>,
    captured_bytes: u32,
    original_bytes: u32,
    /// Of the fields themselves.
    head_bytes: usize,
}

impl Pcapng {
    /// The next packet, without its number, or secrets; `None` where the capture ends.
    pub fn item<R: Read>(&mut self, source: &mut Source<R>) -> Result<Option<Item>, ReadError> {
        loop {
            let at = source.at();
            let Some(head) = source.array::<8>("header of a block")? else {
                return Ok(None);
            };
            let (words, _) = head.as_chunks::<4>();
            if words[0] == SECTION {
                self.section(at, words[1], source)?;
                continue;
            }
            let block = (self.order.u32(words[0]), self.order.u32(words[1]));
            if let Some(item) = self.block(at, block, source)? {
                return Ok(Some(item));
            }
        }
    }

    /// A section header: from here on another byte order and other interfaces.
    fn section<R: Read>(
        &mut self,
        at: u64,
        bytes: [u8; 4],
        source: &mut Source<R>,
    ) -> Result<(), ReadError> {
        const PART: &str = "section header";
        let mark = source.array(PART)?.ok_or_else(|| source.truncated(PART))?;
        let orders = [Order::Little, Order::Big];
        let order = orders.iter().find(|order| order.u32(mark) == BYTE_ORDER);
        *self = Self {
            order: *order.ok_or(ReadError::ByteOrder { at, found: mark })?,
            interfaces: Vec::new(),
        };
        let bytes = self.order.u32(bytes);
        let left = body_bytes(at, bytes)?.checked_sub(4);
        let body = source.exact(left.unwrap_or_default(), PART)?;
        let mut fields = Fields::new(self.order, &body);
        let version = fields.u16().zip(fields.u16());
        let (major, minor) = version.ok_or(ReadError::Block { at, part: PART })?;
        if major != MAJOR {
            return Err(ReadError::Version { at, major, minor });
        }
        self.end(at, bytes, source)
    }

    fn block<R: Read>(
        &mut self,
        at: u64,
        (kind, bytes): (u32, u32),
        source: &mut Source<R>,
    ) -> Result<Option<Item>, ReadError> {
        let body_bytes = body_bytes(at, bytes)?;
        if !kind::READ.contains(&kind) {
            source.skip(body_bytes, "block")?;
            self.end(at, bytes, source)?;
            return Ok(None);
        }
        let body = source.exact(body_bytes, "block")?;
        self.end(at, bytes, source)?;
        match kind {
            kind::INTERFACE => self.interface(at, &body).map(|()| None),
            kind::SECRETS => self.secrets(at, body),
            _ => self.packet(at, kind, body).map(Some),
        }
    }

    /// The length again.
    fn end<R: Read>(
        &self,
        at: u64,
        first_bytes: u32,
        source: &mut Source<R>,
    ) -> Result<(), ReadError> {
        const PART: &str = "block";
        let last = source.array(PART)?.ok_or_else(|| source.truncated(PART))?;
        let last_bytes = self.order.u32(last);
        if first_bytes != last_bytes {
            return Err(ReadError::BlockEnds {
                at,
                first_bytes,
                last_bytes,
            });
        }
        Ok(())
    }

    fn interface(&mut self, at: u64, body: &[u8]) -> Result<(), ReadError> {
        const PART: &str = "interface description";
        if self.interfaces.len() == INTERFACES_MAX {
            return Err(ReadError::Interfaces { at });
        }
        let read = Interface::read(Fields::new(self.order, body));
        let interface = read.ok_or(ReadError::Block { at, part: PART })?;
        self.interfaces.push(interface);
        Ok(())
    }

    /// Those of other protocols are passed over.
    fn secrets(&self, at: u64, mut body: Zeroizing<Vec<u8>>) -> Result<Option<Item>, ReadError> {
        const PART: &str = "decryption secrets block";
        let mut fields = Fields::new(self.order, &body);
        let mut head = || Some((fields.u32()?, fields.u32()?));
        let (kind, bytes) = head().ok_or(ReadError::Block { at, part: PART })?;
        if kind != SECRETS_TLS {
            return Ok(None);
        }
        if !keep(&mut body, 8, bytes) {
            return Err(ReadError::Block { at, part: PART });
        }
        Ok(Some(Item::Secrets(body.into())))
    }

    fn packet(&self, at: u64, kind: u32, mut body: Zeroizing<Vec<u8>>) -> Result<Item, ReadError> {
        let malformed = ReadError::Block {
            at,
            part: "packet block",
        };
        let fields = Fields::new(self.order, &body);
        let Some(head) = self.head(kind, fields) else {
            return Err(malformed);
        };
        let number = head.interface;
        let found = self.interfaces.get(number as usize);
        let Some(interface) = found else {
            let count = self.interfaces.len();
            return Err(ReadError::Interface { at, number, count });
        };
        if !keep(&mut body, head.head_bytes, head.captured_bytes) {
            return Err(malformed);
        }
        Ok(Item::Packet(Frame {
            time_ns: head.ticks.map_or(0, |ticks| interface.time_ns(ticks)),
            link: interface.link,
            bytes: std::mem::take(&mut *body),
            is_cut: head.captured_bytes < head.original_bytes,
            number: 0,
        }))
    }

    fn head(&self, kind: u32, mut fields: Fields<'_>) -> Option<Head> {
        if kind == kind::SIMPLE {
            return self.simple(fields);
        }
        let interface = if kind == kind::PACKET {
            let interface = fields.u16()?;
            // How many were dropped before it.
            fields.u16()?;
            interface.into()
        } else {
            fields.u32()?
        };
        Some(Head {
            interface,
            ticks: Some(fields.ticks()?),
            captured_bytes: fields.u32()?,
            original_bytes: fields.u32()?,
            head_bytes: 20,
        })
    }

    /// It is of the first interface, and cut where that says so (section 4.4).
    fn simple(&self, mut fields: Fields<'_>) -> Option<Head> {
        let original_bytes = fields.u32()?;
        let snap_bytes = self.interfaces.first().map_or(0, |first| first.snap_bytes);
        let snap_bytes = if snap_bytes == 0 {
            u32::MAX
        } else {
            snap_bytes
        };
        Some(Head {
            interface: 0,
            ticks: None,
            captured_bytes: original_bytes.min(snap_bytes),
            original_bytes,
            head_bytes: 4,
        })
    }
}

/// Bytes between the first length and the last.
fn body_bytes(at: u64, found_bytes: u32) -> Result<usize, ReadError> {
    let is_valid = (BLOCK_BYTES_MIN..=BLOCK_BYTES_MAX).contains(&found_bytes);
    if !is_valid || !found_bytes.is_multiple_of(4) {
        return Err(ReadError::BlockBytes { at, found_bytes });
    }
    Ok((found_bytes - BLOCK_BYTES_MIN) as usize)
}

/// Leaves `bytes` from `start` on; whether they are there.
fn keep(body: &mut Vec<u8>, start: usize, bytes: u32) -> bool {
    let end = start + bytes as usize;
    let is_there = end <= body.len();
    if is_there {
        body.truncate(end);
        body.drain(..start);
    }
    is_there
}
