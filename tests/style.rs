//! What clippy cannot say: sizes, where unsafe code may live, what files say.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use lockgate_tests::{fenced_block, files, files_of, read, rust_files};

const FILE_LINES_WARN: usize = 400;
const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_WARN: usize = 70;

/// Files that may be longer than [`FILE_LINES_MAX`], and why.
const LONG_FILES: [(&str, &str); 0] = [];

/// Crates of which every file may hold unsafe code.
const UNSAFE_FLOOR: [&str; 1] = ["sys"];

/// The text before the tests that a file carries at its end.
fn text_without_tests(text: &str) -> &str {
    [
        "\n#[cfg(test)]\nmod tests {",
        "\n#[cfg(all(test, not(loom)))]\nmod tests {",
    ]
    .iter()
    .find_map(|start| text.find(start))
    .map_or(text, |end| &text[..end])
}

fn is_test(path: &Path) -> bool {
    path.iter()
        .any(|part| part == "tests" || part == "tests.rs" || part == "benches")
}

/// Name and length of each function, by the indentation that rustfmt gives it.
fn function_lengths(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut lengths = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else {
            continue;
        };
        let indent = &line[..line.len() - line.trim_start().len()];
        let end = format!("{indent}}}");
        if let Some(length) = lines[start..].iter().position(|line| *line == end) {
            lengths.push((name.to_owned(), length + 1));
        }
    }
    lengths
}

fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_declaration = before.split_whitespace().all(|word| {
        word.starts_with("pub")
            || word.starts_with("in")
            || ["const", "unsafe", "async", "extern", "\"C\""].contains(&word)
    });
    let name = after
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .next()?;
    (is_declaration
        && !name.is_empty()
        && !line.trim_end().ends_with(';')
        && !line.trim_end().ends_with('}'))
    .then_some(name)
}

/// Past the test harness, which shows output of failed tests only.
fn warn(what: fmt::Arguments<'_>) {
    // One write, so that other tests' lines do not come between; and a closed
    // stderr is no reason to fail.
    let _ = std::io::stderr().write_all(format!("warning: {what}\n").as_bytes());
}

#[test]
fn files_and_functions_are_short() {
    let mut too_long = Vec::new();
    for path in rust_files().into_iter().filter(|path| !is_test(path)) {
        let text = read(&path);
        let lines = text_without_tests(&text).lines().count();
        let excuse = LONG_FILES.iter().find(|(long, _)| Path::new(long) == path);
        if lines > FILE_LINES_MAX && excuse.is_none() {
            too_long.push(format!("{} has {lines} lines", path.display()));
        } else if lines > FILE_LINES_WARN {
            warn(format_args!(
                "{} has {lines} lines, more than {FILE_LINES_WARN}",
                path.display()
            ));
        }
        for (name, length) in function_lengths(text_without_tests(&text)) {
            if length > FUNCTION_LINES_WARN {
                warn(format_args!(
                    "{}: {name} has {length} lines, more than {FUNCTION_LINES_WARN}",
                    path.display()
                ));
            }
        }
    }
    assert!(
        too_long.is_empty(),
        "split these, or list them in LONG_FILES with a reason: {too_long:#?}"
    );
}

/// The modules that ARCHITECTURE.md allows unsafe code.
fn unsafe_modules() -> Vec<PathBuf> {
    let architecture = read("ARCHITECTURE.md");
    let named =
        fenced_block(&architecture, "unsafe").expect("ARCHITECTURE.md has a block ```unsafe");
    named
        .into_iter()
        .map(|module| PathBuf::from(module.trim()))
        .collect()
}

fn is_of_the_floor(path: &Path) -> bool {
    UNSAFE_FLOOR
        .iter()
        .any(|floor| path.starts_with(Path::new("crates").join(floor)))
}

