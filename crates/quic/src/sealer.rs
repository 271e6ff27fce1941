//! The sending side of a connection: a number is sealed once, a key no more often than its
//! suite allows.

use std::fmt;

use crypto::{
    Backend, Key, Operation, PacketPlace, PacketSlices, Status, prefetch, process_packets,
};
use wire::quic::packet_number::{self, NUMBER_MAX, Truncated};
use wire::quic::{FirstByte, TAG_BYTES};

use crate::Suite;
use crate::table::BATCH_PACKETS;

/// Largest place of a packet number: behind an id of 20 bytes.
const NUMBER_AT_MAX: u16 = 21;
const KEY_PHASE: u8 = 4;

/// Seals the 1-RTT packets of one side of a connection (RFC 9001 §5.3).
///
/// No nonce is used twice: sealing uses a packet's number up, also where it fails. What is
/// lost is sent again under a new number, or as the sealed copy that the caller kept.
pub struct Sealer {
    suite: Suite,
    key: Box<dyn Key>,
    is_phase_set: bool,
    /// All below are used, or were left out.
    next: u64,
    first_of_phase: u64,
    acknowledged: Option<u64>,
    /// Packets of the key.
    sealed: u64,
    limit: u64,
}

/// One packet to seal, and what became of it.
pub struct SealRequest<'b> {
    /// Which of the batch's sealers.
    pub sealer: usize,
    /// Numbers grow; some may be left out.
    pub number: u64,
    /// Bytes in front of the packet number.
    pub number_at: u16,
    /// A short header, whose first byte says how many bytes its number has, and the
    /// payload. Number and key phase are written here.
    pub source: &'b mut [u8],
    /// 16 bytes more than the source. Zeros where the cipher failed, untouched where the
    /// packet was refused.
    pub destination: &'b mut [u8],
    pub outcome: Result<(), SealError>,
}

/// Why a packet is not sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    #[error("the request was not looked at yet")]
    Waiting,
    #[error("the batch has no sealer {0}")]
    NoSealer(usize),
    #[error(
        "packet number {number} is used up, the next is {next}: send the sealed copy, or the \
         payload under a new number"
    )]
    NumberUsed { number: u64, next: u64 },
    #[error("packet number {0} is above 2^62 - 1: close the connection without a packet")]
    NumberTooLarge(u64),
    #[error("the key sealed {sealed} packets, its limit (RFC 9001 §6.6): update the key")]
    ConfidentialityLimit { sealed: u64 },
    #[error("the header is long, or its number is at {number_at}, not 1 to 21")]
    Header { number_at: u16 },
    #[error("{bytes} bytes do not tell number {number}, {needed} would")]
    NumberBytes {
        number: u64,
        bytes: usize,
        needed: usize,
    },
    #[error(
        "a source of {source_bytes} bytes, a destination of {destination_bytes}: see `SealRequest`"
    )]
    Length {
        source_bytes: usize,
        destination_bytes: usize,
    },
    #[error("the back-end failed: {0:?}")]
    Backend(Status),
}

/// Who began a key update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// This side. It waits until the handshake is confirmed (§6.1), and should wait for
    /// three PTO after an update (§6.5): the caller's to know.
    Initiated,
    /// The peer, whose packet opened in the next phase (§6.2).
    Answered,
}

/// Why keys are not updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    #[error(
        "no packet from number {first} on, where the key phase began, was acknowledged: wait \
         for that (RFC 9001 §6.1)"
    )]
    NotAcknowledged { first: u64 },
}

/// The peer acknowledged what was not sent: PROTOCOL_VIOLATION (RFC 9000 §13.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("packet number {number} was acknowledged, the next to be sent is {next}")]
pub struct NeverSent {
    pub number: u64,
    pub next: u64,
}

impl Sealer {
    /// Of a key for [`Suite::packets`], in the first key phase.
    pub fn new(suite: Suite, key: Box<dyn Key>) -> Self {
        Self {
            suite,
            key,
            is_phase_set: false,
            next: 0,
            first_of_phase: 0,
            acknowledged: None,
            sealed: 0,
            limit: suite.confidentiality_limit(),
        }
    }

    /// Lets a key seal fewer packets than its suite does.
    #[must_use]
    pub fn limited_to(mut self, packets: u64) -> Self {
        self.limit = self.limit.min(packets);
        self
    }

    /// The lowest number that may be sealed.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// Whether the key phase bit is set in what is sealed next.
    pub fn is_phase_set(&self) -> bool {
        self.is_phase_set
    }

    /// Whether the key has sealed three quarters of what it may: time for an update.
    pub fn wants_update(&self) -> bool {
        self.sealed >= self.limit - self.limit / 4
    }

    /// The peer acknowledged a packet.
    ///
    /// # Errors
    /// [`NeverSent`], where the number is not below [`Self::next_number`].
    pub fn acknowledge(&mut self, number: u64) -> Result<(), NeverSent> {
        let next = self.next;
        if number >= next {
            return Err(NeverSent { number, next });
        }
        self.acknowledged = self.acknowledged.max(Some(number));
        Ok(())
    }

