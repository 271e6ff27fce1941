//! QEMU's names of what a CPU model can show, and where each is stated.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use crate::{Feature, Source};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Register {
    Eax,
    Ebx,
    Ecx,
    Edx,
}

/// Where the bits of a word stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Cpuid(u32, u32, Register),
    /// A register that only the kernel can read.
    Msr(u32),
}

/// The register of `rdctl-no` and its kin (Intel SDM volume 4, 2.1).
pub const ARCH_CAPABILITIES: u32 = 0x10a;
pub const CORE_CAPABILITIES: u32 = 0xcf;

use Place::{Cpuid, Msr};
use Register::{Eax, Ebx, Ecx, Edx};

/// Words of 32 flags, bit 0 first; `-` is a bit without a name.
///
/// Source: QEMU 10.0.2, target/i386/cpu.c, `feature_word_info`. Left out are
/// KVM's own (`kvm-…`), which every guest of KVM has, and what nested guests and
/// enclaves need (`vmx-…`, `sgx…`): they forbid migration in any case.
const WORDS: [(Place, &str); WORDS_LEN] = [
    (
        Cpuid(1, 0, Edx),
        "fpu vme de pse tsc msr pae mce cx8 apic - sep mtrr pge mca cmov \
         pat pse36 pn clflush - ds acpi mmx fxsr sse sse2 ss ht tm ia64 pbe",
    ),
    (
        Cpuid(1, 0, Ecx),
        "pni pclmulqdq dtes64 monitor ds-cpl vmx smx est tm2 ssse3 cid - fma cx16 xtpr pdcm \
         - pcid dca sse4.1 sse4.2 x2apic movbe popcnt tsc-deadline aes xsave - avx f16c rdrand hypervisor",
    ),
    (
        Cpuid(0x8000_0001, 0, Edx),
        "- - - - - - - - - - - syscall - - - - \
         - - - - nx - mmxext - - fxsr-opt pdpe1gb rdtscp - lm 3dnowext 3dnow",
    ),
    (
        Cpuid(0x8000_0001, 0, Ecx),
        "lahf-lm cmp-legacy svm extapic cr8legacy abm sse4a misalignsse 3dnowprefetch osvw ibs xop skinit wdt - lwp \
         fma4 tce - nodeid-msr - tbm topoext perfctr-core perfctr-nb",
    ),
    (
        Cpuid(0xc000_0001, 0, Edx),
        "- - xstore xstore-en - - xcrypt xcrypt-en ace2 ace2-en phe phe-en pmm pmm-en",
    ),
    (
        Cpuid(7, 0, Ebx),
        "fsgsbase tsc-adjust sgx bmi1 hle avx2 fdp-excptn-only smep bmi2 erms invpcid rtm - zero-fcs-fds mpx - \
         avx512f avx512dq rdseed adx smap avx512ifma pcommit clflushopt clwb intel-pt avx512pf avx512er avx512cd sha-ni avx512bw avx512vl",
    ),
    (
        Cpuid(7, 0, Ecx),
        "- avx512vbmi umip pku - waitpkg avx512vbmi2 - gfni vaes vpclmulqdq avx512vnni avx512bitalg - avx512-vpopcntdq - \
         la57 - - - - - rdpid - bus-lock-detect cldemote - movdiri movdir64b - sgxlc pks",
    ),
    (
        Cpuid(7, 0, Edx),
        "- - avx512-4vnniw avx512-4fmaps fsrm - - - avx512-vp2intersect - md-clear - - - serialize - \
         tsx-ldtrk - - arch-lbr - - amx-bf16 avx512-fp16 amx-tile amx-int8 spec-ctrl stibp flush-l1d arch-capabilities core-capability ssbd",
    ),
    (
        Cpuid(7, 1, Eax),
        "sha512 sm3 sm4 - avx-vnni avx512-bf16 - cmpccxadd - - fzrm fsrs fsrc - - - \
         - fred lkgs wrmsrns - amx-fp16 - avx-ifma - - lam",
    ),
    (
        Cpuid(7, 1, Edx),
        "- - - - avx-vnni-int8 avx-ne-convert - - amx-complex - avx-vnni-int16 - - - prefetchiti - - - - avx10",
    ),
    (
        Cpuid(7, 2, Edx),
        "intel-psfd ipred-ctrl rrsba-ctrl ddpd-u bhi-ctrl mcdt-no",
    ),
    (
        Cpuid(0x24, 0, Ebx),
        "- - - - - - - - - - - - - - - - avx10-128 avx10-256 avx10-512",
    ),
    (Cpuid(0xd, 1, Eax), "xsaveopt xsavec xgetbv1 xsaves xfd"),
    (Cpuid(6, 0, Eax), "- - arat"),
    (Cpuid(0x8000_0007, 0, Ebx), "overflow-recov succor"),
    (Cpuid(0x8000_0007, 0, Edx), "- - - - - - - - invtsc"),
    (
        Cpuid(0x8000_0008, 0, Ebx),
        "clzero - xsaveerptr - - - - - - wbnoinvd - - ibpb - ibrs amd-stibp \
         - stibp-always-on - - - - - - amd-ssbd virt-ssbd amd-no-ssb - amd-psfd",
    ),
    (
        Cpuid(0x8000_000a, 0, Edx),
        "npt lbrv svm-lock nrip-save tsc-scale vmcb-clean flushbyasid decodeassists - - pause-filter - pfthreshold avic - v-vmsave-vmload \
         vgif - - - - - - - - vnmi - - svme-addr-chk",
    ),
    (
        Cpuid(0x8000_0021, 0, Eax),
        "no-nested-data-bp - lfence-always-serializing - - - null-sel-clr-base - auto-ibrs - - - - - - - \
         - - - - - - - - eraps - - sbpb ibpb-brtype srso-no srso-user-kernel-no",
    ),
    (Cpuid(0x8000_0022, 0, Eax), "perfmon-v2"),
    (
        Msr(ARCH_CAPABILITIES),
        "rdctl-no ibrs-all rsba skip-l1dfl-vmentry ssb-no mds-no pschange-mc-no tsx-ctrl taa-no - - - - sbdr-ssdp-no fbsdp-no psdp-no \
         - fb-clear - - bhi-no - - - pbrsb-no - gds-no rfds-no rfds-clear",
    ),
    (Msr(CORE_CAPABILITIES), "- - - - - split-lock-detect"),
];

