//! What stands in a tag's place where no tag is: a secret of this process, and a number.
//!
//! Each use has a secret of its own. That of opened packets never leaves the process.

use std::sync::OnceLock;

use rustls::crypto::SecureRandom;
use wire::quic::TAG_BYTES;

/// What a mark says.
#[derive(Clone, Copy)]
pub(crate) enum Mark {
    /// To be sealed.
    Unsealed,
    /// Opened by the key of a phase of the connection in a place of the table.
    Opened { place: u16, phase: u16 },
    /// Never sealed: see [`crate::ceiling`].
    Unprotected,
}

impl Mark {
    /// In the place of packet `number`'s tag. Of opened packets it has the lower half: more
    /// are never under way.
    pub(crate) fn of(self, number: u64) -> [u8; TAG_BYTES] {
        let [unsealed, opened, unprotected] = secrets();
        let (secret, rest) = match self {
            Self::Unsealed => (unsealed, number),
            Self::Opened { place, phase } => {
                let of_connection = u64::from(place) << 48 | u64::from(phase) << 32;
                (opened, of_connection | u64::from(number as u32))
            }
            Self::Unprotected => (unprotected, number),
        };
        let mut mark = [0; TAG_BYTES];
        mark[..8].copy_from_slice(secret);
        mark[8..].copy_from_slice(&rest.to_le_bytes());
        mark
    }
}

/// The end of a packet.
#[derive(Clone, Copy)]
pub(crate) struct Marked<'p>(Option<&'p [u8; TAG_BYTES]>);

impl<'p> Marked<'p> {
    pub(crate) fn of(packet: &'p [u8]) -> Self {
        Self(packet.last_chunk())
    }

    /// Whether it has the secret of opened packets.
    pub(crate) fn is_opened(self) -> bool {
        self.0.is_some_and(|end| end[..8] == secrets()[1])
    }

    pub(crate) fn is(self, mark: [u8; TAG_BYTES]) -> bool {
        self.0 == Some(&mark)
    }
}

fn secrets() -> &'static [[u8; 8]; 3] {
    static SECRETS: OnceLock<[[u8; 8]; 3]> = OnceLock::new();
    SECRETS.get_or_init(|| {
        let random: &dyn SecureRandom = rustls::crypto::ring::default_provider().secure_random;
        std::array::from_fn(|_| {
            let mut drawn = [0; 8];
            let filled = random.fill(&mut drawn);
            filled.expect("the system has random numbers, or TLS would have none");
            drawn
        })
    })
}
