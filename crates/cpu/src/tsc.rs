//! The time stamp counter as CPUID states it.

use crate::{Source, source};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tsc {
    /// It runs at one rate in every power state (leaf 0x8000_0007).
    pub invariant: bool,
    pub frequency_hz: Option<u64>,
}

pub(crate) fn tsc(source: &dyn Source) -> Tsc {
    let power = source.leaf(source::EXTENDED + 7, 0).unwrap_or_default();
    Tsc {
        invariant: power.edx >> 8 & 1 == 1,
        frequency_hz: stated_by_processor(source).or_else(|| stated_by_hypervisor(source)),
    }
}

/// Crystal clock times ratio (Intel SDM volume 2A, CPUID leaf 0x15); where
/// the crystal is not stated the base frequency of leaf 0x16 is the TSC's
/// (Linux, `native_calibrate_tsc`).
fn stated_by_processor(source: &dyn Source) -> Option<u64> {
    let ratio = source.leaf(0x15, 0)?;
    if ratio.eax == 0 || ratio.ebx == 0 {
        return None;
    }
    if ratio.ecx != 0 {
        return Some(u64::from(ratio.ecx) * u64::from(ratio.ebx) / u64::from(ratio.eax));
    }
    let base_mhz = source.leaf(0x16, 0)?.eax & 0xffff;
    (base_mhz != 0).then(|| u64::from(base_mhz) * 1_000_000)
}

/// Leaf 0x4000_0010, EAX: kHz (VMware's timing leaf, which KVM adopts).
fn stated_by_hypervisor(source: &dyn Source) -> Option<u64> {
    let last = source.leaf(source::HYPERVISOR, 0)?.eax;
    if last < source::HYPERVISOR + 0x10 {
        return None;
    }
    let khz = source.leaf(source::HYPERVISOR + 0x10, 0)?.eax;
    (khz != 0).then(|| u64::from(khz) * 1000)
}

#[cfg(test)]
mod tests {
    use crate::Dump;

    #[test]
    fn frequency_by_crystal_base_or_hypervisor() {
        let frequency = |text: &str| super::tsc(&Dump::parse(text).expect("parses")).frequency_hz;
        assert_eq!(frequency("15 0: 2 a8 17d7840 0"), Some(2_100_000_000));
        assert_eq!(
            frequency("15 0: 2 c8 0 0\n16 0: 960 0 0 0"),
            Some(2_400_000_000)
        );
        let vmware = "40000000 0: 40000010 0 0 0\n40000010 0: 27ac40 0 0 0";
        assert_eq!(frequency(vmware), Some(2_600_000_000));
        assert_eq!(frequency("15 0: 0 0 0 0"), None);
    }
}