const WORDS_LEN: usize = 22;

/// The leaves that state flags, as (leaf, subleaf), each once.
pub fn leaves() -> impl Iterator<Item = (u32, u32)> {
    let mut seen = Vec::new();
    WORDS.iter().filter_map(move |(place, _)| match *place {
        Cpuid(leaf, subleaf, _) if !seen.contains(&(leaf, subleaf)) => {
            seen.push((leaf, subleaf));
            Some((leaf, subleaf))
        }
        _ => None,
    })
}

/// A set of flags by QEMU's names.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flags([u32; WORDS_LEN]);

impl Flags {
    /// Those that CPUID states. Register state that the system did not enable, and
    /// registers that only the kernel reads, are not looked at.
    pub fn of(source: &dyn Source) -> Self {
        let bits = |place: Place| match place {
            Cpuid(leaf, subleaf, register) => {
                let leaf = source.leaf(leaf, subleaf).unwrap_or_default();
                match register {
                    Eax => leaf.eax,
                    Ebx => leaf.ebx,
                    Ecx => leaf.ecx,
                    Edx => leaf.edx,
                }
            }
            Msr(_) => 0,
        };
        Self(WORDS.map(|(place, _)| bits(place))).and(Self::every())
    }

    /// With those that a register of the kernel states.
    #[must_use]
    pub fn with_register(mut self, number: u32, value: u64) -> Self {
        let word = WORDS.iter().position(|(place, _)| *place == Msr(number));
        if let Some(word) = word {
            self.0[word] |= value as u32 & Self::every().0[word];
        }
        self
    }

