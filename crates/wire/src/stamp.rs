//! What the tester writes into each test frame (RFC 2544, C.2.6.4: "a sequence
//! number and a time stamp"), so that lost, duplicate, reordered and late
//! frames are told apart.

/// Bytes of a stamp: what a 64-byte frame over Ethernet, IPv4 and UDP has left
/// (64 - 4 for the frame check sequence - 14 - 20 - 8).
pub const STAMP_BYTES: usize = 18;

/// The last sequence number: 48 bits, 185 days at the rate of 64-byte frames on
/// 10 Gbit/s.
pub const SEQUENCE_MAX: u64 = (1 << 48) - 1;

const MAGIC: [u8; 2] = *b"LG";

/// A stamp, the last 18 bytes of a test frame's UDP payload. In network byte
/// order: magic `LG`, trial (1 byte), stream (1 byte), sequence (6 bytes), time
/// (8 bytes). `bpf/stamp.h` is the same in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Which trial, modulo 256: frames of an earlier one are late.
    pub trial: u8,
    /// Which stream of the trial, e.g. a direction or a router.
    pub stream: u8,
    /// From 0, at most [`SEQUENCE_MAX`].
    pub sequence: u64,
    /// When the frame was meant to leave, ns of `CLOCK_MONOTONIC`.
    pub due_ns: u64,
}

impl Stamp {
    /// As bytes.
    ///
    /// # Panics
    /// If the sequence is above [`SEQUENCE_MAX`].
    pub fn to_bytes(self) -> [u8; STAMP_BYTES] {
        assert!(self.sequence <= SEQUENCE_MAX, "48 bits of sequence");
        let mut bytes = [0; STAMP_BYTES];
        bytes[..2].copy_from_slice(&MAGIC);
        bytes[2] = self.trial;
        bytes[3] = self.stream;
        bytes[4..10].copy_from_slice(&self.sequence.to_be_bytes()[2..]);
        bytes[10..].copy_from_slice(&self.due_ns.to_be_bytes());
        bytes
    }

    /// From bytes of unknown origin; `None` for a foreign frame.
    pub fn from_bytes(bytes: &[u8; STAMP_BYTES]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<2>()?;
        if *magic != MAGIC {
            return None;
        }
        let mut sequence = [0; 8];
        sequence[2..].copy_from_slice(&rest[2..8]);
        let due = rest[8..].first_chunk::<8>()?;
        Some(Self {
            trial: rest[0],
            stream: rest[1],
            sequence: u64::from_be_bytes(sequence),
            due_ns: u64::from_be_bytes(*due),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn comes_back(trial: u8, stream: u8, sequence in 0..=SEQUENCE_MAX, due_ns: u64) {
            let stamp = Stamp { trial, stream, sequence, due_ns };
            prop_assert_eq!(Stamp::from_bytes(&stamp.to_bytes()), Some(stamp));
        }

        #[test]
        fn any_bytes_are_read_as_they_are(bytes: [u8; STAMP_BYTES]) {
            if let Some(stamp) = Stamp::from_bytes(&bytes) {
                prop_assert_eq!(stamp.to_bytes(), bytes);
            }
        }
    }
}
