//! The choice, laid out for looking up: it is made for every batch.

use std::sync::Arc;

use super::Calibration;
use super::grid::{CELLS, cell, place};
use crate::{Algorithm, Backend, Kind, Operation, Packets, SectorIv, SectorMode, Sectors};

#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    cells: [u8; CELLS],
    pub(super) width: usize,
    /// The candidate that processes messages in pieces, the same for all of a
    /// message.
    pub(super) of_pieces: Option<usize>,
}

impl Row {
    pub(super) fn choice(&self, bytes: usize, jobs: usize) -> usize {
        usize::from(self.cells[cell(bytes, jobs)])
    }

    pub(super) fn chosen(&self) -> impl Iterator<Item = usize> {
        self.cells.into_iter().map(usize::from)
    }
}

/// A row for each kind that some candidate has.
pub(super) struct Plan(Box<[Option<Row>; ROWS]>);

impl Plan {
    /// By `calibration`; where it knows nothing, the first candidate that has
    /// the kind.
    pub(super) fn new(calibration: &Calibration, candidates: &[Arc<dyn Backend>]) -> Self {
        let mut rows = Box::new([None; ROWS]);
        let sectors = Sectors::new(SectorMode::Xts, SectorIv::Plain64, 64, 512);
        let sectors = Algorithm::Sectors(sectors.expect("sizes that there are"));
        let others = Packets::ALL.map(Algorithm::Packets).into_iter();
        let others = others.chain([sectors]).flat_map(|algorithm| {
            let operations = algorithm.operations().iter();
            operations.map(move |&operation| Kind::new(algorithm, operation))
        });
        for kind in Kind::all().chain(others) {
            rows[index(kind)] = row(kind, calibration, candidates);
        }
        Self(rows)
    }

    pub(super) fn row(&self, kind: Kind) -> Option<&Row> {
        self.0[index(kind)].as_ref()
    }
}

fn row(kind: Kind, calibration: &Calibration, candidates: &[Arc<dyn Backend>]) -> Option<Row> {
    let first = candidates.iter().position(|one| one.supports(kind))?;
    let mut row = Row {
        cells: [0; CELLS],
        width: 1,
        of_pieces: None,
    };
    for (index, own) in row.cells.iter_mut().enumerate() {
        let (bytes, jobs) = place(index);
        let chosen = calibration.choice(kind, bytes, jobs).unwrap_or(first);
        *own = u8::try_from(chosen).expect("a handful of candidates");
        row.width = row.width.max(candidates[chosen].width(kind));
    }
    // The one for a long message that is alone, if it can.
    let best = row.choice(PIECE_BYTES, 1);
    let mut all = std::iter::once(best).chain(0..candidates.len());
    row.of_pieces = all.find(|&one| candidates[one].continues(kind));
    Some(row)
}

const PIECE_BYTES: usize = 16 << 10;

const OPERATIONS: usize = Operation::ALL.len();
const ALGORITHMS: usize = RSA + 15 + 3 + 3 + 1;
const RSA: usize = 22;
const ROWS: usize = ALGORITHMS * OPERATIONS;

/// A number of its own for each kind, without a search.
fn index(kind: Kind) -> usize {
    use Algorithm as A;
    let algorithm = match kind.algorithm {
        A::Aes128Ecb => 0,
        A::Aes192Ecb => 1,
        A::Aes256Ecb => 2,
        A::Aes128Cbc => 3,
        A::Aes192Cbc => 4,
        A::Aes256Cbc => 5,
        A::Aes128Ctr => 6,
        A::Aes192Ctr => 7,
        A::Aes256Ctr => 8,
        A::Aes128Gcm => 9,
        A::Aes192Gcm => 10,
        A::Aes256Gcm => 11,
        A::Aes128Xts => 12,
        A::Aes256Xts => 13,
        A::ChaCha20Poly1305 => 14,
        A::Sha1 => 15,
        A::Sha256 => 16,
        A::Sha384 => 17,
        A::Sha512 => 18,
        A::HmacSha256 => 19,
        A::EcdsaP256 => 20,
        A::X25519 => 21,
        A::Rsa(bits, scheme) => RSA + bits as usize * 3 + scheme as usize,
        A::Ffdh(group) => RSA + 15 + group as usize,
        A::Packets(packets) => RSA + 15 + 3 + packets as usize,
        // Whichever way: only one candidate has any.
        A::Sectors(_) => ALGORITHMS - 1,
    };
    algorithm * OPERATIONS + kind.operation as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_kinds_share_a_row() {
        let mut seen = [false; ROWS];
        for kind in Kind::all() {
            assert!(!std::mem::replace(&mut seen[index(kind)], true), "{kind:?}");
        }
    }
}
