//! The drivers that are compared, and how the guest gets each.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use crypto::{Algorithm, Operation};
use kit::config::value::Choice;

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
    /// The kernel's names for the algorithm and for the type of its drivers.
    pub(super) kernel_name: &'static str,
    pub(super) kernel_type: &'static str,
    pub(super) operation: &'static str,
    /// Bytes of the key; hashes have none.
    pub(super) key_bytes: usize,
    /// What a request's length must be a multiple of.
    pub(super) multiple_bytes: usize,
    /// How often a request's bytes are in memory: twice with another
    /// destination.
    pub(super) copies: usize,
}

#[rustfmt::skip]
const FACTS: [Facts; 3] = [
    Facts { kernel_name: "cbc(aes)", kernel_type: "skcipher", operation: "encrypt", key_bytes: 16, multiple_bytes: 16, copies: 1 },
    Facts { kernel_name: "gcm(aes)", kernel_type: "aead", operation: "encrypt", key_bytes: 16, multiple_bytes: 1, copies: 2 },
    Facts { kernel_name: "sha256", kernel_type: "ahash", operation: "digest", key_bytes: 0, multiple_bytes: 1, copies: 1 },
];

impl Kind {
    const ALL: [Self; 3] = [Self::Cbc, Self::Gcm, Self::Sha256];

    /// What it is called by people, by the engine and in results.
    pub fn name(self) -> &'static str {
        self.own().algorithm.name()
    }

    pub(super) fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// The engine's.
    pub(super) fn own(self) -> crypto::Kind {
        let (algorithm, operation) = match self {
            Self::Cbc => (Algorithm::Aes128Cbc, Operation::Encrypt),
            Self::Gcm => (Algorithm::Aes128Gcm, Operation::Encrypt),
            Self::Sha256 => (Algorithm::Sha256, Operation::Hash),
        };
        crypto::Kind::new(algorithm, operation)
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        let known = || Self::ALL.map(Self::name).join(", ");
        found.ok_or_else(|| format!("'{name}' is not measured here; allowed: {}", known()))
    }
}

/// One driver of the guest's kernel.
#[derive(Debug, PartialEq, Eq)]
pub struct Driver {
    /// The kernel's name for it.
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

/// In the order of reports: the crypto device first, since it is what all this
/// is about. Whatever offers `cbc(aes)` above the generic driver's priority of
/// 100 is its rival; `cryptd` counts: what it wraps has 50 more than what is
/// wrapped.
#[rustfmt::skip]
pub(super) static DRIVERS: [Driver; 9] = [
    Driver { name: "virtio_crypto_aes_cbc", kind: Kind::Cbc, what: "QEMU's virtio-crypto", modules: &["virtio_crypto"], rivals: &["aesni_intel", "cryptd"] },
    Driver { name: "cbc(aes-generic)", kind: Kind::Cbc, what: "AES in C", modules: &[], rivals: &["aesni_intel", "virtio_crypto", "cryptd"] },
    Driver { name: "cbc-aes-aesni", kind: Kind::Cbc, what: "AES-NI", modules: &["aesni_intel"], rivals: &[] },
    Driver { name: "cryptd(cbc(aes-generic))", kind: Kind::Cbc, what: "AES in C on a kernel thread", modules: &["cryptd"], rivals: &["aesni_intel", "virtio_crypto"] },
    Driver { name: "sha256-generic", kind: Kind::Sha256, what: "SHA-256 in C", modules: &[], rivals: &[] },
    Driver { name: "cryptd(sha256-generic)", kind: Kind::Sha256, what: "SHA-256 in C on a kernel thread", modules: &["cryptd"], rivals: &[] },
    Driver { name: "gcm_base(ctr(aes-generic),ghash-generic)", kind: Kind::Gcm, what: "AES-GCM in C", modules: &["ctr", "ghash_generic", "gcm"], rivals: &["aesni_intel", "pcrypt"] },
    Driver { name: "generic-gcm-aesni", kind: Kind::Gcm, what: "AES-GCM with AES-NI", modules: &["aesni_intel"], rivals: &["pcrypt"] },
    Driver { name: "pcrypt(generic-gcm-aesni)", kind: Kind::Gcm, what: "AES-GCM with AES-NI on kernel threads", modules: &["aesni_intel", "pcrypt"], rivals: &[] },
];

/// Modules that can be unloaded, users before what they use.
const UNLOAD_ORDER: [&str; 5] = [
    "pcrypt",
    "aesni_intel",
    "crypto_simd",
    "cryptd",
    "virtio_crypto",
];

impl Driver {
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

/// A driver of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen(pub(super) &'static Driver);

impl Deref for Chosen {
    type Target = Driver;

    fn deref(&self) -> &Driver {
        self.0
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl FromStr for Chosen {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = DRIVERS.iter().find(|driver| driver.name == name);
        let known = || DRIVERS.each_ref().map(|driver| driver.name).join(", ");
        found.map(Self).ok_or_else(|| {
            format!(
                "'{name}' is not a driver that is measured; allowed: {}",
                known()
            )
        })
    }
}

impl Choice for Chosen {
    fn known() -> Vec<String> {
        DRIVERS
            .iter()
            .map(|driver| driver.name.to_owned())
            .collect()
    }

    fn described() -> Vec<String> {
        let described = |driver: &Driver| format!("{} ({})", driver.name, driver.what);
        DRIVERS.iter().map(described).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_driver_needs_is_unloaded_and_users_go_first() {
        for driver in &DRIVERS {
            assert_eq!(driver.name.parse::<Chosen>().unwrap().0, driver);
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
        for driver in &DRIVERS {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_(),".contains(&byte);
            assert!(driver.name.bytes().all(is_plain), "{}", driver.name);
        }
    }
}
