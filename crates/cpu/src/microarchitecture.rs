//! From vendor, family and model to the microarchitecture.

use std::collections::BTreeSet;

use crate::expected::Generation;
use crate::{Feature, Signature, Vendor};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Microarchitecture {
    pub name: &'static str,
    /// Flags that every server and desktop part of it has, unless firmware,
    /// a hypervisor or the kernel hides them.
    pub expected: BTreeSet<Feature>,
}

/// What Intel left out of Pentium and Celeron parts before Tiger Lake.
const FUSED_OFF: [Feature; 4] = [Feature::Avx, Feature::Avx2, Feature::Bmi1, Feature::Bmi2];

impl Microarchitecture {
    /// The same, expecting only what parts sold under that model name have.
    #[must_use]
    pub fn sold_as(mut self, model_name: &str) -> Self {
        let is_small = ["Pentium", "Celeron"]
            .iter()
            .any(|brand| model_name.contains(brand));
        if is_small && !self.expected.contains(&Feature::Vaes) {
            self.expected.retain(|feature| !FUSED_OFF.contains(feature));
        }
        self
    }
}

/// The microarchitecture of that signature; `None` for one this table does
/// not know, and for the invented models of emulators.
///
/// Sources: Linux `arch/x86/include/asm/intel-family.h`; AMD's Processor
/// Programming References (family 17h, 19h, 1Ah model ranges).
pub fn microarchitecture(vendor: &Vendor, signature: Signature) -> Option<Microarchitecture> {
    let (name, generation) = match (vendor, signature.family) {
        (Vendor::Intel, 6) => intel(signature),
        (Vendor::Intel, 19) if signature.model == 0x01 => {
            Some(("Diamond Rapids", Generation::GraniteRapids))
        }
        (Vendor::Amd, family) => amd(family, signature.model),
        (Vendor::Hygon, 0x18) => Some(("Dhyana", Generation::Zen1)),
        _ => None,
    }?;
    Some(Microarchitecture {
        name,
        expected: generation.features(),
    })
}

fn intel(signature: Signature) -> Option<(&'static str, Generation)> {
    use Generation as G;
    Some(match signature.model {
        0x25 | 0x2c | 0x2f => ("Westmere", G::Westmere),
        0x2a | 0x2d => ("Sandy Bridge", G::SandyBridge),
        0x3a | 0x3e => ("Ivy Bridge", G::IvyBridge),
        0x3c | 0x3f | 0x45 | 0x46 => ("Haswell", G::Haswell),
        0x3d | 0x47 | 0x4f | 0x56 => ("Broadwell", G::Broadwell),
        0x4e | 0x5e => ("Skylake", G::Skylake),
        0x8e | 0x9e => ("Kaby or Coffee Lake", G::Skylake),
        0xa5 | 0xa6 => ("Comet Lake", G::Skylake),
        0x55 => (skylake_server(signature.stepping), G::SkylakeServer),
        0x6a | 0x6c => ("Ice Lake server", G::IceLake),
        0x7d | 0x7e => ("Ice Lake", G::IceLake),
        0x8c | 0x8d => ("Tiger Lake", G::IceLake),
        0xa7 => ("Rocket Lake", G::IceLake),
        0x8f => ("Sapphire Rapids", G::IceLake),
        0xcf => ("Emerald Rapids", G::IceLake),
        0xad | 0xae => ("Granite Rapids", G::GraniteRapids),
        0x97 | 0x9a | 0xbe => ("Alder Lake", G::AlderLake),
        0xb7 | 0xba | 0xbf => ("Raptor Lake", G::AlderLake),
        0xaa | 0xac => ("Meteor Lake", G::AlderLake),
        0xaf => ("Sierra Forest", G::AlderLake),
        0xb5 | 0xc5 | 0xc6 => ("Arrow Lake", G::ArrowLake),
        0xbd => ("Lunar Lake", G::ArrowLake),
        0xdd => ("Clearwater Forest", G::ArrowLake),
        0x5c | 0x5f | 0x7a => ("Goldmont", G::Goldmont),
        0x86 | 0x96 | 0x9c => ("Tremont", G::Tremont),
        _ => return None,
    })
}

fn skylake_server(stepping: u32) -> &'static str {
    match stepping {
        0..=4 => "Skylake server",
        5..=7 => "Cascade Lake",
        _ => "Cooper Lake",
    }
}

fn amd(family: u32, model: u32) -> Option<(&'static str, Generation)> {
    use Generation as G;
    Some(match (family, model) {
        (0x17, 0x00..=0x2f) => ("Zen 1", G::Zen1),
        (0x17, 0x30..=0xaf) => ("Zen 2", G::Zen1),
        (0x19, 0x10..=0x1f | 0x60..=0x7f | 0xa0..=0xaf) => ("Zen 4", G::Zen4),
        (0x19, 0x00..=0x0f | 0x20..=0x5f) => ("Zen 3", G::Zen3),
        (0x1a, 0x00..=0x4f | 0x60..=0x7f) => ("Zen 5", G::Zen4),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(vendor: Vendor, family: u32, model: u32, stepping: u32) -> Option<&'static str> {
        microarchitecture(
            &vendor,
            Signature {
                family,
                model,
                stepping,
            },
        )
        .map(|m| m.name)
    }

    #[test]
    fn known_servers() {
        assert_eq!(name(Vendor::Intel, 6, 0x8f, 8), Some("Sapphire Rapids"));
        assert_eq!(name(Vendor::Intel, 6, 0x55, 4), Some("Skylake server"));
        assert_eq!(name(Vendor::Intel, 6, 0x55, 7), Some("Cascade Lake"));
        assert_eq!(name(Vendor::Amd, 0x19, 0x01, 1), Some("Zen 3"));
        assert_eq!(name(Vendor::Amd, 0x19, 0x11, 1), Some("Zen 4"));
        assert_eq!(name(Vendor::Amd, 0x1a, 0x02, 1), Some("Zen 5"));
    }

    #[test]
    fn a_pentium_is_not_expected_to_have_avx() {
        let signature = Signature {
            family: 6,
            model: 0x5e,
            stepping: 3,
        };
        let skylake = microarchitecture(&Vendor::Intel, signature).expect("known");
        assert!(
            skylake
                .clone()
                .sold_as("Intel(R) Core(TM) i7-6700")
                .expected
                .contains(&Feature::Avx)
        );
        let pentium = skylake.sold_as("Intel(R) Pentium(R) CPU G4400").expected;
        assert!(!pentium.contains(&Feature::Avx) && pentium.contains(&Feature::Aes));
    }

    #[test]
    fn invented_models_are_nobody() {
        // qemu64 and kvm64.
        assert_eq!(name(Vendor::Amd, 15, 107, 1), None);
        assert_eq!(name(Vendor::Intel, 15, 6, 1), None);
    }
}
