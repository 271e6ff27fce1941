//! A recorded processor, and `/proc/cpuinfo`.

use cpu::{Circumstances, CpuInfo, Dump, Feature, Processor, microarchitecture};

/// Reads the bytes as a CPUID dump and as `/proc/cpuinfo`, one standing for
/// the machine of the other; every flag then has a standing and a tier.
pub fn cpuid_dump(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let info = CpuInfo::parse(&text);
    assert!(info.is_arm() || cpu::arm_core(&info).is_none());
    assert!(info.number("microcode").is_none() || info.field("microcode").is_some());
    let processor = Dump::parse(&text)
        .ok()
        .and_then(|dump| Processor::decode(&dump));
    stands(processor.as_ref(), &info, &text);
    if let Some(processor) = &processor {
        let usable = processor.usable();
        assert!(usable.is_subset(&processor.features));
        let (tier, lacks) = cpu::tier(&usable);
        assert_eq!(lacks.is_empty(), Some(&tier) == cpu::Tier::ALL.last());
    }
}

fn stands(processor: Option<&Processor>, info: &CpuInfo, command_line: &str) {
    let known = processor
        .and_then(|it| microarchitecture(&it.vendor, it.signature))
        .map(|known| {
            known.sold_as(&processor.map_or_else(String::new, |it| it.model_name.clone()))
        });
    let around = Circumstances {
        microarchitecture: known.as_ref(),
        hypervisor: processor.and_then(|it| it.hypervisor.as_ref()),
        kernel_flags: info.flags(),
        command_line,
    };
    for feature in Feature::all() {
        let standing = cpu::standing(feature, processor, &around);
        let remedy = standing.remedy(feature, &around);
        assert!(!standing.text(feature, &around).is_empty());
        assert_eq!(
            remedy.is_empty(),
            standing == cpu::Standing::Usable,
            "{feature:?} {standing:?}"
        );
    }
}