    /// Every flag that has a name.
    pub fn every() -> Self {
        Self(WORDS.map(|(_, names)| {
            let bits = names.split_whitespace().enumerate();
            bits.filter(|(_, name)| *name != "-")
                .fold(0, |word, (bit, _)| word | 1 << bit)
        }))
    }

    /// Those of a list of names apart by blanks.
    ///
    /// # Errors
    /// The name that is none of QEMU's.
    pub fn named(names: &str) -> Result<Self, String> {
        let mut all = Self::default();
        for name in names.split_whitespace() {
            if !all.insert(name) {
                return Err(name.to_owned());
            }
        }
        Ok(all)
    }

    /// False where no flag has that name.
    pub fn insert(&mut self, name: &str) -> bool {
        let place = place(name);
        if let Some((word, bit)) = place {
            self.0[word] |= 1 << bit;
        }
        place.is_some()
    }

    pub fn has(&self, name: &str) -> bool {
        place(name).is_some_and(|(word, bit)| self.0[word] >> bit & 1 == 1)
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.zip(other, |own, other| own & other)
    }

    #[must_use]
    pub fn or(self, other: Self) -> Self {
        self.zip(other, |own, other| own | other)
    }

    #[must_use]
    pub fn without(self, other: Self) -> Self {
        self.zip(other, |own, other| own & !other)
    }

    fn zip(self, other: Self, with: impl Fn(u32, u32) -> u32) -> Self {
        Self(std::array::from_fn(|word| {
            with(self.0[word], other.0[word])
        }))
    }

    pub fn is_within(&self, other: &Self) -> bool {
        self.without(*other).is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS_LEN]
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// In the order of the words.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        let words = self.0.iter().zip(&WORDS);
        words.flat_map(|(bits, (_, names))| {
            let of = names.split_whitespace().enumerate();
            of.filter(move |(bit, _)| bits >> bit & 1 == 1)
                .map(|(_, name)| name)
        })
    }

    /// The features that these are, as far as crypto code asks for them.
    pub fn features(&self) -> impl Iterator<Item = Feature> + '_ {
        Feature::all().filter(|feature| self.has(qemu_name(*feature)))
    }

    /// Without those that need one that is not there: what CPUID may state of a
    /// register state is void without it (Intel SDM volume 1, 13.3 and 15.4).
    #[must_use]
    pub fn closed(mut self) -> Self {
        loop {
            let void = |name: &str| needs(name).is_some_and(|need| !self.has(need));
            let lost: Vec<_> = self.names().filter(|name| void(name)).collect();
            if lost.is_empty() {
                return self;
            }
            let lost = Self::named(&lost.join(" "));
            self = self.without(lost.expect("the names are ours"));
        }
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

fn place(name: &str) -> Option<(usize, usize)> {
    static PLACES: LazyLock<HashMap<&str, (usize, usize)>> = LazyLock::new(|| {
        let words = WORDS.iter().enumerate();
        let all = words.flat_map(|(word, (_, names))| {
            let names = names.split_whitespace().enumerate();
            names.map(move |(bit, name)| (name, (word, bit)))
        });
        all.filter(|(name, _)| *name != "-").collect()
    });
    PLACES.get(name).copied()
}

/// QEMU's name of a feature: the kernel's, but for its hyphens.
pub fn qemu_name(feature: Feature) -> &'static str {
    match feature {
        Feature::Sse41 => "sse4.1",
        Feature::Sse42 => "sse4.2",
        Feature::ShaNi => "sha-ni",
        Feature::Avx512vbmi2 => "avx512vbmi2",
        Feature::Avx512bitalg => "avx512bitalg",
        Feature::Avx512vpopcntdq => "avx512-vpopcntdq",
        other => other.name(),
    }
}

