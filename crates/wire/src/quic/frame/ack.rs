//! Acknowledgments (RFC 9000, section 19.3).

use std::ops::RangeInclusive;

use super::FrameError;
use super::kind::{ACK, ACK_ECN};
use super::read::Fields;
use crate::quic::varint::{Reader, TooLarge, append};

const OUTSIDE: &str = "so few that no range ends below 0";

/// What packets arrived; its ranges were checked when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    largest: u64,
    /// Since the largest arrived, in units of 2^`ack_delay_exponent` µs (RFC 9000,
    /// section 18.2).
    pub delay: u64,
    /// Without those of `pairs`: packets below the largest.
    first_range: u64,
    pair_count: u64,
    /// Gaps and lengths of the lower ranges, as on the wire.
    pairs: &'a [u8],
    pub ecn: Option<EcnCounts>,
}

/// Packets that arrived with each codepoint (RFC 9000, section 19.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnCounts {
    pub ect0: u64,
    pub ect1: u64,
    pub ce: u64,
}

impl<'a> Ack<'a> {
    /// The largest packet number that is acknowledged.
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// Ranges of packet numbers, the highest first.
    pub fn ranges(&self) -> Ranges<'a> {
        Ranges {
            next: Some(self.largest - self.first_range..=self.largest),
            reader: Reader::new(self.pairs),
        }
    }

    pub(super) fn kind(&self) -> u64 {
        ack_kind(self.ecn)
    }

    pub(super) fn read(fields: &mut Fields<'_, 'a>) -> Result<Self, FrameError> {
        let (largest, delay) = (fields.varint()?, fields.varint()?);
        let (pair_count, first_range) = (fields.varint()?, fields.varint()?);
        let Some(mut smallest) = largest.checked_sub(first_range) else {
            return Err(fields.wrong("first range", first_range, OUTSIDE));
        };
        let (before, at) = (fields.reader.rest(), fields.reader.at());
        // Each pair takes two bytes or ends the loop.
        for _ in 0..pair_count {
            smallest = *lower(fields, smallest)?.start();
        }
        Ok(Self {
            largest,
            delay,
            first_range,
            pair_count,
            pairs: &before[..fields.reader.at() - at],
            ecn: match fields.kind {
                ACK_ECN => Some(EcnCounts::read(fields)?),
                _ => None,
            },
        })
    }

    /// All but the type.
    pub(super) fn append_fields(&self, bytes: &mut Vec<u8>) -> Result<(), TooLarge> {
        for value in [self.largest, self.delay, self.pair_count, self.first_range] {
            append(value, bytes)?;
        }
        bytes.extend(self.pairs);
        append_ecn(self.ecn, bytes)
    }
}

impl EcnCounts {
    fn read(fields: &mut Fields<'_, '_>) -> Result<Self, FrameError> {
        Ok(Self {
            ect0: fields.varint()?,
            ect1: fields.varint()?,
            ce: fields.varint()?,
        })
    }
}

/// The range below that which ends at `smallest`.
fn lower(fields: &mut Fields<'_, '_>, smallest: u64) -> Result<RangeInclusive<u64>, FrameError> {
    let (gap, length) = (fields.varint()?, fields.varint()?);
    // A gap of 0 is one packet (RFC 9000, section 19.3.1).
    let Some(largest) = smallest.checked_sub(gap + 2) else {
        return Err(fields.wrong("gap", gap, OUTSIDE));
    };
    let Some(smallest) = largest.checked_sub(length) else {
        return Err(fields.wrong("range", length, OUTSIDE));
    };
    Ok(smallest..=largest)
}

/// See [`Ack::ranges`].
#[derive(Clone, Debug)]
pub struct Ranges<'a> {
    next: Option<RangeInclusive<u64>>,
    reader: Reader<'a>,
}

impl Iterator for Ranges<'_> {
    type Item = RangeInclusive<u64>;

    fn next(&mut self) -> Option<Self::Item> {
        let range = self.next.take()?;
        let mut fields = Fields {
            kind: ACK,
            reader: &mut self.reader,
        };
        // An error is the end of the bytes: the values were checked.
        self.next = lower(&mut fields, *range.start()).ok();
        Some(range)
    }
}

/// An acknowledgment to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRepr<'a> {
    /// As in [`Ack`].
    pub delay: u64,
    /// One at least, the highest first, each with a packet missing below it.
    pub ranges: &'a [RangeInclusive<u64>],
    pub ecn: Option<EcnCounts>,
}

impl AckRepr<'_> {
    /// Appends the frame.
    ///
    /// # Errors
    /// [`FrameError::Field`] if the ranges are not as said, or a value is above 2^62 - 1;
    /// then nothing was written.
    pub fn append_to(&self, bytes: &mut Vec<u8>) -> Result<(), FrameError> {
        let start = bytes.len();
        self.try_append(bytes)
            .inspect_err(|_| bytes.truncate(start))
    }

    fn try_append(&self, bytes: &mut Vec<u8>) -> Result<(), FrameError> {
        let kind = ack_kind(self.ecn);
        let large = |error| FrameError::large(kind, error);
        let Some((first, others)) = self.ranges.split_first() else {
            return Err(unordered(kind, 0));
        };
        let count = others.len() as u64;
        let fields = [kind, *first.end(), self.delay, count, packets(kind, first)?];
        for value in fields {
            append(value, bytes).map_err(large)?;
        }
        let mut smallest = *first.start();
        for range in others {
            let gap = smallest
                .checked_sub(*range.end())
                .and_then(|gap| gap.checked_sub(2));
            let gap = gap.ok_or_else(|| unordered(kind, *range.end()))?;
            append(gap, bytes).map_err(large)?;
            append(packets(kind, range)?, bytes).map_err(large)?;
            smallest = *range.start();
        }
        append_ecn(self.ecn, bytes).map_err(large)
    }
}

/// How many packets a range has besides its largest.
fn packets(kind: u64, range: &RangeInclusive<u64>) -> Result<u64, FrameError> {
    range
        .end()
        .checked_sub(*range.start())
        .ok_or_else(|| unordered(kind, *range.end()))
}

fn unordered(kind: u64, found: u64) -> FrameError {
    FrameError::Field {
        kind,
        field: "end of a range",
        found,
        wanted: "the end of ranges from the highest down, none of them empty",
    }
}

fn ack_kind(ecn: Option<EcnCounts>) -> u64 {
    if ecn.is_some() { ACK_ECN } else { ACK }
}

fn append_ecn(ecn: Option<EcnCounts>, bytes: &mut Vec<u8>) -> Result<(), TooLarge> {
    let counts = ecn.map(|ecn| [ecn.ect0, ecn.ect1, ecn.ce]);
    counts
        .into_iter()
        .flatten()
        .try_for_each(|count| append(count, bytes))
}
