//! Back-ends and keys, set up once: two of RSA's take longer than a thousand
//! jobs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crypto::{Algorithm, Backend, Key, KeyForm, KeyMaterial, RsaBits};

use super::super::bytes::noise;

type Backends = Vec<Arc<dyn Backend>>;

/// The second library, then all others.
fn all() -> &'static (Backends, Backends) {
    static ALL: OnceLock<(Backends, Backends)> = OnceLock::new();
    ALL.get_or_init(|| {
        let is_portable = |backend: &Arc<dyn Backend>| backend.name() == "portable";
        crypto::backends().into_iter().partition(is_portable)
    })
}

pub(super) fn portable() -> &'static dyn Backend {
    &*all().0[0]
}

pub(super) fn others() -> &'static [Arc<dyn Backend>] {
    &all().1
}

/// Keys by back-end and algorithm.
type Kept = HashMap<(&'static str, Algorithm), Box<dyn Key>>;

thread_local! {
    static KEYS: RefCell<Kept> =
        RefCell::new(HashMap::new());
}

pub(super) fn with<T>(
    backend: &dyn Backend,
    algorithm: Algorithm,
    run: impl FnOnce(&dyn Key) -> T,
) -> T {
    KEYS.with_borrow_mut(|keys| {
        let key = keys.entry((backend.name(), algorithm)).or_insert_with(|| {
            let made = backend.key(algorithm, &material(algorithm));
            made.expect("a good key")
        });
        run(&**key)
    })
}

/// A key that is the same each time.
pub(crate) fn material(algorithm: Algorithm) -> KeyMaterial {
    let mut bytes = match algorithm.key_form() {
        KeyForm::Bytes(len) => noise(1, len),
        KeyForm::AnyBytes => noise(1, 32),
        KeyForm::Pkcs8 => pkcs8(algorithm).to_vec(),
    };
    KeyMaterial::take(&mut bytes)
}

macro_rules! vector {
    ($name:literal) => {
        include_bytes!(concat!(
            "../../../crates/crypto/tests/vectors/",
            $name,
            ".pkcs8.der"
        ))
    };
}

fn pkcs8(algorithm: Algorithm) -> &'static [u8] {
    match algorithm {
        Algorithm::Rsa(RsaBits::B512, _) => vector!("rsa-512"),
        Algorithm::Rsa(RsaBits::B1024, _) => vector!("rsa-1024"),
        Algorithm::Rsa(RsaBits::B2048, _) => vector!("rsa-2048"),
        Algorithm::Rsa(RsaBits::B3072, _) => vector!("rsa-3072"),
        Algorithm::Rsa(RsaBits::B4096, _) => vector!("rsa-4096"),
        _ => vector!("p-256"),
    }
}
