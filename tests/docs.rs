//! The documents name only commands, stages and files that exist.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use lockgate_tests::{files_of, read, root};

/// The words that follow `command` in `text`.
fn words_after<'t>(text: &'t str, command: &str) -> BTreeSet<&'t str> {
    let is_inside = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    text.match_indices(command)
        .filter(|(at, _)| !text[..*at].ends_with(is_inside))
        .filter_map(|(at, _)| {
            text[at + command.len()..]
                .split(|letter| !is_inside(letter))
                .next()
        })
        .filter(|word| !word.is_empty())
        .collect()
}

/// Targets of links `[…](target)` that are files of ours.
fn local_links(text: &str) -> BTreeSet<&str> {
    text.match_indices("](")
        .filter_map(|(at, _)| text[at + 2..].split([')', '#']).next())
        .filter(|link| !link.is_empty() && !link.contains("://"))
        .collect()
}

#[test]
fn make_targets_that_documents_name_exist() {
    let makefile = read("Makefile");
    for document in files_of("md") {
        let text = read(&document);
        // In prose, `make` is a verb: only code counts.
        for target in words_after(&text, "`make ").union(&words_after(&text, "\nmake ")) {
            let rule = format!("\n{target}:");
            assert!(
                makefile.contains(&rule),
                "{}: make {target} does not exist",
                document.display()
            );
        }
    }
}

#[test]
fn help_names_every_target() {
    let makefile = read("Makefile");
    let targets = makefile
        .lines()
        .find_map(|line| line.strip_prefix(".PHONY: "))
        .expect("the Makefile has one .PHONY line");
    for target in targets
        .split_whitespace()
        .filter(|target| *target != "help")
    {
        assert!(
            makefile.contains(&format!("echo 'make {target} ")),
            "make help does not name {target}"
        );
    }
}

#[test]
fn contributing_lists_the_stages_of_ci() {
    let ci = read(".ci/run");
    let stages = ci
        .lines()
        .find_map(|line| line.strip_prefix("STAGES=(")?.strip_suffix(')'))
        .expect(".ci/run lists its stages");
    let contributing = read("CONTRIBUTING.md");
    let table: String = contributing
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    for stage in stages.split_whitespace() {
        assert!(
            ci.contains(&format!("stage_{stage}()")),
            "stage {stage} has no function"
        );
        assert!(
            table.contains(&format!("`{stage}`")),
            "CONTRIBUTING.md does not list stage {stage}"
        );
    }
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    for document in files_of("md") {
        let folder = document.parent().unwrap_or(Path::new("")).to_owned();
        let text = read(&document);
        for link in local_links(&text) {
            if !root().join(&folder).join(link).exists() {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// What is in single backticks, code blocks aside.
fn code_spans(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.starts_with("    "));
    let mut is_block = false;
    let prose = lines.filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_block ^= is_fence;
        !is_block && !is_fence
    });
    prose
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .collect()
}

/// Whether it is a path into the repository as git has it.
fn is_own_path(span: &str) -> bool {
    const FOLDERS: [&str; 8] = [
        "crates/",
        "docs/",
        "tests/",
        "scripts/",
        "bpf/",
        "kmod/",
        "scenarios/",
        "examples/",
    ];
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    FOLDERS.iter().any(|folder| span.starts_with(folder)) && span.chars().all(is_plain)
}

#[test]
fn paths_that_documents_name_exist() {
    let is_of_others = |part: Component<'_>| part.as_os_str() == "vectors";
    let (mut found, mut lost) = (0, Vec::new());
    for document in files_of("md") {
        // What was is told as it was, and what is of others by their paths.
        if document == Path::new("CHANGELOG.md") || document.components().any(is_of_others) {
            continue;
        }
        let text = read(&document);
        let own = document.parent().unwrap_or(Path::new(""));
        for span in code_spans(&text)
            .into_iter()
            .filter(|span| is_own_path(span))
        {
            let is_there = |folder: &Path| root().join(folder).join(span).exists();
            found += 1;
            if !is_there(Path::new("")) && !is_there(own) {
                lost.push(format!("{}: {span}", document.display()));
            }
        }
    }
    assert!(lost.is_empty(), "{lost:#?}");
    assert!(found > 50, "{found} paths");
}

/// Names that are written small wherever they stand.
const SMALL_NAMES: [&str; 7] = ["p50", "p90", "p99", "tcrypt", "quinn", "iperf3", "kspeed"];
/// Behind their full stops a sentence goes on.
const ABBREVIATIONS: [&str; 5] = ["e.g", "i.e", "cf", "vs", "etc"];

/// Words with which a sentence begins small.
fn small_beginnings(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| match line {
        line if line.starts_with("    ") => "",
        line => line,
    });
    let text: Vec<_> = lines.collect();
    let text = text.join("\n");
    // Neither blocks nor spans of code are prose.
    let prose: String = text
        .split("```")
        .step_by(2)
        .collect::<Vec<_>>()
        .join("\n\n");
    let prose: Vec<_> = prose.split('`').collect();
    let parts = prose.iter().enumerate();
    let prose: String = parts
        .map(|(at, part)| if at % 2 == 0 { *part } else { "X" })
        .collect();
    let mut small = Vec::new();
    let mut before = "";
    for word in prose.split_whitespace() {
        let stem = before.trim_end_matches([')', '"', '*', '_']);
        let ends = stem.ends_with(['.', '!', '?']);
        let stem = stem
            .trim_end_matches(['.', '!', '?'])
            .trim_start_matches('(');
        let own = word.trim_start_matches(['(', '[', '"', '*', '_']);
        let name = own
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .next();
        let is_small = own.starts_with(|letter: char| letter.is_ascii_lowercase());
        let is_name = name.is_some_and(|name| SMALL_NAMES.contains(&name));
        if ends && is_small && !is_name && !ABBREVIATIONS.contains(&stem) {
            small.push(format!("{before} {word}"));
        }
        before = word;
    }
    small
}

