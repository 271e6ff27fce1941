//! A test frame of any shape, sent through a network that damages it.

use std::net::IpAddr;

use wire::{SEQUENCE_MAX, Stamp, TestFrame, stamp_of};

use super::bytes::Bytes;

/// Any choice of addresses, tag and size is a frame whose stamp is found again,
/// or an error. A damaged one has another stamp or none, never a panic.
pub fn wire_frames(data: &[u8]) {
    let mut choices = Bytes::new(data);
    let frame = TestFrame {
        source_ethernet: [2, 0, 0, 0, 0, 1],
        destination_ethernet: [2, 0, 0, 0, 0, 2],
        vlan: (choices.byte() & 1 == 1).then(|| choices.word()),
        source: address(&mut choices),
        destination: address(&mut choices),
        source_port: choices.word(),
        frame_bytes: u32::from(choices.word()) % 1600,
    };
    let stamp = Stamp {
        trial: choices.byte(),
        stream: choices.byte(),
        sequence: u64::from(choices.word()) << 32 & SEQUENCE_MAX,
        due_ns: u64::from(choices.word()) << 48,
    };
    let Ok(mut bytes) = frame.to_bytes(stamp) else {
        return;
    };
    assert_eq!(bytes.len(), frame.memory_bytes());
    assert_eq!(stamp_of(&bytes), Some(stamp));
    for _ in 0..8 {
        let at = usize::from(choices.word()) % bytes.len();
        bytes[at] ^= choices.byte();
        let _ = stamp_of(&bytes);
        super::wire_views::wire_views(&bytes);
    }
    bytes.truncate(usize::from(choices.word()) % bytes.len());
    let _ = stamp_of(&bytes);
}

fn address(choices: &mut Bytes<'_>) -> IpAddr {
    let low = choices.word();
    if choices.byte() & 1 == 0 {
        IpAddr::V4((0xc612_0000 | u32::from(low)).into())
    } else {
        IpAddr::V6((0x2001_0002_u128 << 96 | u128::from(low)).into())
    }
}
