//! What a host can show its guests.

use super::{ARCH_CAPABILITIES, Accelerator, Flags};
use crate::Vendor;

/// What is known of a host.
#[derive(Clone, Debug)]
pub struct Known {
    pub vendor: Vendor,
    /// What CPUID states.
    pub stated: Flags,
    /// What the kernel took away: flags it cleared, state it did not enable.
    pub cleared: Flags,
    /// The register of what the processor is not vulnerable to, where it was read.
    pub arch_capabilities: Option<u64>,
    /// The kernel's version, which decides what its KVM knows.
    pub kernel: Option<(u32, u32)>,
    /// Whether KVM nests.
    pub is_nesting: bool,
    /// What a QEMU on its KVM said itself, where one was asked: it counts more than all
    /// the rest.
    pub told: Option<Flags>,
}

/// Flags that KVM never passes to a guest, or only as the shape of the guest says
/// (`kvm_set_cpu_caps` in Linux's arch/x86/kvm/cpuid.c; `intel-pt` and enclaves
/// need more than a flag).
const NEVER_PASSED: &str = "\
    pn ds acpi ht tm ia64 pbe dtes64 monitor ds-cpl smx est tm2 cid xtpr dca \
    extapic ibs skinit wdt lwp tce nodeid-msr perfctr-nb intel-pt sgx sgxlc pcommit pks fred lkgs wrmsrns \
    ddpd-u svm-lock avic flushbyasid vmcb-clean decodeassists \
    xstore xstore-en xcrypt xcrypt-en ace2 ace2-en phe phe-en pmm pmm-en";

/// Flags that KVM gives whatever the processor has.
const ALWAYS_GIVEN: &str = "x2apic tsc-deadline tsc-adjust hypervisor arat";

/// What KVM passes on since that kernel; everything else since before 5.10. A
/// kernel that passes one earlier is taken for one that does not: that is safe.
const SINCE: &[((u32, u32), &str)] = &[
    ((5, 11), "avx512-fp16"),
    ((5, 12), "avx-vnni"),
    ((5, 17), "amx-tile amx-int8 amx-bf16 xfd"),
    (
        (6, 3),
        "cmpccxadd amx-fp16 avx-ifma avx-vnni-int8 avx-ne-convert prefetchiti \
         no-nested-data-bp lfence-always-serializing null-sel-clr-base auto-ibrs",
    ),
    ((6, 5), "fzrm fsrs fsrc flush-l1d perfmon-v2"),
    (
        (6, 8),
        "lam amx-complex intel-psfd ipred-ctrl rrsba-ctrl bhi-ctrl mcdt-no",
    ),
    (
        (6, 13),
        "sha512 sm3 sm4 avx-vnni-int16 avx10 avx10-128 avx10-256 avx10-512 \
         sbpb ibpb-brtype srso-no srso-user-kernel-no eraps",
    ),
];

/// Why a flag that a host can show is not added to a model.
const WITHHELD: &[(&str, &str)] = &[
    (
        "invtsc",
        "a guest takes its clock for constant, which another host's is not: QEMU refuses to migrate it",
    ),
    (
        "vmx svm npt lbrv nrip-save tsc-scale pause-filter pfthreshold v-vmsave-vmload vgif vnmi svme-addr-chk",
        "a guest that runs guests of its own is not moved safely",
    ),
    (
        "hle rtm tsx-ldtrk tsx-ctrl",
        "microcode takes transactional memory away: a model that shows it does not start on the next host, or its guest crashes",
    ),
    (
        "pdcm arch-lbr perfmon-v2 perfctr-core topoext cmp-legacy",
        "it follows the host's counters or the guest's topology, not its model",
    ),
    (
        "mpx pks split-lock-detect core-capability bus-lock-detect waitpkg la57",
        "kernels gave it up, or a guest gains nothing from it",
    ),
    (
        "virt-ssbd amd-no-ssb stibp-always-on",
        "it says how one processor is built, not what a guest can do",
    ),
];

