//! The flags that matter to crypto code, and where CPUID states them.

use serde::Serialize;

use crate::{Component, Source};

#[derive(Clone, Copy)]
enum Register {
    Eax,
    Ebx,
    Ecx,
    Edx,
}

/// The position of a flag and the state it needs.
struct Place {
    feature: Feature,
    /// The name in Linux' `/proc/cpuinfo` and in our keys.
    name: &'static str,
    label: &'static str,
    /// Whether `/proc/cpuinfo` prints it on every kernel from 5.10.
    printed: bool,
    leaf: (u32, u32),
    register: Register,
    bit: u32,
    needs: &'static [Component],
}

const NOTHING: &[Component] = &[];
const AVX: &[Component] = &[Component::Sse, Component::Avx];
const AVX512: &[Component] = &[
    Component::Sse,
    Component::Avx,
    Component::Opmask,
    Component::ZmmHi256,
    Component::Hi16Zmm,
];

macro_rules! features {
    ($($variant:ident $name:literal $label:literal $printed:literal ($leaf:literal, $subleaf:literal) $register:ident $bit:literal $needs:ident;)+) => {
        /// A flag of CPUID (Intel SDM volume 2A, CPUID; AMD APM volume 3,
        /// appendix E).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Feature {
            $(#[doc = $label] $variant,)+
        }

        const PLACES: &[Place] = &[
            $(Place {
                feature: Feature::$variant,
                name: $name,
                label: $label,
                printed: $printed,
                leaf: ($leaf, $subleaf),
                register: Register::$register,
                bit: $bit,
                needs: $needs,
            },)+
        ];
    };
}

features! {
    Ssse3 "ssse3" "SSSE3" true (1, 0) Ecx 9 NOTHING;
    Sse41 "sse4_1" "SSE4.1" true (1, 0) Ecx 19 NOTHING;
    Sse42 "sse4_2" "SSE4.2" true (1, 0) Ecx 20 NOTHING;
    Aes "aes" "AES-NI" true (1, 0) Ecx 25 NOTHING;
    Pclmulqdq "pclmulqdq" "PCLMULQDQ" true (1, 0) Ecx 1 NOTHING;
    ShaNi "sha_ni" "SHA-NI" true (7, 0) Ebx 29 NOTHING;
    Avx "avx" "AVX" true (1, 0) Ecx 28 AVX;
    Fma "fma" "FMA" true (1, 0) Ecx 12 AVX;
    F16c "f16c" "F16C" true (1, 0) Ecx 29 AVX;
    Avx2 "avx2" "AVX2" true (7, 0) Ebx 5 AVX;
    Vaes "vaes" "VAES" true (7, 0) Ecx 9 AVX;
    Vpclmulqdq "vpclmulqdq" "VPCLMULQDQ" true (7, 0) Ecx 10 AVX;
    Avx512f "avx512f" "AVX-512 F" true (7, 0) Ebx 16 AVX512;
    Avx512bw "avx512bw" "AVX-512 BW" true (7, 0) Ebx 30 AVX512;
    Avx512dq "avx512dq" "AVX-512 DQ" true (7, 0) Ebx 17 AVX512;
    Avx512vl "avx512vl" "AVX-512 VL" true (7, 0) Ebx 31 AVX512;
    Avx512cd "avx512cd" "AVX-512 CD" true (7, 0) Ebx 28 AVX512;
    Avx512er "avx512er" "AVX-512 ER" true (7, 0) Ebx 27 AVX512;
    Avx512pf "avx512pf" "AVX-512 PF" true (7, 0) Ebx 26 AVX512;
    Avx512ifma "avx512ifma" "AVX-512 IFMA" true (7, 0) Ebx 21 AVX512;
    Avx512vbmi "avx512vbmi" "AVX-512 VBMI" true (7, 0) Ecx 1 AVX512;
    Avx512vbmi2 "avx512_vbmi2" "AVX-512 VBMI2" true (7, 0) Ecx 6 AVX512;
    Avx512bitalg "avx512_bitalg" "AVX-512 BITALG" true (7, 0) Ecx 12 AVX512;
    Avx512vpopcntdq "avx512_vpopcntdq" "AVX-512 VPOPCNTDQ" true (7, 0) Ecx 14 AVX512;
    Gfni "gfni" "GFNI" true (7, 0) Ecx 8 NOTHING;
    Bmi1 "bmi1" "BMI1" true (7, 0) Ebx 3 NOTHING;
    Bmi2 "bmi2" "BMI2" true (7, 0) Ebx 8 NOTHING;
    Adx "adx" "ADX" true (7, 0) Ebx 19 NOTHING;
    Movbe "movbe" "MOVBE" true (1, 0) Ecx 22 NOTHING;
    Rdrand "rdrand" "RDRAND" true (1, 0) Ecx 30 NOTHING;
    Rdseed "rdseed" "RDSEED" true (7, 0) Ebx 18 NOTHING;
    Sha512 "sha512" "SHA-512 instructions" false (7, 1) Eax 0 AVX;
    Sm3 "sm3" "SM3 instructions" false (7, 1) Eax 1 AVX;
    Sm4 "sm4" "SM4 instructions" false (7, 1) Eax 2 AVX;
    Xsave "xsave" "XSAVE" true (1, 0) Ecx 26 NOTHING;
    Osxsave "osxsave" "OSXSAVE (the kernel turned XSAVE on)" false (1, 0) Ecx 27 NOTHING;
    Xsaveopt "xsaveopt" "XSAVEOPT" true (0xd, 1) Eax 0 NOTHING;
    Xsavec "xsavec" "XSAVEC" true (0xd, 1) Eax 1 NOTHING;
    Xgetbv1 "xgetbv1" "XGETBV with ECX=1" true (0xd, 1) Eax 2 NOTHING;
    Xsaves "xsaves" "XSAVES" true (0xd, 1) Eax 3 NOTHING;
    Rdtscp "rdtscp" "RDTSCP" true (0x8000_0001, 0) Edx 27 NOTHING;
    Vmx "vmx" "VMX (Intel virtualisation)" true (1, 0) Ecx 5 NOTHING;
    Svm "svm" "SVM (AMD virtualisation)" true (0x8000_0001, 0) Ecx 2 NOTHING;
    Hypervisor "hypervisor" "hypervisor present" true (1, 0) Ecx 31 NOTHING;
}

