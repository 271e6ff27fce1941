//! The drivers that are compared, and how the guest gets each.

use std::str::FromStr;

use crate::config::value::Choice;
use crypto::Algorithm;

/// As tcrypt does.
pub const GCM_AAD_BYTES: usize = 8;
pub const GCM_TAG_BYTES: usize = 16;

/// What kind of request a driver takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// AES-128-CBC, encryption.
    Cbc,
    /// AES-128-GCM, encryption.
    Gcm,
    /// SHA-256.
    Sha256,
    /// Signatures with RSA-2048 (RFC 8017, PKCS #1 v1.5) over a digest.
    Rsa,
    /// What the guest's /proc/crypto says of a driver that is no other kind.
    Named,
}

/// What differs between the kinds.
pub struct Facts {
    /// The engine's, where it is compared with it.
    pub algorithm: Option<Algorithm>,
    /// The kernel's names for the algorithm and for the type of its drivers.
    pub kernel_name: &'static str,
    pub kernel_type: &'static str,
    pub operations: &'static [&'static str],
    /// Bytes of the key and of the IV; hashes have neither.
    pub key_bytes: usize,
    pub iv_bytes: usize,
    /// Whether the source is the destination, as of tcrypt; none where that is
    /// no choice.
    pub in_place: Option<bool>,
}

#[rustfmt::skip]
const FACTS: [Facts; 5] = [
    Facts { algorithm: Some(Algorithm::Aes128Cbc), kernel_name: "cbc(aes)", kernel_type: "skcipher", operations: &["encrypt"], key_bytes: 16, iv_bytes: 16, in_place: Some(true) },
    Facts { algorithm: Some(Algorithm::Aes128Gcm), kernel_name: "gcm(aes)", kernel_type: "aead", operations: &["encrypt"], key_bytes: 16, iv_bytes: 12, in_place: Some(false) },
    Facts { algorithm: Some(Algorithm::Sha256), kernel_name: "sha256", kernel_type: "ahash", operations: &["digest"], key_bytes: 0, iv_bytes: 0, in_place: None },
    Facts { algorithm: None, kernel_name: "pkcs1pad(rsa,sha256)", kernel_type: "akcipher", operations: &["sign", "verify"], key_bytes: 0, iv_bytes: 0, in_place: None },
    Facts { algorithm: None, kernel_name: "", kernel_type: "", operations: &[""], key_bytes: 0, iv_bytes: 0, in_place: Some(false) },
];

/// Bytes of the digest that is signed.
pub const SIGNED_BYTES: usize = 32;

impl Kind {
    const ALL: [Self; 3] = [Self::Cbc, Self::Gcm, Self::Sha256];

    /// What it is called by people, by the engine and in results.
    pub fn name(self) -> &'static str {
        let facts = self.facts();
        facts.algorithm.map_or(facts.kernel_name, Algorithm::name)
    }

    pub fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// The engine's: it encrypts or hashes, as the drivers do.
    pub fn own(self) -> Option<crypto::Kind> {
        self.facts().algorithm.map(crypto::Kind::from)
    }
}

crate::named!(Kind, "algorithm that is measured");

/// One driver of the guest's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    /// As the kernel calls it (`driver` in /proc/crypto).
    pub name: &'static str,
    pub kind: Kind,
    /// What it is, in words.
    pub what: &'static str,
    /// Modules it is made of.
    pub modules: &'static [&'static str],
    /// Modules that must be away when tcrypt is to choose this driver: tcrypt
    /// takes the one of the highest priority.
    rivals: &'static [&'static str],
}

/// What a driver that is only named may need.
const USUAL_MODULES: [&str; 7] = [
    "aesni_intel",
    "ctr",
    "ghash_generic",
    "gcm",
    "cryptd",
    "pcrypt",
    "virtio_crypto",
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
    /// In the order of reports: the crypto device first, since it is what all this
    /// is about. Whatever offers `cbc(aes)` above the generic driver's priority of
    /// 100 is its rival; `cryptd` counts: what it wraps has 50 more than what is
    /// wrapped.
    #[rustfmt::skip]
    pub const USUAL: [Self; 9] = [
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

    /// Those that are known; whatever else has a name is asked for by it.
    #[rustfmt::skip]
    const OTHERS: [Self; 1] = [
        Self { name: "pkcs1pad(rsa-generic,sha256)", kind: Kind::Rsa, what: "RSA-2048 in C", modules: &[], rivals: &[] },
    ];

    fn all() -> impl Iterator<Item = Self> {
        Self::USUAL.into_iter().chain(Self::OTHERS)
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
    /// what uses them, its own modules in. Ends with 0 where all of that worked; of
    /// one that is only named /proc/crypto says whether it is there.
    pub fn script(&self, more: &[String]) -> String {
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
        if !Self::all().any(|known| known == *self) {
            let (usual, more) = (USUAL_MODULES.join(" "), more.join(" "));
            script += &format!(
                "for module in {usual} {more}; do modprobe $module 2> /dev/null; done\ntrue\n"
            );
        }
        script
    }
}

/// Kernels' own limit, with the 0 behind it.
const NAME_BYTES_MAX: usize = 127;

/// They stand between quotes in the guest's shell.
fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.(),+".contains(&byte);
    (1..=NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_plain)
}

impl FromStr for Driver {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if let Some(known) = Self::all().find(|own| own.name == name) {
            return Ok(known);
        }
        if !is_name(name) {
            return Err(format!(
                "'{name}' is no driver's name: 1 to {NAME_BYTES_MAX} letters, digits and -_.(),+ as in /proc/crypto"
            ));
        }
        Ok(Self {
            // For as long as this program runs, as all names; a scenario has few.
            name: name.to_owned().leak(),
            kind: match name.starts_with("pkcs1pad(") {
                true => Kind::Rsa,
                false => Kind::Named,
            },
            what: "as named",
            modules: &[],
            rivals: &[],
        })
    }
}

impl std::fmt::Display for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name)
    }
}

impl Choice for Driver {
    fn known() -> Vec<String> {
        Self::all().map(|own| own.name.to_owned()).collect()
    }

    fn described() -> Vec<String> {
        let known = Self::all().map(|own| format!("{} ({})", own.name, own.what));
        known
            .chain(["or any other in /proc/crypto".to_owned()])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_driver_needs_is_unloaded_and_users_go_first() {
        for driver in Driver::all() {
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

    #[test]
    fn any_name_that_needs_no_quoting_is_a_driver_s() {
        assert!(Driver::all().all(|driver| is_name(driver.name)));
        let kind = |name: &str| name.parse::<Driver>().map(|driver| driver.kind);
        assert_eq!(kind("xts-aes-aesni"), Ok(Kind::Named));
        assert_eq!(kind("pkcs1pad(rsa-vendor,sha256)"), Ok(Kind::Rsa));
        for wrong in ["", "a b", "a'b", "$(id)", "a\nb", "é", &"a".repeat(128)] {
            let refused = kind(wrong).unwrap_err();
            assert!(refused.contains("/proc/crypto"), "{refused}");
        }
    }
}
