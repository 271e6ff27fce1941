//! ARM cores and their crypto extensions, from `/proc/cpuinfo`.

use crate::CpuInfo;

/// A feature of ARMv8 or later that matters to crypto.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArmFeature {
    /// Name in `Features` of `/proc/cpuinfo` (Linux `elf_hwcaps.rst`).
    pub name: &'static str,
    pub label: &'static str,
}

const fn feature(name: &'static str, label: &'static str) -> ArmFeature {
    ArmFeature { name, label }
}

pub const ARM_FEATURES: &[ArmFeature] = &[
    feature("asimd", "Advanced SIMD (NEON)"),
    feature("aes", "AES instructions"),
    feature("pmull", "PMULL (carry-less multiplication)"),
    feature("sha1", "SHA-1 instructions"),
    feature("sha2", "SHA-256 instructions"),
    feature("sha512", "SHA-512 instructions"),
    feature("sha3", "SHA-3 instructions (EOR3)"),
    feature("sm3", "SM3 instructions"),
    feature("sm4", "SM4 instructions"),
    feature("atomics", "LSE atomics"),
    feature("sve", "SVE"),
    feature("sve2", "SVE2"),
    feature("sveaes", "AES on SVE2 vectors"),
    feature("svepmull", "PMULL on SVE2 vectors"),
    feature("rng", "RNDR (random numbers)"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    pub designer: &'static str,
    pub name: &'static str,
    pub expected: &'static [&'static str],
}

const BASE: &[&str] = &["asimd", "aes", "pmull", "sha1", "sha2"];
const N1: &[&str] = &["asimd", "aes", "pmull", "sha1", "sha2", "atomics"];
const V1: &[&str] = &[
    "asimd", "aes", "pmull", "sha1", "sha2", "atomics", "sha512", "sha3", "sve",
];
const V2: &[&str] = &[
    "asimd", "aes", "pmull", "sha1", "sha2", "atomics", "sha512", "sha3", "sve", "sve2",
];
const PLAIN: &[&str] = &["asimd"];

/// (implementer, part) of MIDR_EL1 to core. The crypto extension is the
/// licensee's choice, so a part that also ships without it (Cortex-A72 in
/// single-board computers) expects none.
const CORES: &[(u32, u32, Core)] = &[
    (
        0x41,
        0xd08,
        Core {
            designer: "Arm",
            name: "Cortex-A72",
            expected: PLAIN,
        },
    ),
    (
        0x41,
        0xd0c,
        Core {
            designer: "Arm",
            name: "Neoverse N1",
            expected: N1,
        },
    ),
    (
        0x41,
        0xd40,
        Core {
            designer: "Arm",
            name: "Neoverse V1",
            expected: V1,
        },
    ),
    (
        0x41,
        0xd49,
        Core {
            designer: "Arm",
            name: "Neoverse N2",
            expected: V2,
        },
    ),
    (
        0x41,
        0xd4f,
        Core {
            designer: "Arm",
            name: "Neoverse V2",
            expected: V2,
        },
    ),
    (
        0x41,
        0xd84,
        Core {
            designer: "Arm",
            name: "Neoverse V3",
            expected: V2,
        },
    ),
    (
        0x41,
        0xd8e,
        Core {
            designer: "Arm",
            name: "Neoverse N3",
            expected: V2,
        },
    ),
    (
        0x43,
        0x0af,
        Core {
            designer: "Cavium",
            name: "ThunderX2",
            expected: N1,
        },
    ),
    (
        0x48,
        0xd01,
        Core {
            designer: "HiSilicon",
            name: "Kunpeng 920",
            expected: N1,
        },
    ),
    (
        0x61,
        0x022,
        Core {
            designer: "Apple",
            name: "M1 Icestorm",
            expected: BASE,
        },
    ),
    (
        0x61,
        0x023,
        Core {
            designer: "Apple",
            name: "M1 Firestorm",
            expected: BASE,
        },
    ),
    (
        0xc0,
        0xac3,
        Core {
            designer: "Ampere",
            name: "Ampere-1",
            expected: N1,
        },
    ),
    (
        0xc0,
        0xac4,
        Core {
            designer: "Ampere",
            name: "Ampere-1a",
            expected: N1,
        },
    ),
];

/// The core that `/proc/cpuinfo` names; `None` for one not in the table.
pub fn core(info: &CpuInfo) -> Option<Core> {
    let implementer = info.number("CPU implementer")?;
    let part = info.number("CPU part")?;
    CORES
        .iter()
        .find(|(i, p, _)| (*i, *p) == (implementer, part))
        .map(|&(_, _, core)| core)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graviton2_is_a_neoverse_n1() {
        let info = CpuInfo::parse("processor : 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
        assert!(info.is_arm());
        assert_eq!(core(&info).map(|core| core.name), Some("Neoverse N1"));
    }

    #[test]
    fn expected_features_are_ones_shown() {
        for (_, _, core) in CORES {
            for name in core.expected {
                assert!(
                    ARM_FEATURES.iter().any(|feature| feature.name == *name),
                    "{name}"
                );
            }
        }
    }
}
