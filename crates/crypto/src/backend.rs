//! The batch trait.

use crate::{Algorithm, Between, Job, Key, KeyError, KeyMaterial, Kind, Status};

/// A library of algorithms. One value serves all workers; what is not shared
/// lives in [`Key`]s, of which each worker has its own.
pub trait Backend: Send + Sync {
    fn name(&self) -> &'static str;

    fn version(&self) -> String;

    /// Which instructions it chose on this CPU, as the library itself says:
    /// for reports, and to see that a mask did something.
    fn instructions(&self) -> String;

    fn supports(&self, kind: Kind) -> bool;

    /// How many jobs it works on at the same time: 1 for a library that
    /// takes one after the other, more for multi-buffer code.
    fn width(&self, _kind: Kind) -> usize {
        1
    }

    /// Sets a key up, for one worker.
    ///
    /// # Errors
    /// [`KeyError`]; nothing of the key stays behind.
    fn key(&self, algorithm: Algorithm, material: &KeyMaterial) -> Result<Box<dyn Key>, KeyError>;

    /// Processes jobs of one kind, in any order and several at once;
    /// `statuses[i]` tells how `jobs[i]` ended.
    /// Lengths and overlaps are checked first: a job that is refused has
    /// touched nothing. A key of another back-end or algorithm is
    /// [`Status::Unsupported`]. Opening with a wrong tag leaves zeros, and so
    /// does [`Status::InvalidInput`].
    ///
    /// Allocates nothing, locks nothing, makes no system call; except that
    /// `aws-lc` does so inside the library for public keys, and once for each
    /// thread when a first tag of ChaCha20-Poly1305 is wrong; `ipsec-mb` once
    /// for each thread, in its first call; `portable` for every job; and
    /// `auto` where the one it chooses does.
    ///
    /// # Panics
    /// When the two slices differ in length.
    ///
    /// # Safety
    /// Every segment of every job (and every `rest` array) must be readable,
    /// and destination and tag writable where the kind writes them, until the
    /// call returns; no job may write to a `rest` array. Other parties, and
    /// other jobs of the call, may write the bytes of segments meanwhile: the
    /// result is then undefined, never the behaviour.
    #[allow(unsafe_code, reason = "jobs are raw memory: see job.rs")]
    unsafe fn process(&self, kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]);

    /// Whether it does messages of that kind, one of
    /// [`Chaining::Kept`](crate::Chaining::Kept), piece by piece.
    fn continues(&self, _kind: Kind) -> bool {
        false
    }

    /// Does the next piece of a message of a kind that it [`continues`](Self::continues);
    /// the job's source, and in XTS its destination, are the piece. Pieces but the last
    /// are whole blocks, and in XTS the last has a block at least. A hash is written with
    /// the last. Nothing is kept after that, or after a status that is not
    /// [`Status::Ok`]. Checks and promises as for [`process`](Self::process).
    ///
    /// # Safety
    /// As for [`process`](Self::process).
    #[allow(unsafe_code, reason = "jobs are raw memory: see job.rs")]
    unsafe fn process_piece(
        &self,
        _kind: Kind,
        _job: &Job<'_>,
        _between: &mut Between,
        _is_last: bool,
    ) -> Status {
        Status::Unsupported
    }
}