/// What a flag is void without.
fn needs(name: &str) -> Option<&'static str> {
    Some(match name {
        "avx" | "xsaveopt" | "xsavec" | "xgetbv1" | "xsaves" | "xfd" | "pku" => "xsave",
        "avx2" | "fma" | "f16c" | "vaes" | "vpclmulqdq" | "xop" | "fma4" | "avx-vnni"
        | "avx-ifma" | "avx-vnni-int8" | "avx-vnni-int16" | "avx-ne-convert" | "sha512" | "sm3"
        | "sm4" | "avx512f" => "avx",
        "avx10" => "avx512f",
        "avx10-128" | "avx10-256" | "avx10-512" => "avx10",
        "amx-tile" => "xfd",
        "rdctl-no" | "ibrs-all" | "rsba" | "skip-l1dfl-vmentry" | "ssb-no" | "mds-no"
        | "pschange-mc-no" | "tsx-ctrl" | "taa-no" | "sbdr-ssdp-no" | "fbsdp-no" | "psdp-no"
        | "fb-clear" | "bhi-no" | "pbrsb-no" | "gds-no" | "rfds-no" | "rfds-clear" => {
            "arch-capabilities"
        }
        "split-lock-detect" => "core-capability",
        "npt" | "lbrv" | "svm-lock" | "nrip-save" | "tsc-scale" | "vmcb-clean" | "flushbyasid"
        | "decodeassists" | "pause-filter" | "pfthreshold" | "avic" | "v-vmsave-vmload"
        | "vgif" | "vnmi" | "svme-addr-chk" => "svm",
        _ if name.starts_with("avx512") => "avx512f",
        _ if name.starts_with("amx-") => "amx-tile",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_once_and_words_are_no_longer_than_registers() {
        let mut names: Vec<_> = Flags::every().names().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for (_, names) in WORDS {
            assert!(names.split_whitespace().count() <= 32, "{names}");
        }
        for name in Flags::every().names() {
            assert_eq!(
                Flags::named(name).unwrap().names().collect::<Vec<_>>(),
                [name]
            );
        }
    }

    #[test]
    fn features_stand_where_cpuid_states_them() {
        // The kernel alone turns this on, and no model can.
        let known = Feature::all().filter(|one| *one != Feature::Osxsave);
        for feature in known {
            let flags = Flags::named(qemu_name(feature)).unwrap();
            assert_eq!(flags.features().collect::<Vec<_>>(), [feature]);
            let (word, bit) = place(qemu_name(feature)).unwrap();
            let Cpuid(leaf, subleaf, register) = WORDS[word].0 else {
                panic!("{feature:?}")
            };
            let mut all = crate::Leaf::default();
            *match register {
                Eax => &mut all.eax,
                Ebx => &mut all.ebx,
                Ecx => &mut all.ecx,
                Edx => &mut all.edx,
            } = 1 << bit;
            let line = format!(
                "{leaf:#x} {subleaf:#x}: eax={:#x} ebx={:#x} ecx={:#x} edx={:#x}",
                all.eax, all.ebx, all.ecx, all.edx
            );
            let dump = crate::Dump::parse(&line).unwrap();
            assert!(feature.is_set(&dump), "{feature:?}");
            assert_eq!(Flags::of(&dump), flags);
        }
    }

    #[test]
    fn what_needs_a_flag_goes_with_it() {
        let all = Flags::named("xsave avx avx2 avx512f avx512vl vaes aes sha512").unwrap();
        let without = |name| all.without(Flags::named(name).unwrap()).closed();
        assert_eq!(without("xsave"), Flags::named("aes").unwrap());
        assert_eq!(
            without("avx512f"),
            all.without(Flags::named("avx512f avx512vl").unwrap())
        );
        assert_eq!(all.closed(), all);
        assert_eq!(Flags::named("aes avx1024").unwrap_err(), "avx1024");
    }

    #[test]
    fn registers_of_the_kernel_add_what_they_state() {
        let own = Flags::default().with_register(ARCH_CAPABILITIES, 0b10_0001);
        assert_eq!(own, Flags::named("rdctl-no mds-no").unwrap());
        assert_eq!(Flags::default().with_register(7, 1), Flags::default());
    }
}