#[test]
fn sentences_begin_with_a_capital() {
    let mut all = Vec::new();
    for document in files_of("md") {
        let small = small_beginnings(&read(&document)).into_iter();
        all.extend(small.map(|words| format!("{}: {words}", document.display())));
    }
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn small_beginnings_are_seen() {
    let small = small_beginnings;
    assert_eq!(small("It ends. so does this."), ["ends. so"]);
    assert_eq!(
        small("It ends `here`.\n(and here.) then"),
        ["X. (and", "here.) then"]
    );
    assert_eq!(
        small("Does it? no! It does, e.g. here. quinn's `x`. `y` is."),
        ["it? no!"]
    );
    assert_eq!(
        small("A block.\n```sh\nmake. it\n```\nThen.\n\n    make it. so\n"),
        [""; 0]
    );
}

/// Sections without the kit's mechanism, by ARCHITECTURE.md: those that the registry
/// has so, and the one of a command of its own.
#[test]
fn what_is_no_experiment_is_said() {
    let registry = read("crates/sections/src/lib.rs");
    let entries = registry.lines().filter(|line| line.contains(", None, ["));
    let entries =
        entries.filter_map(|line| line.split_once("::parse, None")?.0.split(' ').next_back());
    let own = entries.chain(["rfc2544"]).collect::<BTreeSet<_>>();
    let architecture = read("ARCHITECTURE.md");
    let said = architecture
        .lines()
        .find(|line| line.contains("are no experiments."));
    let said = code_spans(said.expect("it says which"))
        .into_iter()
        .collect();
    assert_eq!(own, said);
}

#[test]
fn names_are_found() {
    assert_eq!(
        words_after("`make run ARGS`, remake it, `make x-y`", "make "),
        ["run", "x-y"].into()
    );
    assert_eq!(
        local_links("[a](b.md#c) ![d](e/f.svg) [g](https://h)"),
        ["b.md", "e/f.svg"].into()
    );
}
