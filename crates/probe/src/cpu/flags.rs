//! One fact a flag.

use ::cpu::{ARM_FEATURES, ArmFeature, Circumstances, Feature, Standing, standing};
use trial::Fact;

use crate::cpu::Context;
use crate::fact::{Found, ok};
use crate::machine::Machine;
use crate::row::Row::{self, Many};

pub(crate) const FACTS: &[Row] = &[Many(facts)];

fn facts(on: &Machine) -> Vec<Fact> {
    let cpu = &on.cpu;
    if cpu.is_arm_only() {
        let fact = |one: &ArmFeature| arm(cpu, one).named(key(one.name), one.label);
        return ARM_FEATURES.iter().map(fact).collect();
    }
    let around = cpu.circumstances();
    Feature::all()
        .filter(|&feature| feature != Feature::Hypervisor && is_of_vendor(cpu, feature))
        // The kernel's list, which stands in for CPUID, never shows these.
        .filter(|feature| cpu.processor.is_some() || feature.is_printed())
        .map(|feature| x86(cpu, feature, &around).named(key(feature.name()), feature.label()))
        .collect()
}

fn key(name: &str) -> String {
    format!("cpu.flag.{name}")
}

/// An Intel processor has no SVM, and an AMD one no VMX: not worth a line.
fn is_of_vendor(cpu: &Context, feature: Feature) -> bool {
    match feature {
        Feature::Vmx => !cpu.is_amd(),
        Feature::Svm => cpu.is_amd(),
        _ => true,
    }
}

fn x86(cpu: &Context, feature: Feature, around: &Circumstances<'_>) -> Found {
    let standing = standing(feature, cpu.processor.as_ref(), around);
    let found = ok(standing == Standing::Usable, standing.text(feature, around));
    let remedy = standing.remedy(feature, around);
    match standing {
        Standing::Usable => found,
        Standing::StateDisabled(_) | Standing::Cleared | Standing::Withheld => {
            found.degraded(remedy)
        }
        Standing::Disguised | Standing::NotInModel | Standing::NotStated => found.absent(remedy),
    }
}

fn arm(cpu: &Context, feature: &ArmFeature) -> Found {
    let is_expected = |core: ::cpu::ArmCore| core.expected.contains(&feature.name);
    if cpu.info.flags().contains(feature.name) {
        return ok(true, "usable");
    }
    match cpu.arm_core.is_some_and(is_expected) {
        true => ok(false, "this core's servers have it; the kernel does not list it")
            .degraded("in a guest use `-cpu host`; on bare metal look for `arm64.no…` or `id_aa64…` on the kernel command line and for a kernel built without it"),
        false => ok(false, "not listed by the kernel")
            .absent("only a processor that has it; software falls back to slower code"),
    }
}
