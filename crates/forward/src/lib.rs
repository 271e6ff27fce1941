//! Forwarding paths of a host, and an RFC 2544 tester that knows when it is
//! wrong.
//!
//! [`topology`] makes the wires, [`home`] is where a router lives (namespace,
//! LXC, runc), [`router`] is what forwards, [`tester`] sends, counts and judges.
//! [`mod@bench`] puts one of each together; [`external`] is the tester with a device
//! that is not ours. [`plane`] is routers for people, as a file describes them.
#![forbid(unsafe_code)]

pub mod bench;
pub mod external;
pub mod home;
mod pinned;
pub mod plane;
pub mod router;
pub mod tester;
#[cfg(test)]
mod testing;
pub mod topology;
