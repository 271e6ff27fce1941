//! The tier that the usable flags reach.

use ::cpu::{Feature, Tier, tier};
use serde_json::Value;
use trial::Fact;

use crate::cpu::Context;
use crate::fact::{Judge, fact};

pub(super) fn facts(cpu: &Context) -> Vec<Fact> {
    if cpu.info.is_arm() && cpu.processor.is_none() {
        arm(cpu)
    } else {
        x86(cpu)
    }
}

fn x86(cpu: &Context) -> Vec<Fact> {
    let usable = cpu.usable();
    let (reached, lacks) = tier(&usable);
    let sha = usable.contains(&Feature::ShaNi);
    let text = format!(
        "{}{}",
        reached.name(),
        if sha { " with SHA-NI" } else { ", no SHA-NI" }
    );
    let names: Vec<_> = lacks.iter().map(|feature| feature.label()).collect();
    let fact = fact("cpu.tier", "Crypto tier", reached.name(), &text);
    let fact = match reached {
        Tier::Avx512 => fact,
        Tier::None => fact.absent(format!(
            "without {} AES runs 10 to 40 times slower: see the flags' remedies",
            names.join(", ")
        )),
        _ if hidden(cpu, &lacks) => fact.degraded(format!(
            "the next tier lacks {}, which the model has: see the flags' remedies",
            names.join(", ")
        )),
        _ => fact,
    };
    vec![fact]
}

/// Whether the model has all that the next tier lacks.
fn hidden(cpu: &Context, lacks: &[Feature]) -> bool {
    let known = cpu.microarchitecture.as_ref();
    known.is_some_and(|known| lacks.iter().all(|feature| known.expected.contains(feature)))
}

/// The tiers are sets of x86 flags.
fn arm(cpu: &Context) -> Vec<Fact> {
    let flags = cpu.info.flags();
    let (key, label) = ("cpu.tier", "Crypto tier");
    if flags.contains("aes") && flags.contains("pmull") {
        let sha = if flags.contains("sha2") {
            " with SHA-256"
        } else {
            ""
        };
        return vec![fact(
            key,
            label,
            Value::Null,
            format!("ARMv8 crypto extension{sha} (tiers are x86's)"),
        )];
    }
    vec![fact(key, label, Value::Null, "no ARMv8 crypto extension").absent(
        "AES runs in software: choose an instance or board with the crypto extension; in a guest use `-cpu host`",
    )]
}
