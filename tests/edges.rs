//! The workspace has the edges that ARCHITECTURE.md lists, no others, and all
//! of them point down.

use std::collections::{BTreeMap, BTreeSet};

use lockgate_tests::{fenced_block, metadata, read};
use serde_json::Value;

type Edges = BTreeSet<(String, String)>;

/// `lockgate-lab` is `lab` in the documents; the binary keeps its name.
fn short(package: &str) -> String {
    package
        .strip_prefix("lockgate-")
        .unwrap_or(package)
        .to_owned()
}

/// The edges between workspace members that ship: development edges are free.
fn edges_of(metadata: &Value) -> Edges {
    let packages = metadata["packages"]
        .as_array()
        .expect("cargo lists packages");
    let mut edges = Edges::new();
    for package in packages {
        let from = short(package["name"].as_str().expect("a package has a name"));
        for dependency in package["dependencies"]
            .as_array()
            .expect("a package lists dependencies")
        {
            if dependency["kind"] != "dev" && !dependency["path"].is_null() {
                edges.insert((
                    from.clone(),
                    short(
                        dependency["name"]
                            .as_str()
                            .expect("a dependency has a name"),
                    ),
                ));
            }
        }
    }
    edges
}

/// Lines of the form `lab -> trial, cpu`.
fn listed_edges(lines: &[&str]) -> Edges {
    let mut edges = Edges::new();
    for line in lines {
        let (from, to) = line
            .split_once("->")
            .unwrap_or_else(|| panic!("'{line}' is not 'crate -> crate, …'"));
        for to in to.split(',').map(str::trim).filter(|to| !to.is_empty()) {
            assert!(
                edges.insert((from.trim().to_owned(), to.to_owned())),
                "{from} -> {to} is listed twice"
            );
        }
    }
    edges
}

/// Crate to layer, the topmost being 0; a line is a layer.
fn layers(lines: &[&str]) -> BTreeMap<String, usize> {
    let mut layers = BTreeMap::new();
    for (layer, line) in lines.iter().enumerate() {
        for name in line.split(',').map(str::trim) {
            assert!(
                layers.insert(name.to_owned(), layer).is_none(),
                "{name} is in two layers"
            );
        }
    }
    layers
}

/// The edges that do not go to a lower layer.
fn not_downwards<'e>(
    edges: &'e Edges,
    layers: &BTreeMap<String, usize>,
) -> Vec<&'e (String, String)> {
    let layer = |name: &String| {
        *layers
            .get(name)
            .unwrap_or_else(|| panic!("{name} is in no layer of ARCHITECTURE.md"))
    };
    edges
        .iter()
        .filter(|(from, to)| layer(from) >= layer(to))
        .collect()
}

fn architecture(block: &str) -> Vec<String> {
    let text = read("ARCHITECTURE.md");
    let lines = fenced_block(&text, block)
        .unwrap_or_else(|| panic!("ARCHITECTURE.md has no block ```{block}"));
    lines.into_iter().map(str::to_owned).collect()
}

fn as_text(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

/// The folders of sections that a file of one names, by `crate::`.
fn sections_named<'t>(text: &'t str, folders: &[String]) -> BTreeSet<&'t str> {
    let names = text.match_indices("crate::").map(|(at, word)| {
        let rest = &text[at + word.len()..];
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        &rest[..end.unwrap_or(rest.len())]
    });
    names
        .filter(|name| folders.iter().any(|folder| folder == name))
        .collect()
}

/// What two sections need is in `kit`, so that one of them can change alone.
#[test]
fn no_section_uses_another() {
    let source = lockgate_tests::root().join("crates/sections/src");
    let folder_of = |path: &std::path::Path| {
        let inside = path.strip_prefix(&source).ok()?;
        let first = inside.iter().next()?.to_str()?.trim_end_matches(".rs");
        (first != "lib").then(|| first.to_owned())
    };
    let files: Vec<_> = lockgate_tests::rust_files()
        .into_iter()
        .filter_map(|path| {
            let path = lockgate_tests::root().join(path);
            let folder = folder_of(&path)?;
            Some((path, folder))
        })
        .collect();
    let folders: Vec<_> = files.iter().map(|(_, folder)| folder.clone()).collect();
    assert!(folders.len() > 50, "the sections are there");
    for (path, folder) in &files {
        let text = std::fs::read_to_string(path).expect("a file of ours");
        let others = sections_named(&text, &folders);
        let others: Vec<_> = others.into_iter().filter(|name| name != folder).collect();
        assert!(others.is_empty(), "{} uses {others:?}", path.display());
    }
    let planted = sections_named("use crate::kspeed::arm;", &folders);
    assert_eq!(planted, BTreeSet::from(["kspeed"]));
}

#[test]
fn edges_are_those_of_the_architecture() {
    let real = edges_of(&metadata(&["--no-deps"]));
    let listed = listed_edges(&as_text(&architecture("edges")));
    let unlisted: Vec<_> = real.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&real).collect();
    assert!(
        unlisted.is_empty(),
        "edges that ARCHITECTURE.md does not list: {unlisted:?}"
    );
    assert!(
        gone.is_empty(),
        "edges that ARCHITECTURE.md lists and no Cargo.toml has: {gone:?}"
    );
}

#[test]
fn edges_point_down() {
    let real = edges_of(&metadata(&["--no-deps"]));
    let layers = layers(&as_text(&architecture("layers")));
    let wrong = not_downwards(&real, &layers);
    assert!(
        wrong.is_empty(),
        "edges that do not point to a lower layer: {wrong:?}"
    );
}

#[test]
fn every_crate_is_in_a_layer_and_every_layer_names_crates() {
    let metadata = metadata(&["--no-deps"]);
    let packages = metadata["packages"]
        .as_array()
        .expect("cargo lists packages");
    let real: BTreeSet<_> = packages
        .iter()
        .map(|package| short(package["name"].as_str().expect("a package has a name")))
        .collect();
    let listed: BTreeSet<_> = layers(&as_text(&architecture("layers")))
        .into_keys()
        .collect();
    assert_eq!(
        real, listed,
        "left: the workspace; right: the layers of ARCHITECTURE.md"
    );
}

#[test]
fn an_upward_edge_is_found() {
    let layers = layers(&["lab", "cpu, crypto", "trial"]);
    let edges = listed_edges(&["lab -> cpu, trial", "trial -> lab", "cpu -> crypto"]);
    let wrong: Vec<_> = not_downwards(&edges, &layers)
        .into_iter()
        .map(|(from, _)| from.as_str())
        .collect();
    assert_eq!(wrong, ["cpu", "trial"]);
}

#[test]
fn development_and_foreign_edges_are_not_counted() {
    let metadata = serde_json::json!({"packages": [{"name": "lockgate-lab", "dependencies": [
        {"name": "lockgate-cpu", "kind": null, "path": "crates/cpu"},
        {"name": "lockgate-sys", "kind": "build", "path": "crates/sys"},
        {"name": "lockgate-crypto", "kind": "dev", "path": "crates/crypto"},
        {"name": "serde", "kind": null, "path": null},
    ]}]});
    assert_eq!(edges_of(&metadata), listed_edges(&["lab -> cpu, sys"]));
}
