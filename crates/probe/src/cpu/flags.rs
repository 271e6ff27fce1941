//! One fact a flag.

use ::cpu::{ARM_FEATURES, ArmFeature, Circumstances, Feature, Standing, standing};
use trial::Fact;

use crate::cpu::Context;
use crate::fact::{Judge, fact};

pub(crate) fn facts(cpu: &Context) -> Vec<Fact> {
    if cpu.info.is_arm() && cpu.processor.is_none() {
        return ARM_FEATURES
            .iter()
            .map(|feature| arm(cpu, *feature))
            .collect();
    }
    let around = cpu.circumstances();
    Feature::all()
        .filter(|&feature| feature != Feature::Hypervisor && is_of_vendor(cpu, feature))
        // The kernel's list, which stands in for CPUID, never shows these.
        .filter(|feature| cpu.processor.is_some() || feature.is_printed())
        .map(|feature| x86(cpu, feature, &around))
        .collect()
}

/// An Intel processor has no SVM, and an AMD one no VMX: not worth a line.
fn is_of_vendor(cpu: &Context, feature: Feature) -> bool {
    match feature {
        Feature::Vmx => !cpu.is_amd(),
        Feature::Svm => cpu.is_amd(),
        _ => true,
    }
}

fn x86(cpu: &Context, feature: Feature, around: &Circumstances<'_>) -> Fact {
    let standing = standing(feature, cpu.processor.as_ref(), around);
    let usable = standing == Standing::Usable;
    let text = standing.text(feature, around);
    let fact = fact(
        format!("cpu.flag.{}", feature.name()),
        feature.label(),
        usable,
        text,
    );
    let remedy = standing.remedy(feature, around);
    match standing {
        Standing::Usable => fact,
        Standing::StateDisabled(_) | Standing::Cleared | Standing::Withheld => {
            fact.degraded(remedy)
        }
        Standing::Disguised | Standing::NotInModel | Standing::NotStated => fact.absent(remedy),
    }
}

fn arm(cpu: &Context, feature: ArmFeature) -> Fact {
    let there = cpu.info.flags().contains(feature.name);
    let expected = cpu
        .arm_core
        .is_some_and(|core| core.expected.contains(&feature.name));
    let key = format!("cpu.flag.{}", feature.name);
    match (there, expected) {
        (true, _) => fact(key, feature.label, true, "usable"),
        (false, true) => fact(key, feature.label, false, "this core's servers have it; the kernel does not list it")
            .degraded("in a guest use `-cpu host`; on bare metal look for `arm64.no…` or `id_aa64…` on the kernel command line and for a kernel built without it"),
        (false, false) => fact(key, feature.label, false, "not listed by the kernel")
            .absent("only a processor that has it; software falls back to slower code"),
    }
}
