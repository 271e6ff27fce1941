//! Where the jobs of a batch lie.

use lockgate_crypto::{Algorithm, Job, Key, Kind, Operation, Segment, Segments};

use super::random::Random;

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
    let (text, result) = lengths(kind, random.text_bytes());
    let aad_bytes = if kind.algorithm.is_aead() {
        random.below(49)
    } else {
        0
    };
    let gaps = random.next();
    let mut piece = |len: usize, turn: u32| {
        let at = *end + (gaps >> (8 * turn) & 31) as usize;
        *end = at + len;
        (at, len)
    };
    let source = piece(text, 0);
    let is_in_place = text == result && gaps >> 40 & 1 == 1;
    let destination = if is_in_place {
        source
    } else {
        piece(result, 1)
    };
    let aad = piece(aad_bytes, 2);
    let tag = piece(kind.algorithm.tag_bytes(kind.operation), 3);
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

/// Bytes of source and destination, as close to `text_bytes` as the kind can.
fn lengths(kind: Kind, text_bytes: usize) -> (usize, usize) {
    use Algorithm as A;
    match kind.algorithm {
        A::Aes128Ecb | A::Aes192Ecb | A::Aes256Ecb | A::Aes128Cbc | A::Aes192Cbc | A::Aes256Cbc => {
            (text_bytes & !15, text_bytes & !15)
        }
        A::Aes128Xts | A::Aes256Xts => (text_bytes.max(16), text_bytes.max(16)),
        algorithm if kind.operation == Operation::Hash => (text_bytes, algorithm.digest_bytes()),
        _ => (text_bytes, text_bytes),
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
