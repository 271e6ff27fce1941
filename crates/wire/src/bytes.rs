//! Fields in network byte order, at offsets that a view's constructor checked.

use std::net::{Ipv4Addr, Ipv6Addr};

/// `N` bytes from `at`.
///
/// # Panics
/// If they are not there: a bug of the view, which checks lengths first.
pub(crate) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    *bytes[at..]
        .first_chunk()
        .expect("the view's constructor checked the length")
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array_at(bytes, at))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array_at(bytes, at))
}

pub(crate) fn ipv4_at(bytes: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::from(array_at::<4>(bytes, at))
}

pub(crate) fn ipv6_at(bytes: &[u8], at: usize) -> Ipv6Addr {
    Ipv6Addr::from(array_at::<16>(bytes, at))
}
