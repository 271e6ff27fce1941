//! What each back-end does on this host, and which one follows from it.

use std::sync::Arc;

use super::grid::{CELLS, cell, place};
use super::stand_in;
use crate::{Backend, Kind};

/// A back-end must be faster by this factor than the most trusted one before it gets
/// a request: less is noise, and the order is by trust.
const ADVANTAGE: f64 = 1.05;

#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub kind: Kind,
    /// Bytes of a request: one of [`SIZES_BYTES`](super::SIZES_BYTES).
    pub bytes: usize,
    /// Requests at hand: one of [`JOBS`](super::JOBS).
    pub jobs: usize,
    pub backend: String,
    pub ns: f64,
}

/// Which back-end for which kind, size and number of requests.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    measured: Vec<Measured>,
    names: Vec<&'static str>,
    choices: Vec<(Kind, [Option<u8>; CELLS])>,
}

impl Calibration {
    /// From measurements; nothing is decided before [`Self::among`].
    pub fn from_measured(measured: Vec<Measured>) -> Self {
        Self {
            measured,
            ..Self::default()
        }
    }

    /// Where nothing can be measured: multi-buffer back-ends once half of
    /// what they work on at once is at hand, the first one otherwise.
    pub fn expected(candidates: &[Arc<dyn Backend>], kinds: &[Kind]) -> Self {
        let mut measured = Vec::new();
        for (&kind, index) in kinds
            .iter()
            .flat_map(|kind| (0..CELLS).map(move |index| (kind, index)))
        {
            let (bytes, jobs) = place(index);
            for one in candidates.iter().filter(|one| one.supports(kind)) {
                let at_once = one.width(kind).min(jobs) as f64;
                let is_wide = one.width(kind) > 1 && jobs * 2 >= one.width(kind);
                measured.push(Measured {
                    kind,
                    bytes,
                    jobs,
                    backend: one.name().to_owned(),
                    ns: bytes as f64 / if is_wide { at_once } else { 1.0 },
                });
            }
        }
        Self::from_measured(measured)
    }

    pub fn measured(&self) -> &[Measured] {
        &self.measured
    }

    pub fn at(&self, kind: Kind, bytes: usize, jobs: usize) -> Vec<&Measured> {
        let kind = stand_in(kind);
        let mut here: Vec<_> = self
            .measured
            .iter()
            .filter(|one| (one.kind, one.bytes, one.jobs) == (kind, bytes, jobs))
            .collect();
        here.sort_by(|a, b| a.ns.total_cmp(&b.ns));
        here
    }

    /// Decides among these candidates, the most trusted first: another one must be
    /// clearly faster. Measurements of other back-ends are ignored.
    #[must_use]
    pub fn among(mut self, candidates: &[Arc<dyn Backend>]) -> Self {
        self.names = candidates
            .iter()
            .map(|candidate| candidate.name())
            .collect();
        let mut kinds: Vec<_> = self.measured.iter().map(|one| one.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let decide = |kind: Kind| (kind, self.decided(kind, candidates));
        self.choices = kinds.into_iter().map(decide).collect();
        self
    }

    fn decided(&self, kind: Kind, candidates: &[Arc<dyn Backend>]) -> [Option<u8>; CELLS] {
        let mut times = [const { Vec::new() }; CELLS];
        for one in self.measured.iter().filter(|one| one.kind == kind) {
            let position = candidates
                .iter()
                .position(|candidate| candidate.name() == one.backend && candidate.supports(kind));
            if let Some(position) = position {
                times[cell(one.bytes, one.jobs)].push((position, one.ns));
            }
        }
        times.map(|mut times| {
            times.sort_by_key(|(position, _)| *position);
            let better = |best: (usize, f64), one: (usize, f64)| {
                if one.1 * ADVANTAGE < best.1 {
                    one
                } else {
                    best
                }
            };
            let best = times.into_iter().reduce(better)?;
            u8::try_from(best.0).ok()
        })
    }

    pub fn backend_for(&self, kind: Kind, bytes: usize, jobs: usize) -> Option<&'static str> {
        self.names.get(self.choice(kind, bytes, jobs)?).copied()
    }

    pub(super) fn choice(&self, kind: Kind, bytes: usize, jobs: usize) -> Option<usize> {
        self.row(kind)?[cell(bytes, jobs)].map(usize::from)
    }

    fn row(&self, kind: Kind) -> Option<&[Option<u8>; CELLS]> {
        let kind = stand_in(kind);
        let found = self.choices.binary_search_by_key(&kind, |(own, _)| *own);
        found.ok().map(|index| &self.choices[index].1)
    }
}
