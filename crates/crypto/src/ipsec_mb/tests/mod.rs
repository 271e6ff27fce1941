//! The back-end where the library is installed; a visible skip elsewhere.

mod agreement;
mod guard;
mod header;
mod threads;

use std::sync::Arc;

use super::{IpsecMb, opened};

/// The back-end; says so when there is none.
fn backend() -> Option<Arc<IpsecMb>> {
    opened()
        .inspect_err(|error| eprintln!("skipped: {error}"))
        .ok()
}

#[test]
fn every_operation_passes_its_self_test() {
    let Some(backend) = backend() else { return };
    assert_eq!(backend.refused, []);
    assert!(backend.supported.len() > 20);
}

#[test]
fn it_says_what_it_chose() {
    use crate::Backend;
    let Some(backend) = backend() else { return };
    let chosen = backend.instructions();
    let expected = match crate::instructions() {
        crate::Instructions::Baseline => "SSE without AES-NI",
        crate::Instructions::AesNi => "SSE",
        crate::Instructions::Avx => "AVX",
        crate::Instructions::Avx2 => "AVX2",
        crate::Instructions::Vaes => "AVX2 with VAES",
        crate::Instructions::Avx512 => "AVX-512 with VAES",
    };
    assert_eq!(chosen, expected);
}
