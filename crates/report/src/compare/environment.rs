//! What differs between two runs beside what was to be compared.

use std::collections::BTreeSet;

use trial::Run;

use crate::words;

/// Facts of the probe that change what is measured, and their names.
const FACTS: [(&str, &str); 10] = [
    ("cpu.model", "CPU model"),
    ("cpu.tier", "tier"),
    ("cpu.cores.online", "number of cores"),
    ("cpu.smt", "SMT"),
    ("cpu.governor", "governor"),
    ("cpu.microcode", "microcode"),
    ("cpu.hypervisor", "hypervisor"),
    ("host.kernel", "kernel"),
    ("host.mitigations", "mitigations"),
    ("host.container", "container"),
];

pub(super) fn warnings(a: &Run, b: &Run) -> Vec<String> {
    let mut warnings = Vec::new();
    if (&a.host, &a.started_utc, a.seed) == (&b.host, &b.started_utc, b.seed) {
        warnings.push("A and B are the same run".to_owned());
    }
    warnings.extend(differences(a, b));
    if a.scenario != b.scenario {
        warnings.push(
            "the scenarios differ: points that match were perhaps measured otherwise".to_owned(),
        );
    }
    warnings.extend(unfinished("A", a));
    warnings.extend(unfinished("B", b));
    warnings
}

pub(super) fn differences(a: &Run, b: &Run) -> Vec<String> {
    let mut differences = Vec::new();
    differences.extend(differs("host", Some(&a.host), Some(&b.host)));
    let tier = |run| words::tier(run).unwrap_or("the host's own");
    differences.extend(differs("tier measured", Some(tier(a)), Some(tier(b))));
    for (key, name) in FACTS {
        let text = |run: &Run| run.probe.fact(key).map(|fact| fact.text.clone());
        differences.extend(differs(name, text(a).as_deref(), text(b).as_deref()));
    }
    differences.extend(libraries(a, b));
    let (of_a, of_b) = (&a.build, &b.build);
    differences.extend(differs(
        "version of Lockgate",
        Some(&of_a.version),
        Some(&of_b.version),
    ));
    differences.extend(differs(
        "git revision of Lockgate",
        Some(&of_a.git_revision),
        Some(&of_b.git_revision),
    ));
    differences
}

fn libraries(a: &Run, b: &Run) -> Vec<String> {
    let (of_a, of_b) = (&a.build.libraries, &b.build.libraries);
    let names: BTreeSet<&String> = of_a.keys().chain(of_b.keys()).collect();
    let version = |of: &std::collections::BTreeMap<String, String>, name| of.get(name).cloned();
    names
        .into_iter()
        .filter_map(|name| {
            let (in_a, in_b) = (version(of_a, name), version(of_b, name));
            differs(
                &format!("version of {name}"),
                in_a.as_deref(),
                in_b.as_deref(),
            )
        })
        .collect()
}

/// `None` where both are the same or unknown.
fn differs(name: &str, a: Option<&str>, b: Option<&str>) -> Option<String> {
    let write = |value: Option<&str>| {
        value.map_or_else(|| "unknown".to_owned(), |value| format!("`{value}`"))
    };
    (a != b).then(|| format!("{name} differs: {} in A, {} in B", write(a), write(b)))
}

fn unfinished(side: &str, run: &Run) -> Vec<String> {
    let interrupted = run.interrupted.then(|| format!("{side} was interrupted"));
    let sections = run.sections.iter().filter_map(|section| {
        let (how, reason, _) = words::ending(&section.state)?;
        Some(format!("{} in {side} ({how}): {reason}", section.title))
    });
    interrupted.into_iter().chain(sections).collect()
}
