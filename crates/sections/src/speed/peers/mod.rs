//! The section `crypto-peers`: every algorithm through a lane, beside the
//! back-end's own loop, `openssl speed`, DPDK, `ring` and what the AES unit
//! can do at most, all in the worker's place.
//!
//! A *row* is an algorithm and a block size; an *arm* is one of
//! those ways to do its work. A round measures every arm of every row that
//! has so many rounds once, in shuffled order, so that any two arms of a row
//! are interleaved pairs.

mod arm;
mod ceiling;
mod charts;
mod comparisons;
mod config;
mod dpdk;
mod findings;
mod grid;
mod invocation;
mod measure;
mod points;
mod ring_loop;
mod schedule;
mod section;
mod table;

pub use section::{CryptoPeers, parse};
