//! The processor that runs this code.

use crate::{Leaf, Source};

/// CPUID and XGETBV of the processor that the calling thread runs on; on
/// other architectures than x86-64 a source without leaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

#[cfg(target_arch = "x86_64")]
impl Source for Native {
    fn leaf(&self, leaf: u32, subleaf: u32) -> Option<Leaf> {
        in_range(leaf).then(|| raw(leaf, subleaf))
    }

    fn xcr0(&self) -> Option<u64> {
        crate::Feature::Osxsave.is_set(self).then(xgetbv0)
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Source for Native {
    fn leaf(&self, _leaf: u32, _subleaf: u32) -> Option<Leaf> {
        None
    }

    fn xcr0(&self) -> Option<u64> {
        None
    }
}

#[cfg(target_arch = "x86_64")]
fn raw(leaf: u32, subleaf: u32) -> Leaf {
    let registers = core::arch::x86_64::__cpuid_count(leaf, subleaf);
    Leaf {
        eax: registers.eax,
        ebx: registers.ebx,
        ecx: registers.ecx,
        edx: registers.edx,
    }
}

/// Whether the range of `leaf` reaches it. Outside a hypervisor its range
/// holds undefined data, so it counts only when the hypervisor bit is set.
#[cfg(target_arch = "x86_64")]
fn in_range(leaf: u32) -> bool {
    let base = leaf & 0xffff_0000;
    let last = raw(base, 0).eax;
    match base {
        crate::source::BASIC => leaf <= last,
        // KVM once stated 0 here and meant its one leaf (Linux, cpuid.rst).
        crate::source::HYPERVISOR => {
            raw(1, 0).ecx >> 31 & 1 == 1 && leaf <= last.max(crate::source::HYPERVISOR + 1)
        }
        crate::source::EXTENDED => last >= crate::source::EXTENDED && leaf <= last,
        _ => false,
    }
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "XGETBV has no safe intrinsic")]
fn xgetbv0() -> u64 {
    #[target_feature(enable = "xsave")]
    fn read() -> u64 {
        // SAFETY: XCR0 exists wherever XGETBV does, and reading it has no
        // effect; the caller has seen OSXSAVE, without which XGETBV faults.
        unsafe { core::arch::x86_64::_xgetbv(0) }
    }
    // SAFETY: the only caller has seen OSXSAVE, which implies XSAVE.
    unsafe { read() }
}
