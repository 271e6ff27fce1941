//! The model of a guest that must run on every host of some.

use std::cmp::Reverse;

use super::{Accelerator, Catalogue, Flags, Model, QemuVersion, withheld};
use crate::Vendor;

/// A model, and what is added to it and taken from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub model: Model,
    /// Flags that every host has and the model lacks.
    pub extras: Flags,
    /// Flags that the model has and not every host.
    pub removed: Flags,
    /// All that the guest sees.
    pub shown: Flags,
}

/// Models that QEMU gives the host's vendor and that promise next to nothing.
const NEUTRAL: [&str; 2] = ["kvm64-v1", "qemu64-v1"];

/// What no 64-bit guest does without.
const LEAST: &str = "fpu tsc msr pae cx8 apic cmov fxsr sse sse2 syscall nx lm";

/// What no 64-bit guest does without and hosts do not offer.
pub fn lacks(offered: Flags) -> Flags {
    Flags::named(LEAST)
        .expect("the names are ours")
        .without(offered)
}

/// The CPU whose guest sees most and that yet runs on every host, as the named model
/// from which it takes fewest flags to get there; of these the one that stands for the
/// newest processor. None where hosts lack what every 64-bit guest needs, or no model
/// is old enough.
///
/// `offered` is what all hosts can show; `oldest` the oldest QEMU among them. Hosts of
/// different vendors have no model in common: guests do not move between them. Without a
/// vendor models of all of them count: an emulator shows any.
pub fn choose(
    catalogue: &Catalogue,
    accelerator: Accelerator,
    vendor: Option<&Vendor>,
    offered: Flags,
    oldest: QemuVersion,
) -> Option<Choice> {
    let offered = offered.closed();
    if !lacks(offered).is_empty() {
        return None;
    }
    let addable = offered.without(withheld()).and(catalogue.known(oldest));
    let is_of_vendor = |model: &&Model| {
        vendor.is_none_or(|vendor| model.vendor == *vendor) || NEUTRAL.contains(&&*model.name)
    };
    let models = catalogue.models.iter().filter(is_of_vendor);
    let known = models.filter(|model| model.flags.has("lm") && model.since <= oldest);
    let choices = known.map(|model| {
        let own = Catalogue::shown(model, accelerator);
        let kept = own.and(offered).closed();
        let extras = addable.without(kept);
        Choice {
            model: model.clone(),
            extras,
            removed: own.without(kept),
            shown: kept.or(extras),
        }
    });
    choices.min_by_key(|choice| {
        let Model {
            signature, name, ..
        } = &choice.model;
        let age = (signature.family, signature.model, name.clone());
        (has_tsx(&choice.shown), choice.changes(), Reverse(age))
    })
}

/// Microcode takes it away from one day to the next: then such a model does not start.
fn has_tsx(shown: &Flags) -> bool {
    shown.has("hle") || shown.has("rtm")
}

impl Choice {
    /// How many flags its line names.
    pub fn changes(&self) -> usize {
        self.extras.len() + self.removed.len()
    }

    /// What follows `-cpu`. With `enforce` QEMU starts the guest as asked or not at all.
    pub fn qemu(&self) -> String {
        let extras = self.extras.names().map(|name| format!(",+{name}"));
        let removed = self.removed.names().map(|name| format!(",-{name}"));
        let changes: String = extras.chain(removed).collect();
        let level = match self.needs_level() {
            true => ",min-level=0xd",
            false => "",
        };
        format!("{}{changes}{level},enforce", self.model.name)
    }

