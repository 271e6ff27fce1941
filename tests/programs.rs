//! `scripts/run-programs.sh` runs test programs side by side, and alone what wants that.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use lockgate_tests::root;

/// As a test program: says what its tests do, and notes what they could not do. With
/// `--exact` it runs those named.
const PROGRAM: &str = r#"#!/bin/sh
name=${0##*/}
note() { printf '%s\t%s\t%s\t%s\n' "$1" "${name%-*}" "$2" "$3" >>"$LOCKGATE_TEST_NOTES"; }
case $1 in --exact) shift; wanted=" $* " ;; *) wanted=' plain lacks wants busy ' ;; esac
for test in plain lacks wants busy; do
    case $wanted in *" $test "*) ;; *) continue ;; esac
    case $test in
        lacks) note skipped lacks 'no tool' ;;
        wants) [ "$LOCKGATE_TEST_ALONE" != later ] || note alone wants x ;;
        busy) [ "$LOCKGATE_TEST_ALONE" != later ] || note inconclusive busy x ;;
    esac
    [ "$test $LOCKGATE_TEST_ALONE" = "wants " ] && [ -e fails ] && {
        echo "test wants ... FAILED <2.500s>"
        exit 101
    }
    echo "test $test ... ok <1.500s>"
done
"#;

/// What is told of that program, run beside another; and whether all passed.
fn run(fails: bool) -> (String, bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut list = String::new();
    for name in ["one-0123456789abcdef", "two-0123456789abcdef"] {
        let program = folder.path().join(name);
        fs::write(&program, PROGRAM).expect("it is written");
        let all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&program, all).expect("it is ours");
        let [folder, program] = [folder.path(), &program].map(Path::display);
        list += &format!("{folder}\t{program}\t\n");
    }
    if fails {
        fs::write(folder.path().join("fails"), "").expect("it is written");
    }
    let file = folder.path().join("list");
    fs::write(&file, list).expect("it is written");
    let scripts = root().join("scripts");
    let output = Command::new(scripts.join("count-tests.sh"))
        .args([&scripts.join("run-programs.sh"), &file])
        .env_remove("LOCKGATE_TEST_NOTES")
        .env("LOCKGATE_TEST_PROGRAMS", "2")
        .output()
        .expect("bash is what scripts use");
    let text = String::from_utf8(output.stdout).expect("text");
    (text, output.status.success())
}

#[test]
fn what_wants_the_host_alone_counts_as_it_ends_there() {
    let (text, passed) = run(false);
    assert!(passed, "{text}");
    assert_eq!(text.matches("test wants runs again, alone").count(), 2);
    assert_eq!(text.matches("test busy runs again, alone").count(), 2);
    assert_eq!(text.matches("Running alone: ").count(), 2);
    assert!(!text.contains("inconclusive"), "{text}");
    assert!(text.ends_with("6 passed, 0 failed, 2 skipped\n"), "{text}");
    assert!(text.contains("\n  1.500 one plain\n"), "{text}");
}

#[test]
fn what_fails_alone_has_failed() {
    let (text, passed) = run(true);
    assert!(!passed, "{text}");
    assert!(text.contains("\n  2.500 one wants\n"), "{text}");
    // `busy` was not reached then.
    assert!(text.ends_with("2 passed, 2 failed, 2 skipped\n"), "{text}");
}
