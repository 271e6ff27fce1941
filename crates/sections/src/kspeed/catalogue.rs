//! The drivers that are compared, and how the guest gets each.

use std::fmt;
use std::str::FromStr;

/// What kind of request a driver takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// AES-128-CBC, encryption in place.
    Cbc,
    /// AES-128-GCM, encryption out of place.
    Gcm,
    /// SHA-256.
    Sha256,
}

impl Kind {
    /// What it is called by people, by the engine and in results.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cbc => "aes-128-cbc",
            Self::Gcm => "aes-128-gcm",
            Self::Sha256 => "sha256",
        }
    }

    /// The kernel's name for the algorithm.
    pub(super) fn kernel_name(self) -> &'static str {
        match self {
            Self::Cbc => "cbc(aes)",
            Self::Gcm => "gcm(aes)",
            Self::Sha256 => "sha256",
        }
    }

    /// The kernel's name for the type of its drivers.
    pub(super) fn kernel_type(self) -> &'static str {
        match self {
            Self::Cbc => "skcipher",
            Self::Gcm => "aead",
            Self::Sha256 => "ahash",
        }
    }

    pub(super) fn operation(self) -> &'static str {
        match self {
            Self::Cbc | Self::Gcm => "encrypt",
            Self::Sha256 => "digest",
        }
    }

    /// Bytes of the key; hashes have none.
    pub(super) fn key_bytes(self) -> usize {
        match self {
            Self::Cbc | Self::Gcm => 16,
            Self::Sha256 => 0,
        }
    }

    /// What a request's length must be a multiple of.
    pub(super) fn multiple_bytes(self) -> usize {
        match self {
            Self::Cbc => 16,
            Self::Gcm | Self::Sha256 => 1,
        }
    }

    /// How often a request's bytes are in memory: once in place, twice with
    /// another destination.
    pub(super) fn copies(self) -> usize {
        match self {
            Self::Cbc | Self::Sha256 => 1,
            Self::Gcm => 2,
        }
    }
}

/// One driver of the guest's kernel.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Driver {
    /// The kernel's name for it.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// What it is, in words.
    pub(super) what: &'static str,
    /// Modules it is made of.
    pub(super) modules: &'static [&'static str],
    /// Modules that must be away when tcrypt is to choose this driver: tcrypt
    /// takes the one of the highest priority.
    pub(super) rivals: &'static [&'static str],
}

/// Whatever offers `cbc(aes)` above the generic driver's priority of 100.
/// `cryptd` counts: what it wraps has 50 more than what is wrapped.
const CBC_RIVALS: &[&str] = &["aesni_intel", "virtio_crypto", "cryptd"];

/// In the order of reports: the crypto device first, since it is what all this
/// is about.
pub(super) static DRIVERS: &[Driver] = &[
    Driver {
        name: "virtio_crypto_aes_cbc",
        kind: Kind::Cbc,
        what: "QEMU's virtio-crypto",
        modules: &["virtio_crypto"],
        rivals: &["aesni_intel", "cryptd"],
    },
    Driver {
        name: "cbc(aes-generic)",
        kind: Kind::Cbc,
        what: "AES in C",
        modules: &[],
        rivals: CBC_RIVALS,
    },
    Driver {
        name: "cbc-aes-aesni",
        kind: Kind::Cbc,
        what: "AES-NI",
        modules: &["aesni_intel"],
        rivals: &[],
    },
    Driver {
        name: "cryptd(cbc(aes-generic))",
        kind: Kind::Cbc,
        what: "AES in C on a kernel thread",
        modules: &["cryptd"],
        rivals: &["aesni_intel", "virtio_crypto"],
    },
    Driver {
        name: "sha256-generic",
        kind: Kind::Sha256,
        what: "SHA-256 in C",
        modules: &[],
        rivals: &[],
    },
    Driver {
        name: "cryptd(sha256-generic)",
        kind: Kind::Sha256,
        what: "SHA-256 in C on a kernel thread",
        modules: &["cryptd"],
        rivals: &[],
    },
    Driver {
        name: "gcm_base(ctr(aes-generic),ghash-generic)",
        kind: Kind::Gcm,
        what: "AES-GCM in C",
        modules: &["ctr", "ghash_generic", "gcm"],
        rivals: &["aesni_intel", "pcrypt"],
    },
    Driver {
        name: "generic-gcm-aesni",
        kind: Kind::Gcm,
        what: "AES-GCM with AES-NI",
        modules: &["aesni_intel"],
        rivals: &["pcrypt"],
    },
    Driver {
        name: "pcrypt(generic-gcm-aesni)",
        kind: Kind::Gcm,
        what: "AES-GCM with AES-NI on kernel threads",
        modules: &["aesni_intel", "pcrypt"],
        rivals: &[],
    },
];

/// Modules that can be unloaded, users before what they use.
pub(super) const UNLOAD_ORDER: [&str; 5] = [
    "pcrypt",
    "aesni_intel",
    "crypto_simd",
    "cryptd",
    "virtio_crypto",
];

/// A driver that is not in the catalogue.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is no driver that is measured here; allowed: {}", known())]
pub(super) struct UnknownDriver {
    name: String,
}

fn known() -> String {
    let names: Vec<_> = DRIVERS.iter().map(|driver| driver.name).collect();
    names.join(", ")
}

/// A driver of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chosen(pub(super) &'static Driver);

impl FromStr for Chosen {
    type Err = UnknownDriver;

    fn from_str(name: &str) -> Result<Self, UnknownDriver> {
        let found = DRIVERS.iter().find(|driver| driver.name == name);
        found.map(Self).ok_or_else(|| UnknownDriver {
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_read_back() {
        for driver in DRIVERS {
            let same = DRIVERS.iter().filter(|other| other.name == driver.name);
            assert_eq!(same.count(), 1);
            assert_eq!(driver.name.parse::<Chosen>().unwrap().0, driver);
        }
        let error = "cbc(des)".parse::<Chosen>().unwrap_err().to_string();
        assert!(error.contains("cbc(des)") && error.contains("cbc-aes-aesni"));
    }

    #[test]
    fn no_driver_is_its_own_rival_and_every_rival_can_be_unloaded() {
        for driver in DRIVERS {
            for rival in driver.rivals {
                assert!(!driver.modules.contains(rival), "{driver}");
                assert!(UNLOAD_ORDER.contains(rival), "{driver}");
            }
        }
    }

    /// They stand between double quotes in the guest's shell.
    #[test]
    fn names_need_no_quoting_in_a_shell() {
        for driver in DRIVERS {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_(),".contains(&byte);
            assert!(driver.name.bytes().all(is_plain), "{driver}");
        }
    }
}
