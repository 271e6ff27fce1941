//! What an AF_XDP forwarder makes of polling, batching and DPDK's `testpmd` on
//! the same ports: arms interleaved, 64-byte frames, as many as the generator
//! can, one way. As root:
//!
//! ```text
//! cargo run --release -p lockgate-forward --example af_xdp_rates [ROUNDS [SECONDS]]
//! ```
#![allow(
    clippy::unwrap_used,
    reason = "a program for people who read its source"
)]

#[cfg(feature = "bpf")]
mod with_bpf;

fn main() {
    #[cfg(feature = "bpf")]
    with_bpf::main();
    #[cfg(not(feature = "bpf"))]
    println!("skipped: built without the feature bpf");
}
