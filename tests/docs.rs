//! The documents name only commands, stages and files that exist.

use std::collections::BTreeSet;
use std::path::Path;

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
