//! QUIC: the vectors of RFC 9001 and RFC 9369 (appendices A), every truncation, every
//! value there and back, and bytes of anybody.

mod emit;
mod frames;
mod headers;
mod numbers;
mod parameters;

use lockgate_wire::quic::ConnectionId;
use proptest::prelude::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
    digits
        .chunks(2)
        .map(|pair| {
            let pair = std::str::from_utf8(pair).expect("digits");
            u8::from_str_radix(pair, 16).expect("digits")
        })
        .collect()
}

fn id(text: &str) -> ConnectionId {
    ConnectionId::new(&hex(text)).expect("20 bytes at most")
}

fn any_bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..=most)
}

fn any_id(least: usize) -> impl Strategy<Value = ConnectionId> {
    prop::collection::vec(any::<u8>(), least..=20)
        .prop_map(|id| ConnectionId::new(&id).expect("20 bytes at most"))
}

/// All widths are as likely.
fn integer() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..1_u64 << 6,
        0..1_u64 << 14,
        0..1_u64 << 30,
        0..1_u64 << 62,
        Just((1 << 62) - 1)
    ]
}