    /// QEMU raises the CPUID level of a model for most flags that are added to it, but
    /// not for this one; below 0xd kernels then use neither XSAVE nor AVX.
    fn needs_level(&self) -> bool {
        let raising = ["xsaveopt", "xsavec", "xgetbv1", "xsaves"];
        let is_raised = raising.iter().any(|flag| self.shown.has(flag));
        self.shown.has("xsave") && !is_raised && self.model.level < 0xd
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TINY: &str = "\
7.2 kvm64-v1 GenuineIntel 15 6 1 13 0x0: LEAST
7.2 Old-v1 GenuineIntel 6 1 1 13 0x0: LEAST aes
7.2 Mid-v1 GenuineIntel 6 2 1 13 0x0: LEAST aes xsave avx
7.2 Mid-v2 GenuineIntel 6 2 2 13 0x0: LEAST aes xsave avx rtm
10.0 New-v1 GenuineIntel 6 3 1 13 0x0: LEAST aes xsave avx avx2 sha-ni
10.0 flags: sha512
7.2 Amd-v1 AuthenticAMD 25 1 1 13 0x0: LEAST aes xsave avx avx2 sha-ni svm";

    fn tiny() -> Catalogue {
        let least = format!("{LEAST} x2apic");
        Catalogue::parse("", &TINY.replace("LEAST", &least)).unwrap()
    }

    fn least() -> Flags {
        Flags::named(&format!("{LEAST} x2apic")).unwrap()
    }

    fn picked(offered: &str, oldest: QemuVersion) -> Option<String> {
        let offered = Flags::named(offered).unwrap().or(least());
        let vendor = Some(&Vendor::Intel);
        let own = choose(&tiny(), Accelerator::Kvm, vendor, offered, oldest);
        own.map(|own| own.qemu())
    }

    #[test]
    fn the_nearest_model_is_named_and_what_differs() {
        let picked = |offered: &str| picked(offered, (10, 0)).unwrap();
        assert_eq!(picked(""), "kvm64-v1,enforce");
        assert_eq!(picked("aes xsave avx adx"), "Mid-v1,+adx,enforce");
        let all = "aes xsave avx avx2 sha-ni";
        assert_eq!(picked(&format!("{all} invtsc vmx rtm")), "New-v1,enforce");
        assert_eq!(picked("aes xsave avx rtm"), "Mid-v1,enforce");
        assert_eq!(picked("xsave avx avx2 sha-ni"), "New-v1,-aes,enforce");
        // What cannot be without a flag goes with it.
        assert_eq!(picked("aes avx avx2 sha-ni"), "Old-v1,+sha-ni,enforce");
    }

    #[test]
    fn a_level_below_that_of_xsave_is_raised() {
        let line = format!("7.2 kvm64-v1 GenuineIntel 15 6 1 11 0x0: {LEAST} x2apic");
        let old = Catalogue::parse("", &line).unwrap();
        for (flags, expected) in [
            ("xsave", "kvm64-v1,+xsave,min-level=0xd,enforce"),
            ("xsave xsaveopt", "kvm64-v1,+xsave,+xsaveopt,enforce"),
            ("aes", "kvm64-v1,+aes,enforce"),
        ] {
            let offered = least().or(Flags::named(flags).unwrap());
            let own = choose(&old, Accelerator::Kvm, None, offered, (7, 2)).unwrap();
            assert_eq!(own.qemu(), expected);
        }
    }

    #[test]
    fn an_older_qemu_is_not_asked_for_what_it_does_not_know() {
        let all = "aes xsave avx avx2 sha-ni sha512";
        assert_eq!(picked(all, (7, 2)).unwrap(), "Mid-v1,+avx2,+sha-ni,enforce");
        assert_eq!(picked(all, (10, 0)).unwrap(), "New-v1,+sha512,enforce");
        assert_eq!(picked(all, (6, 2)), None);
    }

    #[test]
    fn hosts_that_run_no_64_bit_guest_have_no_model() {
        let offered = least().without(Flags::named("lm").unwrap());
        assert_eq!(lacks(offered), Flags::named("lm").unwrap());
        let vendor = Some(&Vendor::Intel);
        assert_eq!(
            choose(&tiny(), Accelerator::Kvm, vendor, offered, (10, 0)),
            None
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(64, 2000)))]

        /// Beside every model with every set of flags added to it and taken from it.
        #[test]
        fn no_other_choice_shows_more_or_changes_less(bits in prop::collection::vec(any::<bool>(), 8)) {
            let names = ["aes", "xsave", "avx", "avx2", "sha-ni", "adx", "rtm", "svm"];
            let of = |bits: u32| {
                let set = (0..names.len()).filter(|index| bits >> index & 1 == 1);
                set.fold(Flags::default(), |mut all, index| {
                    all.insert(names[index]);
                    all
                })
            };
            let offered = bits.iter().rev().fold(0, |all, bit| all << 1 | u32::from(*bit));
            let offered = of(offered).or(least()).closed();
            let catalogue = tiny();
            for vendor in [Vendor::Intel, Vendor::Amd] {
                let own =
                    choose(&catalogue, Accelerator::Kvm, Some(&vendor), offered, (10, 0)).unwrap();
                prop_assert!(own.shown.is_within(&offered));
                prop_assert_eq!(own.shown, own.shown.closed());
                let mut best = (0, Reverse(true), Reverse(usize::MAX));
                for model in &catalogue.models {
                    if model.vendor != vendor && model.name != "kvm64-v1" {
                        continue;
                    }
                    let shown = Catalogue::shown(model, Accelerator::Kvm);
                    // Every guest that can be made of this model.
                    for set in 0..1_u32 << names.len() {
                        let all = of(set).or(least());
                        let (added, removed) = (all.without(shown), shown.without(all));
                        let is_allowed = added.and(withheld()).is_empty();
                        if !is_allowed || !all.is_within(&offered) || all != all.closed() {
                            continue;
                        }
                        // Transactional memory counts for nothing, nor does nesting.
                        let worth = all.without(withheld()).len();
                        let changes = added.len() + removed.len();
                        best = best.max((worth, Reverse(has_tsx(&all)), Reverse(changes)));
                    }
                }
                let worth = own.shown.without(withheld()).len();
                let own = (worth, Reverse(has_tsx(&own.shown)), Reverse(own.changes()));
                prop_assert_eq!(own, best);
            }
        }
    }
}
