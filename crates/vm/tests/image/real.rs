//! Images of the kernels that `make setup-guests` unpacked.

use lockgate_vm::Cache;
use lockgate_vm::image::Image;

use crate::image::support::{at_boot, entries};

const NAMES: [&str; 8] = [
    "virtio_crypto",
    "aesni_intel",
    "cryptd",
    "pcrypt",
    "xts",
    "gcm",
    "tcrypt",
    "algif_skcipher",
];

#[test]
fn every_kernel_of_the_cache_has_what_is_needed() {
    let cache = match Cache::open_default() {
        Ok(cache) => cache,
        Err(error) => {
            testing::skipped(error);
            return;
        }
    };
    for kernel in cache.kernels() {
        let mut image = Image::new(&cache, kernel);
        for name in NAMES {
            image = image.module(name);
        }
        let bytes = image.clone().build().unwrap();
        let order = at_boot(&bytes);
        let place = |name: &str| order.iter().position(|other| other == name);
        // Some kernels have virtio built in.
        assert!(place("virtio_ring") <= place("virtio_pci"), "{order:?}");
        assert!(place("crypto_engine") < place("virtio_crypto"), "{order:?}");
        for (name, entry) in entries(&bytes) {
            let is_module = name.contains(".ko");
            assert!(!is_module || name.ends_with(".ko"), "{name}");
            assert!(
                !is_module || entry.content.starts_with(b"\x7fELF"),
                "{name}"
            );
        }
        assert!(bytes == image.build().unwrap(), "the same bytes each time");
    }
}
