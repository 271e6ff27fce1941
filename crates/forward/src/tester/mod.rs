//! The tester: streams, ports, accounting, searches and verdicts (RFC 2544,
//! RFC 5180 for IPv6, RFC 6985 for IMIX).
//!
//! [`trial::run`] sends and counts, [`validity::Evidence`] says whether the
//! result is valid, a [`procedure`] says what to try next.

pub mod accounting;
pub mod line;
pub mod port;
pub mod procedure;
pub mod stream;
#[cfg(test)]
pub(crate) mod testing;
pub mod trial;
pub mod validity;
