//! What a router changes in a frame that it sends on: addresses of Ethernet, and
//! the time to live with its checksum. Pure.

const ETHERNET_BYTES: usize = 14;
const TAG_BYTES: usize = 4;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
const TAG: [u8; 2] = [0x81, 0x00];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    pub source: [u8; 6],
    pub destination: [u8; 6],
}

/// Prepares a frame for its next hop: lowers the time to live (RFC 1812, section
/// 5.3.1; RFC 8200, section 3), updates the IPv4 header's checksum (RFC 1624,
/// equation 3), and sets new Ethernet addresses; an 802.1Q tag stays.
///
/// Returns `false`, without a change, for a frame that cannot be sent on: not IP, cut
/// off, or at the end of its time to live.
pub fn send_on(frame: &mut [u8], hop: &Hop) -> bool {
    let Some((kind, start)) = network(frame) else {
        return false;
    };
    let is_due = match kind {
        IPV4 => age_v4(&mut frame[start..]),
        IPV6 => age_v6(&mut frame[start..]),
        _ => false,
    };
    if is_due {
        frame[..6].copy_from_slice(&hop.destination);
        frame[6..12].copy_from_slice(&hop.source);
    }
    is_due
}

fn network(frame: &[u8]) -> Option<([u8; 2], usize)> {
    let kind = |at: usize| Some([*frame.get(at)?, *frame.get(at + 1)?]);
    match kind(ETHERNET_BYTES - 2)? {
        TAG => {
            let start = ETHERNET_BYTES + TAG_BYTES;
            Some((kind(start - 2)?, start))
        }
        other => Some((other, ETHERNET_BYTES)),
    }
}

fn age_v4(header: &mut [u8]) -> bool {
    let Some(header) = header.first_chunk_mut::<20>() else {
        return false;
    };
    if header[0] >> 4 != 4 || header[8] <= 1 {
        return false;
    }
    header[8] -= 1;
    // The word of time to live and protocol fell by 0x0100, so the sum's
    // complement rises by it; a carry goes round. Of the two spellings of zero
    // the kernel writes this one.
    let sum = u32::from(u16::from_be_bytes([header[10], header[11]])) + 0x0100;
    let sum = sum + u32::from(sum >= 0xffff);
    header[10..12].copy_from_slice(&(sum as u16).to_be_bytes());
    true
}

fn age_v6(header: &mut [u8]) -> bool {
    let Some(header) = header.first_chunk_mut::<40>() else {
        return false;
    };
    if header[0] >> 4 != 6 || header[7] <= 1 {
        return false;
    }
    header[7] -= 1;
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOP: Hop = Hop {
        source: [2; 6],
        destination: [4; 6],
    };

    /// The one's complement sum of a header that holds its checksum: 0xffff.
    fn sum(header: &[u8]) -> u32 {
        let words = header.chunks(2);
        let sum: u32 = words
            .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
            .sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        (sum & 0xffff) + (sum >> 16)
    }

    fn frame_v4(mut header: [u8; 20], tag: bool) -> Vec<u8> {
        header[0] = 0x45;
        header[10..12].fill(0);
        let checksum = !(sum(&header) as u16);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        let mut frame = vec![9; 12];
        if tag {
            frame.extend([0x81, 0x00, 0x00, 0x07]);
        }
        frame.extend(IPV4);
        frame.extend(header);
        frame.extend([7; 26]);
        frame
    }

    proptest! {
        #[test]
        fn a_checksum_stays_right(header: [u8; 20], tag: bool) {
            let mut frame = frame_v4(header, tag);
            let before = frame.clone();
            let start = if tag { 18 } else { 14 };
            let is_sent = send_on(&mut frame, &HOP);
            prop_assert_eq!(is_sent, header[8] > 1);
            if !is_sent {
                prop_assert_eq!(frame, before);
                return Ok(());
            }
            prop_assert_eq!(sum(&frame[start..start + 20]), 0xffff);
            prop_assert_eq!(frame[start + 8], before[start + 8] - 1);
            prop_assert_eq!(&frame[..12], [[4; 6], [2; 6]].as_flattened());
            let mut expected = before;
            expected[..12].copy_from_slice(&frame[..12]);
            expected[start + 8] = frame[start + 8];
            expected[start + 10..start + 12].copy_from_slice(&frame[start + 10..start + 12]);
            prop_assert_eq!(frame, expected);
        }

        #[test]
        fn any_bytes_are_left_or_aged(mut frame in proptest::collection::vec(any::<u8>(), 0..80)) {
            let before = frame.clone();
            let is_sent = send_on(&mut frame, &HOP);
            prop_assert_eq!(frame.len(), before.len());
            prop_assert!(is_sent || frame == before);
        }
    }

    #[test]
    fn every_checksum_becomes_the_one_that_the_kernel_writes() {
        for checksum in 0..=u16::MAX {
            let mut frame = frame_v4([9; 20], false);
            frame[24..26].copy_from_slice(&checksum.to_be_bytes());
            let mut expected = frame[14..].to_vec();
            assert_eq!(wire::ipv4::decrement_ttl(&mut expected), Ok(8));
            assert!(send_on(&mut frame, &HOP));
            assert_eq!(frame[14..], expected, "{checksum:#06x}");
        }
    }

    #[test]
    fn ipv6_ages_and_the_rest_is_left() {
        let mut frame = vec![9; 12];
        frame.extend(IPV6);
        frame.push(0x60);
        frame.resize(60, 1);
        frame[14 + 7] = 2;
        assert!(send_on(&mut frame, &HOP));
        assert_eq!(frame[14 + 7], 1);
        assert!(!send_on(&mut frame, &HOP), "at the end of its time");
        let mut arp = vec![9; 12];
        arp.extend([0x08, 0x06]);
        arp.resize(60, 0);
        assert!(!send_on(&mut arp, &HOP));
    }
}
