//! DESCRIPTORS.md lists what is done with a tenant's descriptors: all of it.

use std::collections::BTreeSet;
use std::path::Path;

/// Calls that take a descriptor, in the sources without their tests.
fn calls(text: &str) -> BTreeSet<String> {
    // Own descriptors, or none.
    const OTHERS: [&str; 10] = [
        "accept",
        "bind",
        "chmod",
        "chown",
        "fchmod",
        "listen",
        "socket_with",
        "geteuid",
        "cmsg_space",
        "from_raw",
    ];
    let text = text.split("#[cfg(test)]").next().unwrap();
    let mut found = BTreeSet::new();
    let mut note = |name: &str| {
        let is_call = name.starts_with(|c: char| c.is_ascii_lowercase());
        if is_call && !OTHERS.contains(&name) {
            found.insert(name.to_owned());
        }
    };
    for part in text.split("rustix::").skip(1) {
        let path: String = part
            .chars()
            .take_while(|c| c.is_alphanumeric() || "_:{}, \n".contains(*c))
            .collect();
        let names = path.rsplit("::").next().unwrap().trim_matches(['{', '}']);
        let is_use = part.contains("};") && path.contains('{');
        let is_called = part[path.len()..].starts_with('(');
        for name in names.split(',').map(str::trim) {
            if (is_use || is_called) && !name.contains(' ') {
                note(name);
            }
        }
    }
    for other in [
        "EventSignal::new",
        "ring.signal",
        "Watched::add",
        "Mapping::shared_at",
        ".shutdown",
        "read_link",
    ] {
        if text.contains(&format!("{other}(")) {
            found.insert(
                other
                    .trim_start_matches('.')
                    .replace("ring.", "EventSignal::"),
            );
        }
    }
    found
}

#[test]
fn every_call_on_a_tenant_s_descriptor_is_listed() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = std::fs::read_to_string(own.join("DESCRIPTORS.md")).unwrap();
    let rows = list.lines().filter_map(|line| line.strip_prefix("| `"));
    let listed: BTreeSet<String> = rows
        .map(|row| row.split('`').next().unwrap().to_owned())
        .collect();
    let mut found = BTreeSet::new();
    // Not `front`, which is a tenant itself.
    for folder in ["src", "src/backend", "src/ring"] {
        for file in std::fs::read_dir(own.join(folder)).unwrap() {
            let path = file.unwrap().path();
            if path.is_file() {
                found.extend(calls(&std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(missing.is_empty(), "not in DESCRIPTORS.md: {missing:?}");
    // What no source of this crate shows is the worker's, in `engine`, or no call's name.
    let elsewhere = ["Watched::add", "close"].map(str::to_owned);
    let gone: Vec<_> = listed
        .difference(&found)
        .filter(|one| !elsewhere.contains(one))
        .collect();
    assert!(
        gone.is_empty(),
        "in DESCRIPTORS.md and nowhere else: {gone:?}"
    );
}

#[test]
fn a_call_that_is_new_is_found() {
    let new = "fn f() { rustix::io::read(&file, &mut bytes); }\n#[cfg(test)] rustix::io::dup(x);";
    assert_eq!(calls(new), BTreeSet::from(["read".to_owned()]));
}
