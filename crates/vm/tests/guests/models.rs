//! What QEMU says of its CPU models, beside the table that comes with Lockgate.

use std::collections::BTreeMap;

use lockgate_vm::Accelerator;

use crate::common::Lab;

#[test]
fn the_bundled_table_is_what_the_real_ones_say() {
    let Some(lab) = Lab::find() else { return };
    let table = cpu::guest::Catalogue::bundled();
    for qemu in &lab.qemus {
        let (major, minor, _) = qemu.version;
        let own = qemu.cpu_models(Accelerator::Tcg).unwrap();
        assert!(own.offered.has("aes") && !own.offered.has("avx512f"));
        let of = |models: &[cpu::guest::Model]| -> BTreeMap<String, cpu::guest::Model> {
            let named = models
                .iter()
                .map(|model| (model.name.clone(), model.clone()));
            named.collect()
        };
        let (real, known) = (of(&own.catalogue.models), of(&table.models));
        for (name, model) in &known {
            if model.since > (major, minor) {
                assert!(!real.contains_key(name), "{name} in {major}.{minor}");
                continue;
            }
            // Newer ones may have no more of it.
            if let Some(real) = real.get(name) {
                assert_eq!(real, model, "{major}.{minor}");
            }
        }
        if [(7, 2), (10, 0)].contains(&(major, minor)) {
            let unknown: Vec<_> = real
                .keys()
                .filter(|name| !known.contains_key(*name))
                .collect();
            assert!(unknown.is_empty(), "{unknown:?}");
            for (alias, name) in &own.catalogue.aliases {
                assert_eq!(table.aliases.get(alias), Some(name), "{alias}");
            }
        }
    }
}

#[test]
fn qemu_s_words_come_back_where_it_refuses_a_cpu() {
    let Some(lab) = Lab::find() else { return };
    let tcg = Accelerator::Tcg;
    lab.qemu().accepts_cpu(tcg, "Nehalem,+aes,enforce").unwrap();
    for (cpu, words) in [
        ("NoSuchModel", "NoSuchModel"),
        ("Nehalem,+no-such-flag", "no-such-flag"),
        ("Nehalem,+avx512f,enforce", "avx512f"),
    ] {
        let error = lab.qemu().accepts_cpu(tcg, cpu).unwrap_err().to_string();
        assert!(error.contains(words), "{cpu}: {error}");
    }
}
