//! BPF programs that forward, generate and count frames, and AF_XDP sockets.
#![deny(unsafe_code)]

pub mod socket;
