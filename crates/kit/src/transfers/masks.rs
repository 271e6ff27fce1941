//! What protecting a header costs a stack of QUIC: a mask, one packet at a time.

use std::hint::black_box;
use std::time::Instant;

use rustls::quic::Version;
use rustls::{CipherSuite, Side};

use super::Stack;

/// Masks that are timed: some hundred microseconds.
const MASKS: u32 = 20_000;

/// ns of one, with AES-128; `None` where the stack's provider has no such suite.
pub fn mask_ns(stack: Stack) -> Option<f64> {
    let backend = crypto::by_name("kernels").ok()?;
    let provider = stack.offload(&backend).ok()?.provider();
    let of =
        |one: &&rustls::SupportedCipherSuite| one.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256;
    let suite = provider.cipher_suites.iter().find(of)?;
    let suite = suite.tls13()?.quic_suite()?;
    let keys = suite.keys(&[7; 8], Side::Client, Version::V1);
    let header = keys.local.header;
    let (mut first, mut number) = (0x43_u8, [1_u8, 2, 3, 4]);
    let sample = [9_u8; 16];
    let begin = Instant::now();
    for _ in 0..MASKS {
        let masked = header.encrypt_in_place(black_box(&sample), &mut first, &mut number);
        masked.ok()?;
    }
    black_box((first, number));
    Some(begin.elapsed().as_nanos() as f64 / f64::from(MASKS))
}
