//! Where the jobs of a batch lie.

use lockgate_crypto::{Job, Key, Kind, Segment, Segments};

use super::random::Random;
use super::shape::Shape;

#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub key: usize,
    pub source: (usize, usize),
    pub destination: (usize, usize),
    pub aad: (usize, usize),
    pub tag: (usize, usize),
    pub iv: [u8; 16],
}

pub fn place(kind: Kind, keys: usize, random: &mut Random, end: &mut usize) -> Place {
    let shape = Shape::near(kind, random.text_bytes(), random.below(49));
    let gaps = random.next();
    let mut piece = |len: usize, turn: u32| {
        let at = *end + (gaps >> (8 * turn) & 31) as usize;
        *end = at + len;
        (at, len)
    };
    let source = piece(shape.source, 0);
    let is_in_place = shape.source == shape.destination && gaps >> 40 & 1 == 1;
    let destination = if is_in_place {
        source
    } else {
        piece(shape.destination, 1)
    };
    let aad = piece(shape.aad, 2);
    let tag = piece(shape.tag, 3);
    let mut iv = [0; 16];
    iv[..8].copy_from_slice(&random.next().to_le_bytes());
    iv[8..].copy_from_slice(&random.next().to_le_bytes());
    // Every eighth counter is about to wrap.
    if gaps >> 41 & 7 == 0 {
        iv[12 - (gaps >> 44 & 7) as usize..15].fill(0xff);
    }
    Place {
        key: random.below(keys),
        source,
        destination,
        aad,
        tag,
        iv,
    }
}

pub fn job<'k>(place: &Place, key: &'k dyn Key, base: *mut u8) -> Job<'k> {
    let at = |(offset, len): (usize, usize)| Segment::new(base.wrapping_add(offset), len);
    Job {
        key,
        source: Segments::one(at(place.source)),
        destination: Segments::one(at(place.destination)),
        iv: place.iv,
        aad: at(place.aad),
        tag: at(place.tag),
    }
}
