//! Random layouts: scattered, misaligned, in place or not.

use proptest::prelude::*;

use lockgate_crypto::Kind;

use super::{Piece, Prepared, Shape, noise};

/// How the text of one job lies in memory.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Where the source is cut, in 1/65,536 of its length.
    pub source_cuts: Vec<u16>,
    pub destination_cuts: Vec<u16>,
    pub gaps: Vec<u8>,
    pub placement: Placement,
    pub reversed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    InPlace,
    SameBytes,
    Apart,
}

#[derive(Clone, Debug)]
pub struct Spec {
    pub text_bytes: usize,
    pub aad_bytes: usize,
    pub layout: Layout,
    pub seed: u64,
    /// Flip this bit of ciphertext, additional data and tag, where there is one.
    pub flip: Option<u32>,
}

pub fn layouts() -> impl Strategy<Value = Layout> {
    // Half of all jobs are contiguous on both sides: the direct path.
    let cuts =
        || prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(any::<u16>(), 1..12)];
    let placement = prop_oneof![
        Just(Placement::InPlace),
        Just(Placement::SameBytes),
        Just(Placement::Apart),
    ];
    let gaps = prop::collection::vec(0..40_u8, 1..6);
    (cuts(), cuts(), gaps, placement, any::<bool>()).prop_map(
        |(source_cuts, destination_cuts, gaps, placement, reversed)| Layout {
            source_cuts,
            destination_cuts,
            gaps,
            placement,
            reversed,
        },
    )
}

/// Lengths from none to 128 KiB, many of them around borders: of blocks, of
/// pages, of 16 KiB, of 64 KiB, where counts of 16 bits end, of 128 KiB.
pub fn lengths() -> impl Strategy<Value = usize> {
    let borders = [
        0..=17_usize,
        63..=65,
        127..=129,
        4095..=4097,
        16_383..=16_385,
        65_519..=65_537,
        131_055..=131_072,
    ];
    let around = move |at: usize| borders[at].clone();
    prop_oneof![
        6 => 0..600_usize,
        2 => 600..20_000_usize,
        1 => 20_000..=131_072_usize,
        3 => (0..7_usize).prop_flat_map(around),
        2 => (0..40_usize, 0..32_usize).prop_map(|(n, more)| n * 16 + more % 3),
        // Around the borders of chunks, where stealing meets chaining.
        1 => (1..32_usize, 0..48_usize).prop_map(|(n, more)| n * 4096 - 16 + more),
    ]
}

pub fn specs() -> impl Strategy<Value = Spec> {
    specs_of(lengths())
}

pub fn many_specs() -> impl Strategy<Value = Spec> {
    specs_of(prop_oneof![60 => 0..300_usize, 1 => 65_500..140_000_usize])
}

fn specs_of(lengths: impl Strategy<Value = usize>) -> impl Strategy<Value = Spec> {
    let aad = prop_oneof![Just(0), 1..300_usize, Just(16)];
    let flip = prop_oneof![2 => Just(None), 1 => any::<u32>().prop_map(Some)];
    (lengths, aad, layouts(), any::<u64>(), flip).prop_map(
        |(text_bytes, aad_bytes, layout, seed, flip)| Spec {
            text_bytes,
            aad_bytes,
            layout,
            seed,
            flip,
        },
    )
}

/// A job of about a mebibyte, cut in a few places at odd addresses.
pub fn mebibyte(text_bytes: usize) -> Spec {
    let is_even = text_bytes.is_multiple_of(2);
    let cuts = |all: [u16; 4]| if is_even { Vec::new() } else { all.to_vec() };
    Spec {
        text_bytes,
        aad_bytes: 21,
        layout: Layout {
            source_cuts: cuts([1, 4095, 4097, 60_000]),
            destination_cuts: cuts([3, 777, 30_001, 65_535]),
            gaps: vec![1, 7, 3],
            placement: if is_even {
                Placement::InPlace
            } else {
                Placement::Apart
            },
            reversed: false,
        },
        seed: text_bytes as u64,
        flip: None,
    }
}

impl Spec {
    pub fn prepare(&self, kind: Kind) -> Prepared {
        let mut place = Place {
            layout: &self.layout,
            end: 0,
            turn: 0,
        };
        let shape = self.shape(kind);
        let [source, destination] = self.text(shape, &mut place);
        let aad = place.piece(shape.aad);
        let tag = place.piece(shape.tag);
        Prepared {
            arena: noise(self.seed, place.end + 16),
            source,
            destination,
            aad,
            tag,
            iv: self.iv(),
        }
    }

    fn iv(&self) -> [u8; 16] {
        let mut iv: [u8; 16] = noise(self.seed ^ 0x1234, 16).try_into().expect("16 bytes");
        match self.seed % 4 {
            0 => iv[..15].fill(0xff),
            1 => iv[12..15].fill(0xff),
            _ => {}
        }
        iv
    }

    pub fn shape(&self, kind: Kind) -> Shape {
        Shape::near(kind, self.text_bytes, self.aad_bytes)
    }

    fn text(&self, shape: Shape, place: &mut Place<'_>) -> [Vec<Piece>; 2] {
        let (text_bytes, destination_bytes) = (shape.source, shape.destination);
        let source_cuts = cut(text_bytes, &self.layout.source_cuts);
        let destination_cuts = cut(destination_bytes, &self.layout.destination_cuts);
        let same_length = destination_bytes == text_bytes;
        match self.layout.placement {
            Placement::InPlace if same_length => {
                let both = place.pieces(&source_cuts);
                [both.clone(), both]
            }
            Placement::SameBytes if same_length => {
                let whole = place.piece(text_bytes).0;
                [
                    adjacent(whole, &source_cuts),
                    adjacent(whole, &destination_cuts),
                ]
            }
            _ => [place.pieces(&source_cuts), place.pieces(&destination_cuts)],
        }
    }
}

/// Lengths of the pieces of `bytes` cut at `cuts`; some may be empty.
fn cut(bytes: usize, cuts: &[u16]) -> Vec<usize> {
    let mut at: Vec<usize> = cuts
        .iter()
        .map(|&cut| (bytes * usize::from(cut)) >> 16)
        .collect();
    at.sort_unstable();
    at.insert(0, 0);
    at.push(bytes);
    at.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn adjacent(mut at: usize, lens: &[usize]) -> Vec<Piece> {
    lens.iter()
        .map(|&len| {
            let piece = (at, len);
            at += len;
            piece
        })
        .collect()
}

/// Takes pieces of the arena one after the other, with gaps.
struct Place<'l> {
    layout: &'l Layout,
    end: usize,
    turn: usize,
}

impl Place<'_> {
    fn piece(&mut self, len: usize) -> Piece {
        let gap = self.layout.gaps[self.turn % self.layout.gaps.len()];
        self.turn += 1;
        let at = self.end + usize::from(gap);
        self.end = at + len;
        (at, len)
    }

    fn pieces(&mut self, lens: &[usize]) -> Vec<Piece> {
        if self.layout.reversed {
            let mut pieces: Vec<Piece> = lens.iter().rev().map(|&len| self.piece(len)).collect();
            pieces.reverse();
            pieces
        } else {
            lens.iter().map(|&len| self.piece(len)).collect()
        }
    }
}