impl Feature {
    pub fn all() -> impl Iterator<Item = Self> {
        PLACES.iter().map(|place| place.feature)
    }

    /// Name as in `/proc/cpuinfo`, e.g. `sha_ni`.
    pub fn name(self) -> &'static str {
        self.place().name
    }

    /// Name for people, e.g. `SHA-NI`.
    pub fn label(self) -> &'static str {
        self.place().label
    }

    /// The flag of that name in `/proc/cpuinfo`.
    pub fn named(name: &str) -> Option<Self> {
        PLACES
            .iter()
            .find(|place| place.name == name)
            .map(|place| place.feature)
    }

    /// Whether `/proc/cpuinfo` would print it, so that its absence there
    /// means that the kernel cleared it.
    pub fn is_printed(self) -> bool {
        self.place().printed
    }

    /// Register state that the operating system must have enabled.
    pub fn needs(self) -> &'static [Component] {
        self.place().needs
    }

    pub fn is_set(self, source: &dyn Source) -> bool {
        let place = self.place();
        let (leaf, subleaf) = place.leaf;
        // A subleaf above the maximum that subleaf 0 states returns zeros.
        source.leaf(leaf, subleaf).is_some_and(|leaf| {
            let register = match place.register {
                Register::Eax => leaf.eax,
                Register::Ebx => leaf.ebx,
                Register::Ecx => leaf.ecx,
                Register::Edx => leaf.edx,
            };
            register >> place.bit & 1 == 1
        })
    }

    /// Its place in the capability vector of OpenSSL and its kin
    /// (`OPENSSL_ia32cap(3)`): CPUID leaf 1 or 7, and the bit, EDX (of leaf 7:
    /// EBX) being 0 to 31 and ECX 32 to 63. None where the vector's first two
    /// words do not hold it.
    pub fn capability_bit(self) -> Option<(u32, u32)> {
        let Place {
            leaf: (leaf, subleaf),
            register,
            bit,
            ..
        } = *self.place();
        match (leaf, subleaf, register) {
            (1, 0, Register::Edx) | (7, 0, Register::Ebx) => Some((leaf, bit)),
            (1 | 7, 0, Register::Ecx) => Some((leaf, bit + 32)),
            _ => None,
        }
    }

    fn place(self) -> &'static Place {
        let place = &PLACES[self as usize];
        debug_assert_eq!(
            place.feature, self,
            "variants and places come from one list"
        );
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_has_its_own_name_and_bit() {
        let mut names: Vec<_> = PLACES.iter().map(|place| place.name).collect();
        let mut bits: Vec<_> = PLACES
            .iter()
            .map(|place| (place.leaf, place.register as u8, place.bit))
            .collect();
        for list_len in [names.len(), bits.len()] {
            assert_eq!(list_len, PLACES.len());
        }
        names.sort_unstable();
        names.dedup();
        bits.sort_unstable();
        bits.dedup();
        assert_eq!((names.len(), bits.len()), (PLACES.len(), PLACES.len()));
    }

    #[test]
    fn capability_bits_are_those_openssl_documents() {
        // OPENSSL_ia32cap(3): bit #57 denotes AES-NI, #33 PCLMULQDQ, #60 AVX;
        // of the second word #5 AVX2, #29 SHA, #41 VAES, #42 VPCLMULQDQ.
        for (feature, place) in [
            (Feature::Aes, (1, 57)),
            (Feature::Pclmulqdq, (1, 33)),
            (Feature::Avx, (1, 60)),
            (Feature::Avx2, (7, 5)),
            (Feature::ShaNi, (7, 29)),
            (Feature::Vaes, (7, 41)),
            (Feature::Vpclmulqdq, (7, 42)),
        ] {
            assert_eq!(feature.capability_bit(), Some(place), "{feature:?}");
        }
        assert_eq!(Feature::Sha512.capability_bit(), None);
        assert_eq!(Feature::Rdtscp.capability_bit(), None);
    }

    #[test]
    fn names_find_their_flags() {
        for feature in Feature::all() {
            assert_eq!(Feature::named(feature.name()), Some(feature));
        }
        assert_eq!(Feature::named("avx10"), None);
    }
}