#[test]
fn unsafe_code_is_refused_by_every_crate_that_the_architecture_does_not_name() {
    let named = unsafe_modules();
    let mut lacking = Vec::new();
    for root in crate_roots()
        .into_iter()
        .filter(|root| !is_of_the_floor(root))
    {
        let folder = root.parent().expect("crates/<name>/src");
        let wanted = if named.iter().any(|module| module.starts_with(folder)) {
            "#![deny(unsafe_code)]"
        } else {
            "#![forbid(unsafe_code)]"
        };
        if !read(&root).contains(wanted) {
            lacking.push(format!("{} lacks {wanted}", root.display()));
        }
    }
    assert!(lacking.is_empty(), "{lacking:#?}");
}

/// Whether a lint attribute lifts the crate's ban, however rustfmt broke it.
fn allows_unsafe(text: &str) -> bool {
    let packed: String = text.split_whitespace().collect();
    packed.contains("allow(unsafe_code") || packed.contains("expect(unsafe_code")
}

#[test]
fn modules_with_unsafe_code_are_those_the_architecture_names() {
    let named = unsafe_modules();
    let real: Vec<_> = rust_files()
        .into_iter()
        .filter(|path| path.starts_with("crates") && !is_test(path) && !is_of_the_floor(path))
        .filter(|path| allows_unsafe(text_without_tests(&read(path))))
        .collect();
    let unnamed: Vec<_> = real
        .iter()
        .filter(|path| !named.iter().any(|module| path.starts_with(module)))
        .collect();
    let gone: Vec<_> = named
        .iter()
        .filter(|module| !real.iter().any(|path| path.starts_with(module)))
        .collect();
    assert!(
        unnamed.is_empty(),
        "move the unsafe code down to sys, or name these in ARCHITECTURE.md: {unnamed:#?}"
    );
    assert!(
        gone.is_empty(),
        "ARCHITECTURE.md names these, which have no unsafe code: {gone:#?}"
    );
}

fn crate_roots() -> Vec<PathBuf> {
    let roots: Vec<_> = rust_files()
        .into_iter()
        .filter(|path| path.starts_with("crates") && path.iter().count() == 4)
        .filter(|path| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs"))
        .collect();
    assert!(roots.len() >= 9, "found only {roots:?}");
    roots
}

#[test]
fn every_scenario_says_first_what_it_answers() {
    let mut scenarios = files_of("toml");
    scenarios.retain(|path| path.starts_with("scenarios"));
    for path in scenarios {
        let is_said = read(&path).starts_with("# ");
        assert!(
            is_said,
            "{}: the first line is not a comment",
            path.display()
        );
    }
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    // Put together here, so that this file does not name them itself.
    let homes = [
        ["/ro", "ot/"].concat(),
        ["/ho", "me/"].concat(),
        ["/Us", "ers/"].concat(),
        ["/wo", "rk/"].concat(),
    ];
    let mut found = Vec::new();
    for path in files() {
        let Ok(text) = std::fs::read_to_string(lockgate_tests::root().join(&path)) else {
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            if homes.iter().any(|home| names_path(line, home)) {
                found.push(format!(
                    "{}:{}: {}",
                    path.display(),
                    number + 1,
                    line.trim()
                ));
            }
        }
    }
    assert!(found.is_empty(), "paths of one machine: {found:#?}");
}

/// Whether `line` has `home` at the start of a path, not inside one.
fn names_path(line: &str, home: &str) -> bool {
    line.match_indices(home).any(|(at, _)| {
        let before = line[..at].chars().next_back().unwrap_or(' ');
        !before.is_alphanumeric() && !"._-/}".contains(before)
    })
}

#[test]
fn function_lengths_are_counted() {
    let text = "impl A {\n    pub fn one(&self) {\n        two();\n    }\n}\n\nfn three(\n    a: u8,\n) -> u8 {\n    a\n}\n";
    assert_eq!(
        function_lengths(text),
        [("one".to_owned(), 3), ("three".to_owned(), 5)]
    );
    assert_eq!(
        text_without_tests("a\nb\n#[cfg(test)]\nmod tests {}\n"),
        "a\nb"
    );
}

#[test]
fn paths_of_one_machine_are_told_from_others() {
    let home = "/x/";
    assert!(
        names_path("open(\"/x/a\")", home)
            && names_path("/x/a", home)
            && names_path("in /x/a", home)
    );
    assert!(!names_path("fixtures/x/a", home) && !names_path("https://host.org/x/a", home));
}
