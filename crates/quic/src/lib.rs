//! QUIC's packet protection (RFC 9001, RFC 9369): keys from secrets, packets sealed and
//! opened one by one; and captures of strangers, opened with their key log.

#![forbid(unsafe_code)]

pub mod capture;
mod keys;
pub mod protection;
mod retry;
mod suite;
mod tls;
pub mod trace;

pub use capture::Secret;
pub use keys::Protocol;
pub use suite::Suite;

#[cfg(test)]
fn hex(digits: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("two digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}
