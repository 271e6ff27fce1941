//! Whether a flag can be used, and if not, who took it away.

use std::collections::BTreeSet;

use crate::{Component, Feature, Hypervisor, Microarchitecture, Processor, remedy};

/// What surrounds a processor and may hide its flags.
#[derive(Clone, Debug, Default)]
pub struct Circumstances<'a> {
    pub microarchitecture: Option<&'a Microarchitecture>,
    pub hypervisor: Option<&'a Hypervisor>,
    /// Flags of `/proc/cpuinfo`; empty where it could not be read.
    pub kernel_flags: BTreeSet<&'a str>,
    pub command_line: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    Usable,
    /// CPUID states it, but the kernel did not enable the state it needs.
    StateDisabled(Vec<Component>),
    Cleared,
    /// Processors of this microarchitecture have it; CPUID does not state it.
    Withheld,
    Disguised,
    /// This microarchitecture does not have it.
    NotInModel,
    /// CPUID does not state it, and the model is not in our table.
    NotStated,
}

impl Standing {
    /// The standing in words; `feature` as in [`standing`].
    pub fn text(&self, feature: Feature, around: &Circumstances<'_>) -> String {
        remedy::text(self, feature, around)
    }

    /// What would make the flag usable; empty when it is.
    pub fn remedy(&self, feature: Feature, around: &Circumstances<'_>) -> String {
        remedy::remedy(self, feature, around)
    }
}

/// How `feature` stands. Without a `processor` (no CPUID) the kernel's list
/// alone decides: it prints a flag only after it enabled its state.
pub fn standing(
    feature: Feature,
    processor: Option<&Processor>,
    around: &Circumstances<'_>,
) -> Standing {
    let listed = around.kernel_flags.contains(feature.name());
    let Some(processor) = processor else {
        return if listed {
            Standing::Usable
        } else {
            missing(feature, around)
        };
    };
    if !processor.features.contains(&feature) {
        return missing(feature, around);
    }
    let disabled: Vec<_> = processor.disabled_state(feature).collect();
    if !disabled.is_empty() {
        Standing::StateDisabled(disabled)
    } else if feature.is_printed() && !around.kernel_flags.is_empty() && !listed {
        Standing::Cleared
    } else {
        Standing::Usable
    }
}

fn missing(feature: Feature, around: &Circumstances<'_>) -> Standing {
    match around.microarchitecture {
        Some(known) if known.expected.contains(&feature) => Standing::Withheld,
        Some(_) => Standing::NotInModel,
        None if around.hypervisor.is_some() => Standing::Disguised,
        None => Standing::NotStated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dump, Signature, Vendor, microarchitecture};

    fn processor(xcr0: &str) -> Processor {
        let text = format!(
            "0 0: 1f 756e6547 6c65746e 49656e69\n1 0: 806f8 0 1e000000 0\nd 0: e7 0 0 0\nxcr0: {xcr0}"
        );
        Processor::decode(&Dump::parse(&text).expect("parses")).expect("decodes")
    }

    fn sapphire_rapids() -> Microarchitecture {
        let signature = Signature {
            family: 6,
            model: 0x8f,
            stepping: 8,
        };
        microarchitecture(&Vendor::Intel, signature).expect("known")
    }

    #[test]
    fn each_way_to_lose_a_flag_is_told_apart() {
        let known = sapphire_rapids();
        let around = Circumstances {
            microarchitecture: Some(&known),
            kernel_flags: ["aes", "avx"].into(),
            ..Circumstances::default()
        };
        let cleared = Circumstances {
            kernel_flags: ["avx"].into(),
            ..around.clone()
        };
        let unread = Circumstances::default();
        let (all, no_avx) = (processor("7"), processor("3"));
        let disabled = Standing::StateDisabled(vec![Component::Avx]);
        for (feature, processor, around, expected) in [
            (Feature::Aes, &all, &around, Standing::Usable),
            (Feature::Avx, &all, &around, Standing::Usable),
            (Feature::Vaes, &all, &around, Standing::Withheld),
            (Feature::Sm4, &all, &around, Standing::NotInModel),
            (Feature::Avx, &no_avx, &around, disabled),
            (Feature::Aes, &all, &cleared, Standing::Cleared),
            // An unreadable cpuinfo clears nothing.
            (Feature::Aes, &all, &unread, Standing::Usable),
        ] {
            let found = standing(feature, Some(processor), around);
            assert_eq!(found, expected, "{feature:?}");
        }
    }

    #[test]
    fn every_loss_has_a_remedy() {
        let known = sapphire_rapids();
        let hypervisors = [None, Some(Hypervisor::Kvm), Some(Hypervisor::Vmware)];
        for hypervisor in &hypervisors {
            let around = Circumstances {
                microarchitecture: Some(&known),
                hypervisor: hypervisor.as_ref(),
                ..Circumstances::default()
            };
            for feature in Feature::all() {
                for loss in [
                    Standing::StateDisabled(vec![Component::Avx]),
                    Standing::Cleared,
                    Standing::Withheld,
                    Standing::Disguised,
                    Standing::NotInModel,
                    Standing::NotStated,
                ] {
                    assert!(!loss.text(feature, &around).is_empty());
                    assert!(
                        !loss.remedy(feature, &around).is_empty(),
                        "{feature:?} {loss:?}"
                    );
                }
                assert_eq!(Standing::Usable.remedy(feature, &around), "");
            }
        }
    }

    #[test]
    fn the_command_line_is_named_when_it_did_it() {
        let around = Circumstances {
            command_line: "quiet clearcpuid=514,aes noxsave",
            ..Circumstances::default()
        };
        let cleared = Standing::Cleared.remedy(Feature::Aes, &around);
        assert!(cleared.contains("clearcpuid=514,aes"), "{cleared}");
        let state = Standing::StateDisabled(vec![Component::Avx]).remedy(Feature::Avx, &around);
        assert!(state.contains("remove `noxsave`"), "{state}");
    }
}
