//! Frames of the catalogue, damaged at random.

use proptest::prelude::*;
use proptest::sample::Index;

use crate::behaviour::catalogue::{Case, mirrored};

#[derive(Clone, Debug)]
pub enum Edit {
    Byte(Index, u8),
    /// One bit of the first 54 bytes, the headers, flips.
    HeaderBit(Index),
    /// A field of two bytes of the headers becomes a number that is often odd.
    HeaderField(Index, u16),
    Cut(Index),
    Pad(u8),
    Insert(Index, Vec<u8>),
    Remove(Index, u8),
}

#[derive(Clone, Debug)]
pub struct Mutation {
    case: Index,
    edits: Vec<Edit>,
    /// Put the IPv4 checksum right: with a wrong one every frame is dropped.
    right: bool,
    mirrored: bool,
}

const ODD: [u16; 12] = [
    0, 1, 7, 8, 0x14, 0x45, 0xff, 0x0800, 0x4000, 0x7fff, 0x8100, 0xffff,
];

fn edit() -> impl Strategy<Value = Edit> {
    let index = any::<Index>;
    let number = prop_oneof![any::<u16>(), proptest::sample::select(&ODD)];
    prop_oneof![
        3 => (index(), any::<u8>()).prop_map(|(at, byte)| Edit::Byte(at, byte)),
        6 => index().prop_map(Edit::HeaderBit),
        4 => (index(), number).prop_map(|(at, number)| Edit::HeaderField(at, number)),
        1 => index().prop_map(Edit::Cut),
        1 => any::<u8>().prop_map(Edit::Pad),
        1 => (index(), proptest::collection::vec(any::<u8>(), 1..40))
            .prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        1 => (index(), 1..20_u8).prop_map(|(at, count)| Edit::Remove(at, count)),
    ]
}

pub fn mutations() -> impl Strategy<Value = Mutation> {
    let edits = proptest::collection::vec(edit(), 1..4);
    let right = prop::bool::weighted(0.8);
    let mirrored = prop::bool::weighted(0.2);
    let parts = (any::<Index>(), edits, right, mirrored);
    parts.prop_map(|(case, edits, right, mirrored)| Mutation {
        case,
        edits,
        right,
        mirrored,
    })
}

const HEADER_BYTES: usize = 54;

/// What the port takes: the DUT's MTU, the header, a tag.
const FRAME_BYTES_MAX: usize = 1518;

impl Mutation {
    pub fn of<'a>(&self, cases: &'a [Case]) -> (&'a Case, usize, Vec<u8>) {
        let case = self.case.get(cases);
        let (port, mut frame) = if self.mirrored {
            (1 - case.port, mirrored(&case.frame))
        } else {
            (case.port, case.frame.clone())
        };
        for edit in &self.edits {
            apply(edit, &mut frame);
        }
        frame.truncate(FRAME_BYTES_MAX);
        frame.resize(frame.len().max(14), 0);
        if self.right {
            put_right(&mut frame);
        }
        (case, port, frame)
    }
}

fn apply(edit: &Edit, frame: &mut Vec<u8>) {
    let length = frame.len();
    let headers = length.min(HEADER_BYTES);
    if length < 2 {
        return;
    }
    match edit {
        Edit::Byte(at, byte) => frame[at.index(length)] = *byte,
        Edit::HeaderBit(at) => {
            let bit = at.index(headers * 8);
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        Edit::HeaderField(at, number) => {
            let at = at.index(headers / 2) * 2;
            frame[at..at + 2].copy_from_slice(&number.to_be_bytes());
        }
        Edit::Cut(at) => frame.truncate(at.index(length)),
        Edit::Pad(count) => frame.resize(length + usize::from(*count), 0),
        Edit::Insert(at, bytes) => {
            let at = at.index(length);
            frame.splice(at..at, bytes.iter().copied());
        }
        Edit::Remove(at, count) => {
            let at = at.index(length);
            frame.drain(at..length.min(at + usize::from(*count)));
        }
    }
}

/// A right IPv4 checksum, where there is a whole header.
fn put_right(frame: &mut [u8]) {
    let Ok((wire::EtherType::IPV4, network)) =
        wire::ethernet::Packet::new(frame).and_then(|frame| frame.network())
    else {
        return;
    };
    let at = frame.len() - network.len();
    let header_bytes = network
        .first()
        .map_or(0, |first| usize::from(first & 15) * 4);
    if header_bytes < 20 || network.len() < header_bytes {
        return;
    }
    let header = &mut frame[at..at + header_bytes];
    header[10..12].fill(0);
    let checksum = wire::checksum::of(header);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}
