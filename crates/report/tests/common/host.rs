//! A made-up host with facts of every state and every kind of value.

use serde_json::{Value, json};
use trial::{Fact, Group, Probe, State};

pub fn sample_probe() -> Probe {
    let group = |title: &str, facts| Group {
        title: title.into(),
        facts,
    };
    Probe {
        groups: vec![
            group(
                "CPU",
                vec![
                    ok(
                        "cpu.model",
                        "Model",
                        json!("EPYC <9B45> & co"),
                        "EPYC <9B45> & co",
                    ),
                    ok("cpu.cores", "Cores", json!(2), "2"),
                    ok(
                        "cpu.cache.l2_bytes",
                        "L2 cache",
                        json!(1048576),
                        "1 MiB a core",
                    ),
                    ok(
                        "cpu.flags",
                        "Flags",
                        json!(["aes", "avx2", "vaes"]),
                        "AES-NI, AVX2, VAES",
                    ),
                    other(
                        State::Degraded,
                        ("cpu.steal_percent", "Steal"),
                        json!(1.25),
                        "1.25% in the last second",
                        "other guests take this host's cores: measure when it is quiet, or ask for dedicated cores",
                    ),
                ],
            ),
            group(
                "Host",
                vec![
                    ok(
                        "host.kernel",
                        "Kernel",
                        json!("6.18.1"),
                        "6.18.1 | PREEMPT_DYNAMIC",
                    ),
                    other(
                        State::Absent,
                        ("host.qat", "QAT"),
                        Value::Null,
                        "no device",
                        "",
                    ),
                ],
            ),
            group(
                "Virtualisation",
                vec![
                    other(
                        State::Absent,
                        ("kvm.usable", "KVM"),
                        json!(false),
                        "/dev/kvm is not there",
                        "load `kvm_amd`, or enable nested virtualisation",
                    ),
                    ok(
                        "host.hypervisor",
                        "Hypervisor",
                        json!(true),
                        "KVM \"quoted\"",
                    ),
                ],
            ),
        ],
    }
}

fn ok(key: &str, label: &str, value: Value, text: &str) -> Fact {
    other(State::Ok, (key, label), value, text, "")
}

fn other(state: State, (key, label): (&str, &str), value: Value, text: &str, remedy: &str) -> Fact {
    Fact {
        key: key.into(),
        label: label.into(),
        state,
        value,
        text: text.into(),
        remedy: remedy.into(),
    }
}
