//! Keys that were set up once: RSA's take longer than a thousand small jobs.

use std::cell::RefCell;
use std::collections::HashMap;

use lockgate_crypto::{Algorithm, Backend, Key};

use crate::support::material;

type Known = HashMap<(&'static str, Algorithm, u64), &'static dyn Key>;

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::new(HashMap::new());
}

pub fn key(backend: &dyn Backend, algorithm: Algorithm, seed: u64) -> &'static dyn Key {
    KNOWN.with_borrow_mut(|known| {
        *known
            .entry((backend.name(), algorithm, seed))
            .or_insert_with(|| {
                let made = backend.key(algorithm, &material(algorithm, seed));
                Box::leak(made.expect("a good key"))
            })
    })
}
