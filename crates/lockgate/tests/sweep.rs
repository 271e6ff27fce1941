//! A run begins with removing what a killed one left.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use crate::common::Desk;

const JOURNALS: &str = "/run/lockgate";

#[test]
fn what_a_killed_run_left_is_gone_when_the_next_has_begun() {
    let desk = Desk::new();
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(JOURNALS);
    let journal = Path::new(JOURNALS).join(format!("test-{}.journal", std::process::id()));
    let left = desk.path().join("lockgate-left");
    let line = format!(
        r#"{{"made":{{"number":0,"entry":{{"kind":"folder","path":"{}"}}}}}}"#,
        left.display()
    );
    fs::create_dir(&left).unwrap();
    if let Err(error) = made.and_then(|()| fs::write(&journal, line + "\n")) {
        testing::skipped(format!(
            "{JOURNALS} cannot be written ({error}); run the tests as root"
        ));
        return;
    }
    // Nobody holds its lock: another run that begins now may be quicker, so
    // only that it is gone is certain.
    desk.line("run probe.toml").ok();
    assert!(!left.exists() && !journal.exists());
}
