//! What the sources must not do, since a compiler does not see it: print past the console,
//! filter text by a rule of their own, drop a status.

use std::collections::BTreeSet;
use std::path::Path;

use lockgate_tests::{read, rust_files};

/// What has an outcome's name says how something ended.
const OUTCOMES: [&str; 2] = ["Status", "Outcome"];

/// Names of functions that return outcomes, and of others that do not: nothing is said of
/// these.
const AMBIGUOUS: [&str; 3] = ["take", "run", "finish"];

/// Where output is written, and why there.
const WRITERS: [(&str, &str); 5] = [
    ("crates/lockgate/src/console.rs", "the console"),
    ("crates/lockgate/src/output.rs", "bytes for programs"),
    ("crates/lockgate/src/main.rs", "starts the log"),
    (
        "crates/kit/src/apart.rs",
        "a pipe to the program that started it",
    ),
    (
        "crates/lockgate/src/render.rs",
        "asks for the terminal's width",
    ),
];

/// Each file of the crates that is neither tests nor what only tests use, by its path, with
/// its lines without comments.
fn sources() -> Vec<(String, String)> {
    let is_source = |path: &&std::path::PathBuf| {
        let mut parts = path.iter().map(|part| part.to_string_lossy());
        parts.next().as_deref() == Some("crates")
            && parts.next().as_deref() != Some("testing")
            && parts.next().as_deref() == Some("src")
            && !is_test(path)
    };
    let files = rust_files();
    let sources: Vec<_> = files
        .iter()
        .filter(is_source)
        .map(|path| {
            let text = read(path);
            let text = &text[..text
                .find("\n#[cfg(test)]\nmod tests {")
                .unwrap_or(text.len())];
            let code = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            let code: Vec<_> = code.collect();
            (path.display().to_string(), code.join("\n"))
        })
        .collect();
    assert!(sources.len() > 500, "only {} files", sources.len());
    sources
}

fn is_test(path: &Path) -> bool {
    let is_one = |part: &std::ffi::OsStr| part == "tests" || part == "tests.rs";
    path.iter().any(is_one)
}

/// Whether the word stands there by itself.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let is_part = |letter: Option<char>| {
            letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
        };
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next())
    })
}

/// Macros that panic where output is full or closed, and write past the console.
fn prints(line: &str) -> bool {
    ["print", "println", "eprint", "eprintln", "dbg"]
        .iter()
        .any(|name| has_word(line, name) && line.contains(&format!("{name}!")))
}

#[test]
fn nothing_prints_past_the_console() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        let is_writer = WRITERS.iter().any(|(writer, _)| *writer == path);
        for line in text.lines() {
            let writes = line.contains("io::stdout()") || line.contains("io::stderr()");
            let asks = line.contains("is_terminal()");
            if prints(line) || (writes && !asks && !is_writer) {
                found.push(format!("{path}: {}", line.trim()));
            }
        }
    }
    assert!(
        found.is_empty(),
        "these panic or wait where output is full or closed; use `Console`, or \
         `LogLines::tell` where nothing may wait: {found:#?}"
    );
}

#[test]
fn only_one_function_says_what_is_shown() {
    let mut found: Vec<_> = sources();
    found.retain(|(path, text)| path != "crates/sys/src/plain.rs" && has_word(text, "is_control"));
    let found: Vec<_> = found.into_iter().map(|(path, _)| path).collect();
    assert!(found.is_empty(), "use `sys::plain::is_shown`: {found:#?}");
}

/// Types of an outcome's name that are not marked `#[must_use]`.
fn unmarked(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut attributes = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words
            .iter()
            .position(|word| *word == "enum" || *word == "struct");
        let name = at
            .and_then(|at| words.get(at + 1))
            .copied()
            .unwrap_or_default();
        let end = name.find(|letter: char| !letter.is_alphanumeric());
        let name = &name[..end.unwrap_or(name.len())];
        if OUTCOMES.contains(&name) && !attributes.contains("#[must_use") {
            found.push(name);
        }
        match line.starts_with("#[") || (!attributes.is_empty() && !line.trim().ends_with('{')) {
            true => attributes.push_str(line),
            false => attributes.clear(),
        }
    }
    found
}

/// Functions that return an outcome, or a result of one.
fn functions(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("fn ") {
        let rest = &text[at + 3..];
        let head = &rest[..rest.find(['{', ';']).unwrap_or(rest.len())];
        let returned = head.rsplit_once("->").map_or("", |(_, returned)| returned);
        let is_one = OUTCOMES.iter().any(|name| has_word(returned, name));
        let name = &head[..head
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(0)];
        if is_one && !name.is_empty() && !AMBIGUOUS.contains(&name) && !returned.contains('&') {
            found.insert(name);
        }
    }
    found
}

/// Statements that drop a value, each on one line.
fn dropping(text: &str) -> Vec<String> {
    let is_call = |(at, _): &(usize, &str)| !text[..*at].ends_with("fn ");
    let drops = text.match_indices("drop(").filter(is_call);
    let starts = text.match_indices("let _ =").chain(drops);
    let statement = |(at, _): (usize, &str)| {
        let rest = &text[at..];
        let end = rest.find(';').unwrap_or(rest.len());
        rest[..end].split_whitespace().collect::<Vec<_>>().join(" ")
    };
    starts.map(statement).collect()
}

fn calls(statement: &str, function: &str) -> bool {
    has_word(statement, function)
        && [format!("{function}("), format!("{function}::<")]
            .iter()
            .any(|call| statement.contains(call.as_str()))
}

#[test]
fn no_status_is_dropped() {
    let sources = sources();
    let lacking: Vec<_> = sources
        .iter()
        .flat_map(|(path, text)| {
            unmarked(text)
                .into_iter()
                .map(move |name| format!("{path}: {name}"))
        })
        .collect();
    assert!(lacking.is_empty(), "mark these #[must_use]: {lacking:#?}");
    let all: BTreeSet<&str> = sources
        .iter()
        .flat_map(|(_, text)| functions(text))
        .collect();
    assert!(all.contains("process_slices") && all.len() > 20, "{all:?}");
    let mut found = Vec::new();
    for (path, text) in &sources {
        for statement in dropping(text) {
            let dropped = all.iter().find(|function| calls(&statement, function));
            if let Some(function) = dropped {
                found.push(format!("{path}: {function} in `{statement}`"));
            }
        }
    }
    assert!(found.is_empty(), "look at these outcomes: {found:#?}");
}

#[test]
fn what_is_planted_is_found() {
    assert!(prints("    eprintln!(\"x\");") && prints("dbg!(x)") && prints("std::print!(\"\")"));
    assert!(!prints("console.print(text)") && !prints("writeln!(text)"));
    let bare = "#[derive(Clone)]\npub enum Status {\n    Ok,\n}\n";
    assert_eq!(unmarked(bare), ["Status"]);
    assert!(unmarked(&format!("#[must_use = \"it\"]\n{bare}")).is_empty());
    let text = "fn seal(&self) -> Result<(), Status> { x }\nfn other() -> u8 { y }";
    assert_eq!(functions(text), BTreeSet::from(["seal"]));
    let dropped = dropping("let _ = key\n    .seal(packets);\ndrop(other());");
    assert_eq!(dropped, ["let _ = key .seal(packets)", "drop(other())"]);
    assert!(
        calls(&dropped[0], "seal") && !calls(&dropped[0], "sea") && !calls(&dropped[1], "seal")
    );
}
