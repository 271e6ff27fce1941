//! How to get a flag back, in words a platform engineer can act on.

use crate::{Circumstances, Component, Feature, Hypervisor, Standing};

pub(crate) fn text(standing: &Standing, feature: Feature, around: &Circumstances<'_>) -> String {
    let model = around
        .microarchitecture
        .map_or("this model", |known| known.name);
    match standing {
        Standing::Usable => "usable".to_owned(),
        Standing::StateDisabled(components) => {
            format!(
                "in CPUID, but the kernel did not enable {}",
                names(components)
            )
        }
        Standing::Cleared => {
            "in CPUID, but the kernel took it off its list (/proc/cpuinfo)".to_owned()
        }
        Standing::Withheld => match around.hypervisor {
            Some(hypervisor) => {
                format!(
                    "{model} has it; hidden, most likely by {}",
                    hypervisor.name()
                )
            }
            None => format!("{model} has it; CPUID does not state it"),
        },
        Standing::Disguised => {
            format!(
                "not in CPUID; the hypervisor hides the model, so {} may exist",
                feature.label()
            )
        }
        _ if is_virtualisation(feature) => match around.hypervisor {
            Some(hypervisor) => format!("not offered to this guest by {}", hypervisor.name()),
            None => "not in CPUID".to_owned(),
        },
        Standing::NotInModel => match around.hypervisor {
            Some(hypervisor) => {
                format!(
                    "{model}, which {} presents, does not have it",
                    hypervisor.name()
                )
            }
            None => format!("{model} does not have it"),
        },
        Standing::NotStated => "not in CPUID".to_owned(),
    }
}

pub(crate) fn remedy(standing: &Standing, feature: Feature, around: &Circumstances<'_>) -> String {
    match standing {
        Standing::Usable => String::new(),
        Standing::StateDisabled(components) => enable_state(components, around),
        Standing::Cleared => uncleared(feature, around),
        Standing::Withheld | Standing::Disguised => match around.hypervisor {
            Some(hypervisor) => pass_through(feature, hypervisor),
            None => firmware(feature),
        },
        Standing::NotInModel | Standing::NotStated => not_there(feature, around),
    }
}

fn not_there(feature: Feature, around: &Circumstances<'_>) -> String {
    match feature {
        Feature::Vmx | Feature::Svm if around.hypervisor.is_some() => {
            "enable nested virtualisation on the outer hypervisor (`kvm_intel nested=1` or `kvm_amd nested=1`, and `-cpu host`)".to_owned()
        }
        Feature::Vmx => "enable \"VT-x\" (virtualisation technology) in the firmware setup".to_owned(),
        Feature::Svm => "enable \"SVM\" (virtualisation) in the firmware setup".to_owned(),
        Feature::Hypervisor => "nothing to do: this is not a guest".to_owned(),
        Feature::Osxsave => "remove `noxsave` from the kernel command line and reboot".to_owned(),
        _ if around.hypervisor.is_some() => {
            "if the host's processor is newer than the model presented, present it as it is (QEMU: `-cpu host`); otherwise only a processor that has it".to_owned()
        }
        _ => "only a processor that has it; software falls back to slower code".to_owned(),

    }
}

fn enable_state(components: &[Component], around: &Circumstances<'_>) -> String {
    if let Some(option) = option(around.command_line, "noxsave") {
        return format!("remove `{option}` from the kernel command line and reboot");
    }
    if let Some(option) = option(around.command_line, "clearcpuid") {
        return format!("remove the flag from `{option}` on the kernel command line and reboot");
    }
    let part = if components.contains(&Component::Avx) {
        "AVX"
    } else {
        "AVX-512"
    };
    match around.hypervisor {
        Some(hypervisor) => format!(
            "have {} offer the {part} state in XCR0 together with the flag (QEMU: `-cpu host`), then power-cycle the guest",
            hypervisor.name()
        ),
        None => format!(
            "boot a kernel built with {part} state (XSAVE) support; `dmesg | grep xfeatures` shows what it enabled"
        ),
    }
}

