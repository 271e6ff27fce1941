//! The integration tests of `quic` in one program.
#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

mod cut;
mod formats;
mod fragments;
mod hostile;
mod keylog;
mod links;
mod make;
mod packets;
mod round_trip;
mod sealer;
mod table;
mod trace;
mod unopened;
