//! NIST's CAVP vectors, the subset in `tests/vectors/cavp`, against every
//! back-end: each vector apart, in place, and all of a kind in one batch.
//! What does not fit is counted and printed with its reason:
//! `cargo test --test crypto_tests cavp:: -- --nocapture`.

mod aes;
mod ecdsa;
mod gcm;
mod hash;
mod monte_carlo;
mod record;
mod rsa;
mod xts;

#[macro_export]
macro_rules! vectors {
    ($name:literal) => {
        include_str!(concat!("../vectors/cavp/", $name))
    };
}
