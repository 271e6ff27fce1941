//! The long differential run, short: that it does not rot.

use std::process::Command;

#[test]
fn ten_thousand_cases_have_none_wrong() {
    let own = std::env::current_exe().expect("a test binary knows its path");
    let profile = own
        .ancestors()
        .nth(2)
        .expect("target/<profile>/deps/<test>");
    let ran = Command::new(profile.join("examples/differential"))
        .args(["10000", "1", "7"])
        .output()
        .expect(
            "cargo test builds it, unless told --test: then cargo build --example differential",
        );
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{text}");
    assert!(text.contains(" cases, 0 wrong; seed 7"), "{text}");
}
