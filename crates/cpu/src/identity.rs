//! Who made the processor, which one it is, and what it runs under.

use serde::Serialize;

use crate::{Leaf, Source, source};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Vendor {
    /// `GenuineIntel`.
    Intel,
    /// `AuthenticAMD`.
    Amd,
    /// `HygonGenuine`: Zen under licence.
    Hygon,
    Other(String),
}

impl Vendor {
    /// From the twelve characters of CPUID or `vendor_id` of `/proc/cpuinfo`.
    pub fn from_id(id: &str) -> Self {
        match id {
            "GenuineIntel" => Self::Intel,
            "AuthenticAMD" => Self::Amd,
            "HygonGenuine" => Self::Hygon,
            other => Self::Other(other.to_owned()),
        }
    }

    /// From what [`Self::name`] says.
    pub fn named(name: &str) -> Self {
        let known = [Self::Intel, Self::Amd, Self::Hygon];
        let found = known.into_iter().find(|vendor| vendor.name() == name);
        found.unwrap_or_else(|| Self::Other(name.to_owned()))
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Intel => "Intel",
            Self::Amd => "AMD",
            Self::Hygon => "Hygon",
            Self::Other(id) => id,
        }
    }
}

/// Family, model and stepping as displayed (extended fields added in).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Signature {
    pub family: u32,
    pub model: u32,
    pub stepping: u32,
}

impl Signature {
    /// From EAX of leaf 1 (Intel SDM volume 2A, CPUID, figure 3-6). Base
    /// families 6 and 15 carry an extended model.
    pub fn from_eax(eax: u32) -> Self {
        let base_family = eax >> 8 & 0xf;
        let base_model = eax >> 4 & 0xf;
        let family = if base_family == 0xf {
            0xf + (eax >> 20 & 0xff)
        } else {
            base_family
        };
        let extended = matches!(base_family, 0x6 | 0xf);
        let model = if extended {
            (eax >> 16 & 0xf) << 4 | base_model
        } else {
            base_model
        };
        Self {
            family,
            model,
            stepping: eax & 0xf,
        }
    }
}

/// The hypervisor that leaf 0x4000_0000 names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Hypervisor {
    Kvm,
    Tcg,
    Vmware,
    /// Microsoft Hyper-V; also KVM that imitates it.
    HyperV,
    Xen,
    Bhyve,
    Other(String),
}

impl Hypervisor {
    pub fn from_id(id: &str) -> Self {
        match id {
            "KVMKVMKVM" | "Linux KVM Hv" => Self::Kvm,
            "TCGTCGTCGTCG" => Self::Tcg,
            "VMwareVMware" => Self::Vmware,
            "Microsoft Hv" => Self::HyperV,
            "XenVMMXenVMM" => Self::Xen,
            "bhyve bhyve" => Self::Bhyve,
            other => Self::Other(other.to_owned()),
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Kvm => "KVM",
            Self::Tcg => "QEMU TCG",
            Self::Vmware => "VMware",
            Self::HyperV => "Hyper-V",
            Self::Xen => "Xen",
            Self::Bhyve => "bhyve",
            Self::Other(id) if id.is_empty() => "unnamed",
            Self::Other(id) => id,
        }
    }
}

/// The vendor string of leaf 0: EBX, EDX, ECX.
pub(crate) fn vendor(basic: Leaf) -> Vendor {
    Vendor::from_id(&characters(&[basic.ebx, basic.edx, basic.ecx]))
}

/// The hypervisor, if one says that it is there.
pub(crate) fn hypervisor(source: &dyn Source) -> Option<Hypervisor> {
    crate::Feature::Hypervisor.is_set(source).then(|| {
        let leaf = source.leaf(source::HYPERVISOR, 0).unwrap_or_default();
        Hypervisor::from_id(&characters(&[leaf.ebx, leaf.ecx, leaf.edx]))
    })
}

/// The 48 characters of leaves 0x8000_0002 to 4, without padding.
pub(crate) fn model_name(source: &dyn Source) -> String {
    let words: Vec<u32> = (2..=4)
        .filter_map(|index| source.leaf(source::EXTENDED + index, 0))
        .flat_map(|leaf| [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx])
        .collect();
    characters(&words)
}

/// Printable ASCII up to the first zero; anything else becomes `?`.
fn characters(words: &[u32]) -> String {
    let bytes = words
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .take_while(|&byte| byte != 0);
    let text: String = bytes
        .map(|byte| {
            if byte.is_ascii_graphic() || byte == b' ' {
                char::from(byte)
            } else {
                '?'
            }
        })
        .collect();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_of_known_processors() {
        let turin = Signature::from_eax(0x00b0_0f21);
        assert_eq!((turin.family, turin.model, turin.stepping), (26, 2, 1));
        let sapphire_rapids = Signature::from_eax(0x0008_06f8);
        assert_eq!((sapphire_rapids.family, sapphire_rapids.model), (6, 0x8f));
        let milan = Signature::from_eax(0x00a0_0f11);
        assert_eq!((milan.family, milan.model, milan.stepping), (25, 1, 1));
    }

    #[test]
    fn strange_characters_do_not_reach_a_terminal() {
        assert_eq!(
            characters(&[u32::from_le_bytes([b'A', 0x1b, 0xff, b'B']), 0]),
            "A??B"
        );
    }
}
