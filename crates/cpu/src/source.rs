//! Where CPUID leaves come from.

/// The registers that one (leaf, subleaf) of CPUID returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leaf {
    pub eax: u32,
    pub ebx: u32,
    pub ecx: u32,
    pub edx: u32,
}

/// A source of CPUID leaves and of XCR0.
pub trait Source {
    /// That leaf, or `None` when the processor has no such leaf (a native
    /// processor answers out-of-range leaves with another leaf's data, so a
    /// source checks the range).
    fn leaf(&self, leaf: u32, subleaf: u32) -> Option<Leaf>;

    /// XCR0: the register state components the operating system enabled;
    /// `None` without OSXSAVE, or when not recorded.
    fn xcr0(&self) -> Option<u64>;
}

pub(crate) const BASIC: u32 = 0;
pub(crate) const HYPERVISOR: u32 = 0x4000_0000;
pub(crate) const EXTENDED: u32 = 0x8000_0000;
