//! The drivers that are compared, and how the guest gets each.

use crypto::Algorithm;

/// As tcrypt does.
pub(super) const GCM_AAD_BYTES: usize = 8;
pub(super) const GCM_TAG_BYTES: usize = 16;

/// What kind of request a driver takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// AES-128-CBC, encryption in place.
    Cbc,
    /// AES-128-GCM, encryption out of place.
    Gcm,
    /// SHA-256.
    Sha256,
}

/// What differs between the kinds.
pub(super) struct Facts {
    pub(super) algorithm: Algorithm,
    /// The kernel's names for the algorithm and for the type of its drivers.
    pub(super) kernel_name: &'static str,
    pub(super) kernel_type: &'static str,
    pub(super) operation: &'static str,
    /// Bytes of the key and of the IV; hashes have neither.
    pub(super) key_bytes: usize,
    pub(super) iv_bytes: usize,
    /// How often a request's bytes are in memory: twice with another
    /// destination.
    pub(super) copies: usize,
}

#[rustfmt::skip]
const FACTS: [Facts; 3] = [
    Facts { algorithm: Algorithm::Aes128Cbc, kernel_name: "cbc(aes)", kernel_type: "skcipher", operation: "encrypt", key_bytes: 16, iv_bytes: 16, copies: 1 },
    Facts { algorithm: Algorithm::Aes128Gcm, kernel_name: "gcm(aes)", kernel_type: "aead", operation: "encrypt", key_bytes: 16, iv_bytes: 12, copies: 2 },
    Facts { algorithm: Algorithm::Sha256, kernel_name: "sha256", kernel_type: "ahash", operation: "digest", key_bytes: 0, iv_bytes: 0, copies: 1 },
];

impl Kind {
    const ALL: [Self; 3] = [Self::Cbc, Self::Gcm, Self::Sha256];

    /// What it is called by people, by the engine and in results.
    pub fn name(self) -> &'static str {
        self.facts().algorithm.name()
    }

    pub(super) fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// The engine's: it encrypts or hashes, as the drivers do.
    pub(super) fn own(self) -> crypto::Kind {
        crypto::Kind::from(self.facts().algorithm)
    }
}

kit::named!(Kind, "algorithm that is measured");

/// One driver of the guest's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    /// As the kernel calls it.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// What it is, in words.
    pub(super) what: &'static str,
    /// Modules it is made of.
    pub(super) modules: &'static [&'static str],
    /// Modules that must be away when tcrypt is to choose this driver: tcrypt
    /// takes the one of the highest priority.
    rivals: &'static [&'static str],
}

/// Modules that can be unloaded, users before what they use.
const UNLOAD_ORDER: [&str; 5] = [
    "pcrypt",
    "aesni_intel",
    "crypto_simd",
    "cryptd",
    "virtio_crypto",
];

impl Driver {
    /// In the order of reports: the crypto device first, since it is what all this
    /// is about. Whatever offers `cbc(aes)` above the generic driver's priority of
    /// 100 is its rival; `cryptd` counts: what it wraps has 50 more than what is
    /// wrapped.
    #[rustfmt::skip]
    pub(super) const ALL: [Self; 9] = [
        Self { name: "virtio_crypto_aes_cbc", kind: Kind::Cbc, what: "QEMU's virtio-crypto", modules: &["virtio_crypto"], rivals: &["aesni_intel", "cryptd"] },
        Self { name: "cbc(aes-generic)", kind: Kind::Cbc, what: "AES in C", modules: &[], rivals: &["aesni_intel", "virtio_crypto", "cryptd"] },
        Self { name: "cbc-aes-aesni", kind: Kind::Cbc, what: "AES-NI", modules: &["aesni_intel"], rivals: &[] },
        Self { name: "cryptd(cbc(aes-generic))", kind: Kind::Cbc, what: "AES in C on a kernel thread", modules: &["cryptd"], rivals: &["aesni_intel", "virtio_crypto"] },
        Self { name: "sha256-generic", kind: Kind::Sha256, what: "SHA-256 in C", modules: &[], rivals: &[] },
        Self { name: "cryptd(sha256-generic)", kind: Kind::Sha256, what: "SHA-256 in C on a kernel thread", modules: &["cryptd"], rivals: &[] },
        Self { name: "gcm_base(ctr(aes-generic),ghash-generic)", kind: Kind::Gcm, what: "AES-GCM in C", modules: &["ctr", "ghash_generic", "gcm"], rivals: &["aesni_intel", "pcrypt"] },
        Self { name: "generic-gcm-aesni", kind: Kind::Gcm, what: "AES-GCM with AES-NI", modules: &["aesni_intel"], rivals: &["pcrypt"] },
        Self { name: "pcrypt(generic-gcm-aesni)", kind: Kind::Gcm, what: "AES-GCM with AES-NI on kernel threads", modules: &["aesni_intel", "pcrypt"], rivals: &[] },
    ];

    fn name(self) -> &'static str {
        self.name
    }

    /// The modules to unload: rivals, and whatever stands on them.
    fn leaving(&self) -> impl Iterator<Item = &'static str> {
        let takes_cryptd = self.rivals.contains(&"cryptd");
        UNLOAD_ORDER.into_iter().filter(move |module| {
            let stands_on_cryptd = matches!(*module, "aesni_intel" | "crypto_simd");
            self.rivals.contains(module) || (takes_cryptd && stands_on_cryptd)
        })
    }

    /// The script that makes it the one that tcrypt chooses: rivals out, with
    /// what uses them, its own modules in. Ends with 0 where all of that worked.
    pub(super) fn script(&self) -> String {
        let mut script = String::from("here=\" $(cut -d' ' -f1 /proc/modules | tr '\\n' ' ')\"\n");
        for module in self.leaving() {
            script +=
                &format!("case \"$here\" in *\" {module} \"*) rmmod {module} || exit 1;; esac\n");
        }
        for module in self.modules {
            script += &format!(
                "case \"$here\" in *\" {module} \"*) ;; *) modprobe {module} || exit 1;; esac\n"
            );
        }
        script
    }
}

kit::named!(Driver, "driver that is measured", |driver| {
    format!("{} ({})", driver.name, driver.what)
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_driver_needs_is_unloaded_and_users_go_first() {
        for driver in Driver::ALL {
            assert_eq!(driver.name.parse::<Driver>(), Ok(driver));
            for rival in driver.rivals {
                assert!(UNLOAD_ORDER.contains(rival), "{}", driver.name);
            }
            let order: Vec<_> = driver.leaving().collect();
            assert!(!order.iter().any(|one| driver.modules.contains(one)));
            let place = |name| order.iter().position(|module| *module == name);
            if let (Some(user), Some(used)) = (place("aesni_intel"), place("cryptd")) {
                assert!(user < used && place("crypto_simd").is_some());
            }
        }
    }

    /// They stand between quotes in the guest's shell.
    #[test]
    fn names_need_no_quoting_in_a_shell() {
        for driver in Driver::ALL {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_(),".contains(&byte);
            assert!(driver.name.bytes().all(is_plain), "{}", driver.name);
        }
    }
}