    /// Goes on with the key of the next phase; numbers go on too (§6.1).
    ///
    /// # Errors
    /// [`UpdateError`], where this side begins too early.
    pub fn update(&mut self, key: Box<dyn Key>, update: Update) -> Result<(), UpdateError> {
        let first = self.first_of_phase;
        let is_acknowledged = self.acknowledged.is_some_and(|number| number >= first);
        if update == Update::Initiated && !is_acknowledged {
            return Err(UpdateError::NotAcknowledged { first });
        }
        self.key = key;
        self.is_phase_set = !self.is_phase_set;
        self.first_of_phase = self.next;
        self.sealed = 0;
        Ok(())
    }

    /// Uses the number up, then writes it.
    fn take(&mut self, request: &mut SealRequest<'_>) -> Result<(), SealError> {
        let (number, next) = (request.number, self.next);
        if number < next {
            return Err(SealError::NumberUsed { number, next });
        }
        if number > NUMBER_MAX {
            return Err(SealError::NumberTooLarge(number));
        }
        if self.sealed >= self.limit {
            let sealed = self.sealed;
            return Err(SealError::ConfidentialityLimit { sealed });
        }
        self.next = number + 1;
        let (number_at, at) = (request.number_at, usize::from(request.number_at));
        let (source, destination_bytes) = (&mut *request.source, request.destination.len());
        let source_bytes = source.len();
        if source_bytes < at + packet_number::BYTES_MAX
            || destination_bytes != source_bytes + TAG_BYTES
        {
            return Err(SealError::Length {
                source_bytes,
                destination_bytes,
            });
        }
        let first = FirstByte(source[0]);
        if first.is_long() || !(1..=NUMBER_AT_MAX).contains(&number_at) {
            return Err(SealError::Header { number_at });
        }
        let bytes = first.packet_number_bytes();
        // `None`: not even four bytes would do.
        let needed = packet_number::bytes_needed(number, self.acknowledged);
        let needed = needed.unwrap_or(usize::MAX);
        if bytes < needed {
            return Err(SealError::NumberBytes {
                number,
                bytes,
                needed,
            });
        }
        let truncated = Truncated::in_bytes(number, bytes).expect("one to four bytes");
        source[at..at + bytes].copy_from_slice(truncated.bytes());
        source[0] = (first.0 & !KEY_PHASE) | (u8::from(self.is_phase_set) * KEY_PHASE);
        self.sealed += 1;
        Ok(())
    }
}

/// Seals packets of several connections; what became of each is in its `outcome`. The
/// sealers' keys are of `backend`. Nothing is allocated; memory of all is asked for first.
pub fn seal_batch(backend: &dyn Backend, sealers: &mut [Sealer], requests: &mut [SealRequest<'_>]) {
    for requests in requests.chunks_mut(BATCH_PACKETS) {
        for sealer in requests.iter().filter_map(|one| sealers.get(one.sealer)) {
            prefetch(sealer);
        }
        for request in &mut *requests {
            request.outcome = match sealers.get_mut(request.sealer) {
                Some(sealer) => {
                    prefetch(&*sealer.key);
                    sealer.take(request)
                }
                None => Err(SealError::NoSealer(request.sealer)),
            };
        }
        for sealer in requests.iter().filter_map(|one| sealers.get(one.sealer)) {
            sealer.key.prefetch_parts();
        }
        for suite in Suite::ALL {
            seal_of(suite, backend, sealers, requests);
        }
    }
}

fn seal_of(
    suite: Suite,
    backend: &dyn Backend,
    sealers: &[Sealer],
    requests: &mut [SealRequest<'_>],
) {
    let mut outcomes: [Option<&mut Result<(), SealError>>; BATCH_PACKETS] =
        [const { None }; BATCH_PACKETS];
    let mut slices: [PacketSlices<'_>; BATCH_PACKETS] =
        std::array::from_fn(|_| PacketSlices::none());
    let mut count = 0;
    for request in requests {
        let sealer = sealers.get(request.sealer);
        let Some(sealer) = sealer.filter(|sealer| sealer.suite == suite) else {
            continue;
        };
        if request.outcome.is_err() {
            continue;
        }
        slices[count] = PacketSlices {
            key: &*sealer.key,
            place: PacketPlace {
                number: request.number,
                number_at: request.number_at,
                phase: None,
            },
            source: &*request.source,
            destination: &mut *request.destination,
            status: Status::BackendFailed,
        };
        outcomes[count] = Some(&mut request.outcome);
        count += 1;
    }
    if count == 0 {
        return;
    }
    let slices = &mut slices[..count];
    process_packets(backend, suite.packets(), Operation::Encrypt, slices);
    for (one, outcome) in slices.iter().zip(outcomes.into_iter().flatten()) {
        if one.status != Status::Ok {
            *outcome = Err(SealError::Backend(one.status));
        }
    }
}

/// Counters alone.
impl fmt::Debug for Sealer {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.debug_struct("Sealer")
            .field("suite", &self.suite)
            .field("next", &self.next)
            .field("is_phase_set", &self.is_phase_set)
            .field("sealed", &self.sealed)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
