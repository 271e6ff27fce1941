//! What the AES unit can do at most, as an arm.

use crypto::{Algorithm, Ceiling, Kind};

use kit::load::fresh::trial_run::{Sample, Slice, TrialError, alone};

/// The AES rounds of a block with that key; `None` for what is not AES.
pub(super) fn rounds(kind: Kind) -> Option<usize> {
    use Algorithm as A;
    match kind.algorithm {
        A::Aes128Ecb | A::Aes128Cbc | A::Aes128Ctr | A::Aes128Gcm | A::Aes128Xts => Some(10),
        A::Aes192Ecb | A::Aes192Cbc | A::Aes192Ctr | A::Aes192Gcm => Some(12),
        A::Aes256Ecb | A::Aes256Cbc | A::Aes256Ctr | A::Aes256Gcm | A::Aes256Xts => Some(14),
        _ => None,
    }
}

/// A trial: bytes that so many rounds would encrypt, as requests of a block;
/// nothing where this CPU has no such instructions.
pub(super) fn trial(
    rounds: usize,
    block_bytes: usize,
    cpu: usize,
    slice: Slice<'_>,
) -> Option<Result<Sample, TrialError>> {
    // Made where it runs: it looks for what suits that core.
    Ceiling::new(rounds)?;
    Some(alone(cpu, slice, || {
        let mut ceiling = Ceiling::new(rounds).expect("it was there a moment ago");
        Ok(move || Ok(ceiling.pass() as f64 / block_bytes as f64))
    }))
}
