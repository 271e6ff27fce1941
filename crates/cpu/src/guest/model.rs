//! The CPU models of a QEMU.

use std::collections::BTreeMap;

use super::Flags;
use crate::{Signature, Vendor};

/// A version of QEMU: major, minor.
pub type QemuVersion = (u32, u32);

/// No QEMU: later than all of them.
pub const NO_QEMU: QemuVersion = (u32::MAX, u32::MAX);

/// A named model, which stays what it is whatever runs it: safe to migrate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// With its version: `Skylake-Server-v4`.
    pub name: String,
    pub vendor: Vendor,
    pub signature: Signature,
    pub level: u32,
    pub extended_level: u32,
    pub flags: Flags,
    /// The first QEMU known to have it; 7.2 for what older ones have as well.
    pub since: QemuVersion,
}

/// What runs a guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accelerator {
    Kvm,
    Tcg,
}

impl Accelerator {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        }
    }
}

/// The models of one QEMU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalogue {
    /// `QEMU 10.0.2`.
    pub origin: String,
    pub models: Vec<Model>,
    /// Flags that a QEMU older than that does not know by name.
    pub newer: Vec<(QemuVersion, Flags)>,
    /// Names without a version, such as `Skylake-Server-IBRS`, and which model each is.
    pub aliases: BTreeMap<String, String>,
}

/// What KVM takes from every named model and adds to it, and what TCG takes, of the
/// flags that have a name here. Source: QEMU, `kvm_default_props` and
/// `tcg_default_props` in target/i386, and what QEMU 7.2 and 10.0 answer.
const KVM_LEAVES_OUT: &str = "monitor svm acpi";
const KVM_ADDS: &str = "x2apic";
const TCG_LEAVES_OUT: &str = "vme";

const BUNDLED: &str = include_str!("models.txt");

impl Catalogue {
    /// The table that comes with this program: QEMU 10.0.2's.
    pub fn bundled() -> Self {
        let parsed = Self::parse("QEMU 10.0.2 (bundled)", BUNDLED);
        parsed.expect("a test reads the table")
    }

    /// A table in the form of the bundled one.
    ///
    /// # Errors
    /// The line that is none of a table's.
    pub fn parse(origin: &str, text: &str) -> Result<Self, String> {
        let mut own = Self {
            origin: origin.to_owned(),
            models: Vec::new(),
            newer: Vec::new(),
            aliases: BTreeMap::new(),
        };
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        for line in lines.filter(|line| !line.trim().is_empty()) {
            own.take(line).ok_or_else(|| line.to_owned())?;
        }
        Ok(own)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        if let Some((alias, name)) = line.split_once(" = ") {
            let (_, alias) = alias.split_once(' ')?;
            self.aliases.insert(alias.to_owned(), name.to_owned());
            return Some(());
        }
        let (head, flags) = line.split_once(':')?;
        let mut words = head.split_whitespace();
        let (major, minor) = words.next()?.split_once('.')?;
        let since = (major.parse().ok()?, minor.parse().ok()?);
        let name = words.next()?;
        let flags = Flags::named(flags).ok()?;
        if name == "flags" {
            self.newer.push((since, flags));
            return Some(());
        }
        let vendor = words.next()?;
        let mut number = || -> Option<u32> {
            let word = words.next()?;
            match word.strip_prefix("0x") {
                Some(digits) => u32::from_str_radix(digits, 16).ok(),
                None => word.parse().ok(),
            }
        };
        self.models.push(Model {
            name: name.to_owned(),
            vendor: Vendor::from_id(vendor),
            signature: Signature {
                family: number()?,
                model: number()?,
                stepping: number()?,
            },
            level: number()?,
            extended_level: number()?,
            flags,
            since,
        });
        Some(())
    }

    /// The model of that name, or that the name stands for.
    pub fn model(&self, name: &str) -> Option<&Model> {
        let name = self.aliases.get(name).map_or(name, String::as_str);
        self.models.iter().find(|model| model.name == name)
    }

    /// The flags that every QEMU since `oldest` knows by name.
    pub fn known(&self, oldest: QemuVersion) -> Flags {
        let newer = self.newer.iter().filter(|(since, _)| *since > oldest);
        let newer = newer.fold(Flags::default(), |all, (_, flags)| all.or(*flags));
        Flags::every().without(newer)
    }

    /// What a guest of `accelerator` is shown of a model.
    pub fn shown(model: &Model, accelerator: Accelerator) -> Flags {
        let named = |names| Flags::named(names).expect("the names are ours");
        match accelerator {
            Accelerator::Tcg => model.flags.without(named(TCG_LEAVES_OUT)),
            Accelerator::Kvm => {
                let kept = model.flags.without(named(KVM_LEAVES_OUT));
                kept.closed().or(named(KVM_ADDS))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_table_is_whole() {
        let own = Catalogue::bundled();
        assert_eq!((own.models.len(), own.aliases.len()), (90, 61));
        for name in own.aliases.keys() {
            assert!(own.model(name).is_some(), "{name}");
        }
        let newest = own.model("Skylake-Server-noTSX-IBRS").unwrap();
        assert_eq!(newest.name, "Skylake-Server-v3");
        assert!(newest.flags.has("avx512f") && !newest.flags.has("hle"));
        assert_eq!(own.model("GraniteRapids").unwrap().since, (10, 0));
        assert_eq!(own.model("host"), None);
        assert!(own.known((10, 0)).has("succor") && !own.known((7, 2)).has("succor"));
        assert!(own.known((7, 2)).has("aes"));
    }

    #[test]
    fn kvm_shows_no_nested_virtualisation_of_a_named_model() {
        let own = Catalogue::bundled();
        let rome = own.model("EPYC-Rome").unwrap();
        let (kvm, tcg) = (Accelerator::Kvm, Accelerator::Tcg);
        assert!(rome.flags.has("svm") && rome.flags.has("npt"));
        let shown = Catalogue::shown(rome, kvm);
        assert!(!shown.has("svm") && !shown.has("npt") && shown.has("x2apic"));
        assert!(Catalogue::shown(rome, tcg).has("svm"));
        assert!(!Catalogue::shown(rome, tcg).has("vme"));
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        for line in [
            "7.2 x GenuineIntel 6 1 1 13 0x0: aes avx1024",
            "what",
            "7.2 a GenuineIntel 6",
        ] {
            assert_eq!(Catalogue::parse("", line).unwrap_err(), line);
        }
    }
}
