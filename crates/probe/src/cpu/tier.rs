//! The tier that the usable flags reach.

use ::cpu::{Feature, Tier, tier};

use crate::cpu::Context;
use crate::fact::{Found, absent, ok};
use crate::machine::Machine;
use crate::row::Row::{self, One};

pub(crate) const FACTS: &[Row] = &[One("cpu.tier", "Crypto tier", found)];

fn found(on: &Machine) -> Found {
    match on.cpu.is_arm_only() {
        true => arm(&on.cpu),
        false => x86(&on.cpu),
    }
}

fn x86(cpu: &Context) -> Found {
    let usable = cpu.usable();
    let (reached, lacks) = tier(&usable);
    let sha = match usable.contains(&Feature::ShaNi) {
        true => " with SHA-NI",
        false => ", no SHA-NI",
    };
    let names: Vec<_> = lacks.iter().map(|feature| feature.label()).collect();
    let names = names.join(", ");
    let found = ok(reached.name(), format!("{}{sha}", reached.name()));
    match reached {
        Tier::Avx512 => found,
        Tier::None => found.absent(format!(
            "without {names} AES runs 10 to 40 times slower: see the flags' remedies"
        )),
        _ => found.degraded_unless(
            !is_hidden(cpu, &lacks),
            format!("the next tier lacks {names}, which the model has: see the flags' remedies"),
        ),
    }
}

/// Whether the model has all that the next tier lacks.
fn is_hidden(cpu: &Context, lacks: &[Feature]) -> bool {
    let known = cpu.microarchitecture.as_ref();
    known.is_some_and(|known| lacks.iter().all(|feature| known.expected.contains(feature)))
}

/// The tiers are sets of x86 flags.
fn arm(cpu: &Context) -> Found {
    let flags = cpu.info.flags();
    if !flags.contains("aes") || !flags.contains("pmull") {
        return absent(
            "no ARMv8 crypto extension",
            "AES runs in software: choose an instance or board with the crypto extension; in a guest use `-cpu host`",
        );
    }
    let sha = match flags.contains("sha2") {
        true => " with SHA-256",
        false => "",
    };
    let text = format!("ARMv8 crypto extension{sha} (tiers are x86's)");
    ok(serde_json::Value::Null, text)
}
