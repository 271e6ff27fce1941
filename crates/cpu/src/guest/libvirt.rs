//! A choice as libvirt's XML.
//!
//! libvirt has a table of its own, `cpu_map`: names that are not in it are refused, and
//! versions of models came into it late. So the model is one that both know, and what
//! separates the two is asked for flag by flag.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Accelerator, Catalogue, Choice, Flags, Model};
use crate::Vendor;

/// The names that a libvirt knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuMap {
    /// `libvirt 9.0.0`.
    pub origin: String,
    pub models: BTreeSet<String>,
    pub features: BTreeSet<String>,
}

const BUNDLED: &str = include_str!("libvirt.txt");

impl CpuMap {
    /// The table that comes with this program: Debian 12's libvirt 9.0.0.
    pub fn bundled() -> Self {
        let mut own = Self {
            origin: "libvirt 9.0.0 (bundled)".to_owned(),
            ..Self::default()
        };
        for line in BUNDLED.lines() {
            let names = line.split_once(": ");
            match names {
                Some(("models", names)) => own.models.extend(words(names)),
                Some(("features", names)) => own.features.extend(words(names)),
                _ => {}
            }
        }
        own
    }

    /// Adds what a file of a `cpu_map` folder names.
    pub fn add(&mut self, xml: &str) {
        self.models.extend(named(xml, "<model name="));
        self.features.extend(named(xml, "<feature name="));
    }

    /// The `<cpu>` of a domain that shows its guest what `choice` shows, and what of it
    /// this libvirt has no name for. None where it knows no model that fits.
    pub fn xml(
        &self,
        catalogue: &Catalogue,
        accelerator: Accelerator,
        choice: &Choice,
    ) -> Option<(String, Flags)> {
        let (name, model) = self.model(catalogue, accelerator, choice)?;
        let own = Catalogue::shown(model, accelerator);
        let mut xml = String::from("<cpu mode='custom' match='exact' check='partial'>\n");
        let _ = writeln!(xml, "  <model fallback='forbid'>{name}</model>");
        if let Vendor::Intel | Vendor::Amd | Vendor::Hygon = model.vendor {
            // The generic models have no vendor there.
            if name != "kvm64" && name != "qemu64" {
                let _ = writeln!(xml, "  <vendor>{}</vendor>", model.vendor.name());
            }
        }
        let mut unnamed = Flags::default();
        let added = choice.shown.without(own);
        for (policy, flags) in [("require", added), ("disable", own.without(choice.shown))] {
            for flag in flags.names() {
                match self.name(flag) {
                    Some(name) => {
                        let _ = writeln!(xml, "  <feature policy='{policy}' name='{name}'/>");
                    }
                    None => drop(unnamed.insert(flag)),
                }
            }
        }
        xml.push_str("</cpu>\n");
        Some((xml, unnamed))
    }

    /// Its name for a flag: QEMU's, or an older one that QEMU gave up.
    fn name(&self, flag: &str) -> Option<&str> {
        let older = match flag {
            "pclmulqdq" => "pclmuldq".to_owned(),
            _ => flag.replace('-', "_"),
        };
        let names = self
            .features
            .get(flag)
            .or_else(|| self.features.get(&older));
        names.map(String::as_str)
    }

    /// The model of the choice, or the one nearest to it that this libvirt knows.
    fn model<'c>(
        &self,
        catalogue: &'c Catalogue,
        accelerator: Accelerator,
        choice: &Choice,
    ) -> Option<(&'c str, &'c Model)> {
        let names = catalogue.aliases.keys().map(String::as_str);
        let names = names.chain(catalogue.models.iter().map(|model| model.name.as_str()));
        let known = names.filter(|name| self.models.contains(*name));
        let models = known.filter_map(|name| Some((name, catalogue.model(name)?)));
        let of_vendor = models.filter(|(_, model)| {
            let is_generic = model.name.starts_with("kvm64") || model.name.starts_with("qemu64");
            (model.vendor == choice.model.vendor || is_generic) && model.flags.has("lm")
        });
        of_vendor.min_by_key(|(name, model)| {
            let own = Catalogue::shown(model, accelerator);
            let changes = own.without(choice.shown).len() + choice.shown.without(own).len();
            (changes, std::cmp::Reverse(*name))
        })
    }
}

fn words(names: &str) -> impl Iterator<Item = String> + '_ {
    names.split_whitespace().map(str::to_owned)
}

/// What stands in quotes behind each place of `before`.
fn named<'x>(xml: &'x str, before: &'x str) -> impl Iterator<Item = String> + 'x {
    xml.split(before).skip(1).filter_map(|rest| {
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let name = rest[1..].split(quote).next()?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::{choose, withheld};

    #[test]
    fn names_are_read_from_its_files() {
        let mut own = CpuMap::default();
        own.add("<cpus><model name='Haswell'><feature name=\"aes\"/><feature name='x y'/></model><model name=");
        assert_eq!(own.models, BTreeSet::from(["Haswell".to_owned()]));
        assert_eq!(own.features, BTreeSet::from(["aes".to_owned()]));
    }

    #[test]
    fn every_model_of_qemu_has_a_way_to_be_asked_for() {
        let (catalogue, map) = (Catalogue::bundled(), CpuMap::bundled());
        let kvm = Accelerator::Kvm;
        for model in catalogue
            .models
            .iter()
            .filter(|model| model.flags.has("lm"))
        {
            let offered = Catalogue::shown(model, kvm);
            let choice = choose(&catalogue, kvm, Some(&model.vendor), offered, (99, 0));
            let choice = choice.unwrap_or_else(|| panic!("{model:?}"));
            let (xml, unnamed) = map.xml(&catalogue, kvm, &choice).unwrap();
            // What a guest sees is what the choice shows, but for what has no name.
            let name = xml.split("<model fallback='forbid'>").nth(1).unwrap();
            let name = name.split('<').next().unwrap();
            assert!(map.models.contains(name));
            let mut shown = Catalogue::shown(catalogue.model(name).unwrap(), kvm);
            for asked in xml.split("<feature policy='").skip(1) {
                let mut quoted = asked.split('\'');
                let (policy, name) = (quoted.next().unwrap(), quoted.nth(1).unwrap());
                assert!(map.features.contains(name), "{name}");
                let every = Flags::every();
                let is_it = |flag: &&str| map.name(flag) == Some(name);
                let flag = Flags::named(every.names().find(is_it).unwrap()).unwrap();
                shown = match policy {
                    "require" => shown.or(flag),
                    _ => shown.without(flag),
                };
            }
            let same = |flags: Flags| flags.without(unnamed);
            assert_eq!(same(shown), same(choice.shown), "{}", model.name);
            assert!(withheld().and(choice.extras).is_empty());
        }
    }
}
