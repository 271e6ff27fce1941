//! What a test says past the harness, which hides the output of tests that pass.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::Location;

/// The file to which notes are added, a line each: kind, program, test, text,
/// with tabs between. Without it they go to stderr.
pub(crate) const FILE: &str = "LOCKGATE_TEST_NOTES";

/// Reports that the calling test did nothing for lack of something, with the remedy.
/// It counts as skipped.
#[track_caller]
pub fn skipped(reason: impl Display) {
    note("skipped", reason);
}

/// Reports that the calling test left a part out for lack of something, with the
/// remedy. It counts as it ends.
#[track_caller]
pub fn left_out(reason: impl Display) {
    note("left out", reason);
}

#[track_caller]
pub fn warn(what: impl Display) {
    note("warning", what);
}

#[track_caller]
pub(crate) fn note(kind: &str, text: impl Display) {
    let text = one_line(&text.to_string());
    // Also to the harness, which shows it with a failure.
    println!("{kind}: {text}");
    let test = test_name(Location::caller());
    let file = std::env::var_os(FILE).filter(|file| !file.is_empty());
    let line = match &file {
        Some(_) => format!("{kind}\t{}\t{test}\t{text}\n", program()),
        None => format!("{kind}: {test}: {text}\n"),
    };
    // A closed stderr, or a file that others may not write, is no reason to fail.
    let _ = write(file, line.as_bytes());
}

/// One write, so that the lines of several tests do not mix.
fn write(file: Option<OsString>, line: &[u8]) -> std::io::Result<()> {
    match file {
        Some(path) => OpenOptions::new().append(true).open(path)?.write_all(line),
        None => std::io::stderr().write_all(line),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The harness names a test's thread after it, except where it runs one test at a
/// time; a thread that a test starts has no name.
pub(crate) fn is_named() -> bool {
    std::thread::current()
        .name()
        .is_some_and(|name| name != "main")
}

/// A place, where the thread does not say which test it runs.
fn test_name(place: &Location<'_>) -> String {
    match std::thread::current().name() {
        Some(name) if is_named() => name.to_owned(),
        _ => format!("{}:{}", place.file(), place.line()),
    }
}

fn program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    match stem.rsplit_once('-') {
        Some((name, _)) => name.to_owned(),
        None => stem.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_one_line_that_names_program_and_test() {
        assert_eq!(one_line(" a\n\tb  c\r\n"), "a b c");
        assert_eq!(program(), "lockgate_testing");
        let name = test_name(Location::caller());
        let own = "note::tests::a_note_is_one_line_that_names_program_and_test";
        assert!(name == own || name.starts_with("crates/testing/src/note.rs:"));
        std::thread::scope(|scope| {
            let nameless = scope.spawn(|| test_name(Location::caller()));
            assert!(nameless.join().unwrap_or_default().contains("note.rs:"));
        });
    }
}
