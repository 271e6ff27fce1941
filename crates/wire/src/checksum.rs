//! The Internet checksum (RFC 1071), with the pseudo-headers of RFC 768 and of
//! RFC 8200, section 8.1.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A sum over several pieces; each but the last has an even number of bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    pub fn new() -> Self {
        Self::default()
    }

    /// Continues over `bytes`; an odd one at the end counts with a zero after it.
    #[must_use]
    pub fn over(self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<2>();
        // Pieces short enough that a sum of 32 bits holds them vectorise.
        let mut sum = self.0;
        for piece in words.chunks(1 << 15) {
            let piece_sum: u32 = piece
                .iter()
                .map(|word| u32::from(u16::from_be_bytes(*word)))
                .sum();
            sum += u64::from(piece_sum);
        }
        if let [last] = rest {
            sum += u64::from(u16::from_be_bytes([*last, 0]));
        }
        Self(sum)
    }

    #[must_use]
    pub fn over_pseudo(self, pseudo: &Pseudo, protocol: u8, upper_bytes: usize) -> Self {
        let sum = match pseudo {
            Pseudo::V4(source, destination) => {
                self.over(&source.octets()).over(&destination.octets())
            }
            Pseudo::V6(source, destination) => {
                self.over(&source.octets()).over(&destination.octets())
            }
        };
        Self(sum.0 + upper_bytes as u64 + u64::from(protocol))
    }

    /// The value of the header's field: the complement of the folded sum. Over bytes
    /// with a valid checksum it is 0.
    pub fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        !u16::try_from(sum).expect("folded to 16 bits")
    }
}

/// Source and destination, as the checksum of an upper layer covers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pseudo {
    /// RFC 768: source, destination.
    V4(Ipv4Addr, Ipv4Addr),
    /// RFC 8200, section 8.1: source, destination.
    V6(Ipv6Addr, Ipv6Addr),
}

impl Pseudo {
    /// Of two addresses; `None` if they are of two families.
    pub fn new(source: IpAddr, destination: IpAddr) -> Option<Self> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Some(Self::V4(source, destination)),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Some(Self::V6(source, destination)),
            _ => None,
        }
    }
}

pub fn of(bytes: &[u8]) -> u16 {
    Sum::new().over(bytes).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_1071_section_3() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(of(&bytes), !0xddf2);
    }

    #[test]
    fn an_odd_byte_counts_as_the_upper_half_of_a_word() {
        assert_eq!(of(&[0x12]), of(&[0x12, 0x00]));
    }

    #[test]
    fn long_inputs_do_not_overflow() {
        assert_eq!(of(&vec![0xff; 1 << 20]), 0);
    }

    proptest! {
        #[test]
        fn bytes_with_their_checksum_sum_to_zero(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if bytes.len() % 2 == 1 {
                bytes.pop();
            }
            let checksum = of(&bytes);
            bytes.extend(checksum.to_be_bytes());
            prop_assert_eq!(of(&bytes), 0);
        }

        #[test]
        fn pieces_sum_as_the_whole_does(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0_usize..100) {
            let at = (at * 2).min(bytes.len() & !1);
            let (left, right) = bytes.split_at(at);
            prop_assert_eq!(Sum::new().over(left).over(right).finish(), of(&bytes));
        }
    }
}