/// Flags that firmware and hypervisors withhold at will, whatever the model.
fn is_virtualisation(feature: Feature) -> bool {
    matches!(feature, Feature::Vmx | Feature::Svm)
}

fn uncleared(feature: Feature, around: &Circumstances<'_>) -> String {
    if is_virtualisation(feature) {
        return not_there(feature, around);
    }
    for name in [
        "clearcpuid",
        "noxsave",
        "nopku",
        "setcpuid",
        "gather_data_sampling",
    ] {
        if let Some(option) = option(around.command_line, name) {
            return format!(
                "the kernel command line has `{option}`: remove it if it is what clears {}, then reboot",
                feature.name()
            );
        }
    }
    match feature {
        Feature::Rdrand | Feature::Rdseed => format!(
            "the kernel distrusts {} on this model (erratum): update microcode, or firmware of the outer host, then reboot; `dmesg | grep -i {}` says why",
            feature.label(),
            feature.name()
        ),
        _ => format!(
            "`dmesg | grep -i -e {} -e microcode` says why; usual causes are an erratum that newer microcode fixes or a hypervisor that offers inconsistent flags",
            feature.name()
        ),
    }
}

fn pass_through(feature: Feature, hypervisor: &Hypervisor) -> String {
    let flag = feature.name().replace('_', "-");
    let how = match hypervisor {
        Hypervisor::Kvm | Hypervisor::Other(_) => format!(
            "QEMU: `-cpu host` or add `,+{flag}` to the model; libvirt: `<cpu mode='host-passthrough'/>` or `<feature policy='require' name='{flag}'/>`; a cloud: another instance type or CPU template"
        ),
        Hypervisor::Tcg => format!(
            "QEMU emulates the processor: start it with `-accel kvm -cpu host`, or `-cpu max` to emulate {}",
            feature.label()
        ),
        Hypervisor::Vmware => {
            "raise the EVC baseline of the cluster and remove `cpuid.*` masks from the VM's .vmx".to_owned()
        }
        Hypervisor::HyperV => {
            "turn off processor compatibility: `Set-VMProcessor -CompatibilityForMigrationEnabled $false`".to_owned()
        }
        Hypervisor::Xen => {
            "remove the mask from `cpuid=` in the guest's xl.cfg or `cpuid=` on Xen's command line".to_owned()
        }
        Hypervisor::Bhyve => "use a bhyve that passes the flag through".to_owned(),
    };
    format!("{how}; then power-cycle the guest. Every host it may migrate to needs the flag too")
}

fn firmware(feature: Feature) -> String {
    let switch = match feature {
        Feature::Aes | Feature::Pclmulqdq | Feature::Vaes | Feature::Vpclmulqdq => {
            "set \"AES-NI\" to enabled (on some boards: \"AES-NI Defeature\" to disabled)"
        }
        Feature::Rdrand | Feature::Rdseed => "enable the random number generator (\"RDRAND\")",
        feature if feature.name().starts_with("avx512") => "set \"AVX-512\" to enabled",
        Feature::Avx | Feature::Avx2 => "enable \"AVX\" (some boards: \"AVX disable\" to no)",
        _ => "undo any CPU feature limit (\"Limit CPUID Maximum\" to disabled)",
    };
    format!(
        "in the firmware setup {switch}, update firmware and microcode, then power-cycle: CPUID hides the flag until then"
    )
}

/// The word of a kernel's command line that is `name` or `name=value`, whole; the
/// last one where it is repeated, as the kernel takes it.
pub fn option<'a>(command_line: &'a str, name: &str) -> Option<&'a str> {
    let mut words = command_line.split_whitespace();
    words.rfind(|word| word.split('=').next() == Some(name))
}

fn names(components: &[Component]) -> String {
    let labels: Vec<_> = components
        .iter()
        .map(|component| component.label())
        .collect();
    labels.join(", ")
}
