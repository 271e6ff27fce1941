//! QUIC's packet protection (RFC 9001, RFC 9369): keys from secrets, packets sealed and
//! opened one by one, or in batches of many connections by [`sealer`] and [`table`]; and
//! captures of strangers, opened with their key log.

#![forbid(unsafe_code)]

pub mod capture;
mod keys;
pub mod protection;
mod retry;
pub mod sealer;
mod suite;
pub mod table;
mod tls;
pub mod trace;

pub use capture::Secret;
pub use keys::Protocol;
pub use sealer::Sealer;
pub use suite::Suite;
pub use table::Table;

#[cfg(test)]
fn hex(digits: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("two digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}