/// Flags that are not added to a model.
pub fn withheld() -> Flags {
    let all = WITHHELD.iter().map(|(names, _)| named(names));
    all.fold(Flags::default(), Flags::or)
}

/// Why a flag is not added, where it is not.
pub fn why_withheld(name: &str) -> Option<&'static str> {
    let is_of = |names: &str| names.split_whitespace().any(|own| own == name);
    let found = WITHHELD.iter().find(|(names, _)| is_of(names));
    found.map(|(_, why)| *why)
}

impl Known {
    /// What its KVM can show a guest; under emulation the host's processor does not
    /// count, and the emulator is asked instead.
    pub fn offered(&self) -> Flags {
        if let Some(told) = self.told {
            return told.closed();
        }
        let kernel = self.kernel.unwrap_or((0, 0));
        let unknown = SINCE.iter().filter(|(since, _)| kernel < *since);
        let unknown = unknown.map(|(_, names)| named(names));
        let mut never = unknown.fold(named(NEVER_PASSED), Flags::or);
        if !self.is_nesting {
            never = never.or(named("vmx svm"));
        }
        // On AMD's processors KVM invents the register, and no model has it.
        let is_intel = self.vendor == Vendor::Intel;
        if !is_intel {
            never = never.or(named("arch-capabilities core-capability"));
        }
        let mut own = self.stated.without(self.cleared);
        own = own.or(named(ALWAYS_GIVEN)).without(never);
        if let (true, Some(register)) = (is_intel, self.arch_capabilities) {
            own = own.with_register(ARCH_CAPABILITIES, register);
        }
        own.closed()
    }
}

/// What else keeps a guest from being moved under `accelerator`, whatever its model.
pub fn other_obstacles(accelerator: Accelerator) -> &'static [&'static str] {
    match accelerator {
        Accelerator::Kvm => &[
            "a device that is passed through (VFIO) or served by vhost-user crypto",
            "hosts whose clocks (TSC) differ and cannot scale: the guest's kernel must not use `tsc` as its only clock",
            "a host whose QEMU is older than the guest's machine type: name it (`-machine pc-q35-7.2`)",
        ],
        Accelerator::Tcg => &["a host whose QEMU is older than the guest's machine type: name it"],
    }
}

fn named(names: &str) -> Flags {
    Flags::named(names).expect("the names are ours")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(stated: &str) -> Known {
        Known {
            vendor: Vendor::Intel,
            stated: named(stated),
            cleared: Flags::default(),
            arch_capabilities: None,
            kernel: Some((6, 1)),
            is_nesting: false,
            told: None,
        }
    }

    #[test]
    fn every_name_in_the_lists_is_qemus() {
        let _ = (withheld(), named(NEVER_PASSED), named(ALWAYS_GIVEN));
        for (_, names) in SINCE {
            assert!(!named(names).is_empty());
        }
        for name in withheld().names() {
            assert!(why_withheld(name).is_some(), "{name}");
        }
        assert_eq!(why_withheld("aes"), None);
    }

    #[test]
    fn kvm_gives_and_takes() {
        let own = known("aes monitor vmx xsave avx amx-tile xfd fzrm").offered();
        let expected = named(&format!("aes xsave avx amx-tile xfd {ALWAYS_GIVEN}"));
        assert_eq!(own, expected);
        let mut old = known("aes xsave avx amx-tile xfd vmx");
        (old.kernel, old.is_nesting) = (Some((5, 10)), true);
        old.cleared = named("xsave");
        assert_eq!(old.offered(), named(&format!("aes vmx {ALWAYS_GIVEN}")));
    }

    #[test]
    fn what_a_processor_is_safe_from_counts_where_its_model_can_say_it() {
        let mut own = known("arch-capabilities");
        own.arch_capabilities = Some(1);
        assert!(own.offered().has("rdctl-no"));
        own.stated = Flags::default();
        assert!(!own.offered().has("rdctl-no"), "no model could show it");
        (own.stated, own.vendor) = (named("arch-capabilities"), Vendor::Amd);
        assert!(!own.offered().has("rdctl-no"));
    }
}
