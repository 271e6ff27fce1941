//! What the repository's tests read: its files, its documents' marked blocks,
//! and what cargo knows about its packages.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Cargo's name for the registry that every dependency comes from.
pub const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The folder that holds `Cargo.lock`.
///
/// # Panics
/// Never in a checkout: this package lies one folder below.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package is a folder of the repository")
        .to_owned()
}

/// The text of a file, by its path from the root.
///
/// # Panics
/// When it cannot be read: a test then has nothing to say.
#[must_use]
pub fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

/// What `cargo metadata` says, for this platform's dependencies.
///
/// # Panics
/// When cargo fails, with what it said.
#[must_use]
pub fn metadata(arguments: &[&str]) -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo is what runs this test");
    assert!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

/// The lines of the first block fenced by three backticks and `name`.
#[must_use]
pub fn fenced_block<'t>(text: &'t str, name: &str) -> Option<Vec<&'t str>> {
    let mut lines = text.lines();
    lines.by_ref().find(|line| {
        line.strip_prefix("```")
            .is_some_and(|rest| rest.trim() == name)
    })?;
    Some(
        lines
            .take_while(|line| !line.starts_with("```"))
            .filter(|line| !line.trim().is_empty())
            .collect(),
    )
}

/// Every file that belongs to the project, by its path from the root, sorted.
/// Build folders, stored runs and git's own are left out; a worktree's `.git` is
/// a file.
#[must_use]
pub fn files() -> BTreeSet<PathBuf> {
    let root = root();
    let mut found = BTreeSet::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() && !is_foreign(&path) {
                folders.push(path);
            } else if kind.is_file() && entry.file_name() != ".git" {
                found.insert(
                    path.strip_prefix(&root)
                        .expect("found below the root")
                        .to_owned(),
                );
            }
        }
    }
    found
}

fn is_foreign(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    [".git", "target", "lockgate-runs"]
        .iter()
        .any(|foreign| name == *foreign)
        || folder.join("CACHEDIR.TAG").exists()
}

/// The Rust files among [`files`].
#[must_use]
pub fn rust_files() -> Vec<PathBuf> {
    files_of("rs")
}

/// Those of [`files`] whose names end in `.extension`.
#[must_use]
pub fn files_of(extension: &str) -> Vec<PathBuf> {
    let is_one = |path: &PathBuf| path.extension().is_some_and(|own| own == extension);
    files().into_iter().filter(is_one).collect()
}
