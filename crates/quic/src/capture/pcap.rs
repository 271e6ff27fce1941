//! Classic captures (draft-ietf-opsawg-pcap).

use std::io::Read;

use super::fields::{Fields, Order};
use super::link::LinkType;
use super::source::Source;
use super::{Frame, OpenError, ReadError};

/// Of a packet as captured. No snap length of tcpdump or Wireshark is larger.
pub const RECORD_BYTES_MAX: u32 = 256 << 10;

const HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
const MAJOR: u16 = 2;
const MINOR: u16 = 4;
/// A value of the first field, and how long a tick of the fraction is (section 4).
const MAGICS: [(u32, u64); 2] = [(0xa1b2_c3d4, 1000), (0xa1b2_3c4d, 1)];

pub(super) struct Pcap {
    order: Order,
    tick_ns: u64,
    link: LinkType,
}

/// Byte order and tick of a capture that begins with `magic`; `None` if it is no pcap.
pub(super) fn recognise(magic: [u8; 4]) -> Option<(Order, u64)> {
    let found = |order: Order| {
        let known = MAGICS.iter().find(|(known, _)| *known == order.u32(magic));
        known.map(|(_, tick_ns)| (order, *tick_ns))
    };
    found(Order::Little).or_else(|| found(Order::Big))
}

impl Pcap {
    pub fn open<R: Read>(
        (order, tick_ns): (Order, u64),
        source: &mut Source<R>,
    ) -> Result<Self, OpenError> {
        const PART: &str = "header of the file";
        let header = source.exact(HEADER_BYTES, PART)?;
        let mut fields = Fields::new(order, &header[4..]);
        let mut header = || {
            let version = (fields.u16()?, fields.u16()?);
            // Zone, accuracy and snap length: each record says whether it was cut.
            fields.take(12)?;
            Some((version, fields.u32()?))
        };
        let ((major, minor), link) = header().ok_or_else(|| source.truncated(PART))?;
        if (major, minor) != (MAJOR, MINOR) {
            return Err(OpenError::Version { major, minor });
        }
        Ok(Self {
            order,
            tick_ns,
            link: LinkType::of_field(link),
        })
    }

    /// The next record, without its number; `None` where the capture ends.
    pub fn frame<R: Read>(&self, source: &mut Source<R>) -> Result<Option<Frame>, ReadError> {
        let at = source.at();
        let Some(header) = source.array::<RECORD_HEADER_BYTES>("header of a packet")? else {
            return Ok(None);
        };
        let [s, ticks, captured_bytes, original_bytes] = self.record(header);
        if captured_bytes > RECORD_BYTES_MAX {
            let found_bytes = captured_bytes;
            return Err(ReadError::RecordBytes { at, found_bytes });
        }
        let bytes = captured_bytes as usize;
        let mut bytes = source.exact(bytes, "packet")?;
        Ok(Some(Frame {
            time_ns: u64::from(s) * 1_000_000_000 + u64::from(ticks) * self.tick_ns,
            link: self.link,
            bytes: std::mem::take(&mut *bytes),
            is_cut: captured_bytes < original_bytes,
            number: 0,
        }))
    }

    fn record(&self, header: [u8; RECORD_HEADER_BYTES]) -> [u32; 4] {
        let (words, _) = header.as_chunks::<4>();
        std::array::from_fn(|at| self.order.u32(words[at]))
    }
}
