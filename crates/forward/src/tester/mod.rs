//! The tester: streams, ports, accounting, searches and verdicts (RFC 2544,
//! RFC 5180 for IPv6, RFC 6985 for IMIX).

pub mod port;
pub mod stream;
