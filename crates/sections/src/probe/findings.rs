//! From facts to findings: what bears on the speed or validity of crypto.

use kit::words::finding;
use probe::NOTHING_TO_DO;
use trial::{Fact, Finding, Probe, State, Weight};

/// Keys (or their beginnings, where they end with a dot) that matter when
/// degraded, the weightiest first.
const MATTERS: [(&str, Weight); 13] = [
    ("cpu.flag.", Weight::Advice),
    ("cpu.xstate", Weight::Advice),
    ("cpu.microarchitecture", Weight::Advice),
    ("cpu.level", Weight::Advice),
    ("cpu.governor", Weight::Advice),
    ("load.", Weight::Warning),
    ("limits.cpus", Weight::Warning),
    ("cpu.allowed", Weight::Warning),
    ("cpu.tsc", Weight::Warning),
    ("cpu.clocksource", Weight::Warning),
    ("cpu.cache.", Weight::Warning),
    ("kernel.crypto.drivers", Weight::Advice),
    ("device.crypto.", Weight::Advice),
];

/// Absences that matter as well: no AES instructions.
const MISSED: [&str; 1] = ["cpu.tier"];

/// Flags that make seeds, not ciphertext.
const SEEDS: [&str; 2] = ["cpu.flag.rdrand", "cpu.flag.rdseed"];

/// One finding for each degraded capability that matters; capabilities that
/// are so for the same reason share one.
pub(super) fn findings(probe: &Probe) -> Vec<Finding> {
    let mut reasons: Vec<Vec<&Fact>> = Vec::new();
    let facts = probe.groups.iter().flat_map(|group| &group.facts);
    for fact in facts.filter(|fact| matters(fact)) {
        match reasons.iter_mut().find(|reason| is_same(reason[0], fact)) {
            Some(reason) => reason.push(fact),
            None => reasons.push(vec![fact]),
        }
    }
    let mut findings: Vec<Finding> = reasons.iter().map(|reason| of(reason)).collect();
    findings.sort_by_key(|finding| finding.weight);
    findings
}

/// Whether a fact deserves a finding.
pub(super) fn matters(fact: &Fact) -> bool {
    match fact.state {
        State::Ok => false,
        State::Degraded => weight(fact).is_some(),
        State::Absent => {
            MISSED.contains(&fact.key.as_str()) && !fact.remedy.starts_with(NOTHING_TO_DO)
        }
    }
}

fn weight(fact: &Fact) -> Option<Weight> {
    // Functions that are not on yet slow nothing down.
    if fact.key.ends_with(".sriov") || SEEDS.contains(&fact.key.as_str()) {
        return None;
    }
    let covers = |key: &str| match key.ends_with('.') {
        true => fact.key.starts_with(key),
        false => fact.key == key,
    };
    MATTERS
        .iter()
        .find(|(key, _)| covers(key))
        .map(|(_, weight)| *weight)
}

/// Flags hidden by the same hand have the same text.
fn is_same(one: &Fact, other: &Fact) -> bool {
    let family = |fact: &Fact| fact.key.starts_with("cpu.flag.");
    family(one) && family(other) && one.text == other.text
}

fn of(reason: &[&Fact]) -> Finding {
    let labels: Vec<&str> = reason.iter().map(|fact| fact.label.as_str()).collect();
    let text = format!("{}: {}.", labels.join(", "), reason[0].text);
    let weight = weight(reason[0]).unwrap_or(Weight::Advice);
    finding(weight, text, &*reason[0].remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flag(name: &str, text: &str, state: State) -> Fact {
        Fact {
            key: format!("cpu.flag.{name}"),
            label: name.to_uppercase(),
            state,
            value: false.into(),
            text: text.to_owned(),
            remedy: format!("get {name}"),
        }
    }

    fn probe(facts: Vec<Fact>) -> Probe {
        Probe {
            groups: vec![trial::Group {
                title: "CPU flags".to_owned(),
                facts,
            }],
        }
    }

    #[test]
    fn flags_hidden_by_one_hand_share_a_finding() {
        let findings = findings(&probe(vec![
            flag("aes", "hidden", State::Degraded),
            flag("vaes", "hidden", State::Degraded),
            flag("gfni", "cleared", State::Degraded),
            flag("sm4", "never had it", State::Absent),
        ]));
        let texts: Vec<&str> = findings
            .iter()
            .map(|finding| finding.text.as_str())
            .collect();
        assert_eq!(texts, ["AES, VAES: hidden.", "GFNI: cleared."]);
        assert_eq!(findings[0].remedy, "get aes");
    }

    #[test]
    fn advice_comes_before_warnings() {
        let mut load = flag("x", "busy", State::Degraded);
        load.key = "load.busy_elsewhere_cpus".to_owned();
        let findings = findings(&probe(vec![load, flag("aes", "hidden", State::Degraded)]));
        let weights: Vec<Weight> = findings.iter().map(|finding| finding.weight).collect();
        assert_eq!(weights, [Weight::Advice, Weight::Warning]);
    }
}
