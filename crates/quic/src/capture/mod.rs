//! Packet captures of strangers, read as a stream: pcap and pcapng to frames, frames to
//! UDP datagrams, key logs; and a pcapng writer.
//!
//! Everything here is hostile input. Each length is limited before it is believed, and
//! memory is bounded by [`RECORD_BYTES_MAX`], [`BLOCK_BYTES_MAX`], [`INTERFACES_MAX`],
//! [`ENTRIES_MAX`] and what [`Datagrams`] holds of fragments, whatever the file's size.

mod datagrams;
mod fields;
mod fragments;
mod interface;
mod keylog;
mod link;
mod pcap;
mod pcapng;
mod secret;
mod source;
mod write;

use std::io::{self, Read};

pub use datagrams::{Datagram, Datagrams, Skip, Skipped};
pub use fragments::{DATAGRAMS_MAX, HELD_NS_MAX};
pub use keylog::{ENTRIES_MAX, KeyLog, KeyLogError, LINE_BYTES_MAX, Label};
pub use link::LinkType;
pub use pcap::RECORD_BYTES_MAX;
pub use pcapng::{BLOCK_BYTES_MAX, INTERFACES_MAX};
pub use secret::Secret;
pub use write::{WriteError, Writer};

use pcap::Pcap;
use pcapng::Pcapng;
use source::Source;

/// A packet as it was captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Since 1970 began, UTC. 0 in a simple packet block, which has no time, and for
    /// times before; [`u64::MAX`] for times beyond.
    pub time_ns: u64,
    pub link: LinkType,
    pub bytes: Vec<u8>,
    /// The snap length left bytes out.
    pub is_cut: bool,
    /// In the whole capture, from 1, as Wireshark counts.
    pub number: u64,
}

#[derive(Clone, Debug)]
pub enum Item {
    Packet(Frame),
    /// The text of a key log that the capture brings along, for [`KeyLog::add`].
    Secrets(Secret),
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the capture is empty; capture packets with tcpdump -w FILE")]
    Empty,
    #[error("the file is {name}, not pcap or pcapng; {remedy}")]
    Other {
        name: &'static str,
        remedy: &'static str,
    },
    #[error(
        "the file is no pcap or pcapng: it begins with {magic:02x?}; convert it with editcap -F pcapng"
    )]
    Unknown { magic: Vec<u8> },
    #[error("pcap of version {major}.{minor}, not 2.4; convert it with editcap -F pcapng")]
    Version { major: u16, minor: u16 },
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// What is before the byte that it names was read and is good.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read the capture at byte {at}")]
    Read {
        at: u64,
        #[source]
        source: io::Error,
    },
    #[error("the capture ends at byte {at}, inside a {part}; copy it again, whole")]
    Truncated { at: u64, part: &'static str },
    #[error(
        "the packet at byte {at} says to have {found_bytes} bytes; the limit is {RECORD_BYTES_MAX}; the capture is damaged there, or take it with tcpdump -s {RECORD_BYTES_MAX}"
    )]
    RecordBytes { at: u64, found_bytes: u32 },
    #[error(
        "the block at byte {at} says to have {found_bytes} bytes; 12 to {BLOCK_BYTES_MAX} are read, in multiples of 4; the capture is damaged there, or write it anew with editcap -F pcapng"
    )]
    BlockBytes { at: u64, found_bytes: u32 },
    #[error(
        "the block at byte {at} has {first_bytes} bytes by its beginning and {last_bytes} by its end; the capture is damaged there: copy it again"
    )]
    BlockEnds {
        at: u64,
        first_bytes: u32,
        last_bytes: u32,
    },
    #[error(
        "the section at byte {at} has the byte-order mark {found:02x?}, not 1a2b3c4d in either order; the capture is damaged there: copy it again"
    )]
    ByteOrder { at: u64, found: [u8; 4] },
    #[error(
        "the section at byte {at} is pcapng of version {major}.{minor}, not 1; convert it with editcap -F pcapng"
    )]
    Version { at: u64, major: u16, minor: u16 },
    #[error(
        "the {part} at byte {at} is shorter than its fields say; the capture is damaged there: copy it again"
    )]
    Block { at: u64, part: &'static str },
    #[error(
        "the packet at byte {at} is of interface {number}, and the section has {count} of them; the capture is damaged there: copy it again"
    )]
    Interface { at: u64, number: u32, count: usize },
    #[error(
        "the interface at byte {at} is one more than the {INTERFACES_MAX} that a section may have; split the capture"
    )]
    Interfaces { at: u64 },
}

enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// The items of a capture. The first error is the last item.
pub struct Capture<R> {
    source: Source<R>,
    format: Format,
    frames: u64,
    is_over: bool,
}

impl<R: Read> Capture<R> {
    /// Recognises the format by its first bytes, and reads pcap's header. The input need
    /// not be buffered.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(input: R) -> Result<Self, OpenError> {
        let mut source = Source::new(input);
        let format = recognise(&mut source)?;
        Ok(Self {
            source,
            format,
            frames: 0,
            is_over: false,
        })
    }

    fn item(&mut self) -> Result<Option<Item>, ReadError> {
        let item = match &mut self.format {
            Format::Pcap(pcap) => pcap.frame(&mut self.source)?.map(Item::Packet),
            Format::Pcapng(pcapng) => pcapng.item(&mut self.source)?,
        };
        Ok(item.map(|item| self.numbered(item)))
    }

    fn numbered(&mut self, item: Item) -> Item {
        let Item::Packet(frame) = item else {
            return item;
        };
        self.frames += 1;
        let number = self.frames;
        Item::Packet(Frame { number, ..frame })
    }
}

impl<R: Read> Iterator for Capture<R> {
    type Item = Result<Item, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let item = self.item().transpose();
        self.is_over = !matches!(item, Some(Ok(_)));
        item
    }
}

fn recognise<R: Read>(source: &mut Source<R>) -> Result<Format, OpenError> {
    let magic = source.peek(4)?;
    if magic.is_empty() {
        return Err(OpenError::Empty);
    }
    if magic == pcapng::SECTION {
        return Ok(Format::Pcapng(Pcapng::default()));
    }
    let found = magic
        .first_chunk()
        .and_then(|magic| pcap::recognise(*magic));
    let Some(found) = found else {
        return Err(other(magic));
    };
    Ok(Format::Pcap(Pcap::open(found, source)?))
}

/// What the file is instead, as far as four bytes say it.
fn other(magic: &[u8]) -> OpenError {
    const UNPACK: &str = "unpack it first";
    const CONVERT: &str = "convert it first: editcap -F pcapng";
    const OTHERS: [(&[u8], &str, &str); 14] = [
        (b"\x1f\x8b", "packed with gzip", UNPACK),
        (b"\x28\xb5\x2f\xfd", "packed with zstd", UNPACK),
        (b"\xfd7zX", "packed with xz", UNPACK),
        (b"BZh", "packed with bzip2", UNPACK),
        (b"\x04\x22\x4d\x18", "packed with lz4", UNPACK),
        (b"PK\x03\x04", "a zip archive", UNPACK),
        (b"snoo", "a capture of snoop", CONVERT),
        (b"iptr", "a capture of iptrace", CONVERT),
        (b"GMBU", "a capture of Network Monitor", CONVERT),
        (b"RTSS", "a capture of Network Monitor", CONVERT),
        (b"TRSN", "a capture of Sniffer", CONVERT),
        (b"btsn", "a Bluetooth capture", "take one of an IP network"),
        (b"\x34\xcd\xb2\xa1", "modified pcap", CONVERT),
        (b"\xa1\xb2\xcd\x34", "modified pcap", CONVERT),
    ];
    let found = OTHERS.iter().find(|(known, ..)| magic.starts_with(known));
    match *found.unwrap_or(&(b"", "", "")) {
        (b"", ..) => OpenError::Unknown {
            magic: magic.to_vec(),
        },
        (_, name, remedy) => OpenError::Other { name, remedy },
    }
}
