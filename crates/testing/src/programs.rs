use std::env::{split_paths, var_os};

use crate::skipped;

/// Whether the path has all of these programs; if not, it reports the test as skipped.
/// `packages` are Debian's that have them, with spaces between.
#[track_caller]
pub fn has_programs(names: &[&str], packages: &str) -> bool {
    let path = var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| split_paths(&path).any(|folder| folder.join(name).is_file());
    let missing: Vec<_> = names
        .iter()
        .filter(|name| !is_there(name))
        .copied()
        .collect();
    let has_all = missing.is_empty();
    if !has_all {
        let missing = missing.join(", ");
        skipped(format!("no {missing} here; apt-get install {packages}"));
    }
    has_all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_on_the_path_or_not() {
        assert!(has_programs(&["sh", "cat"], "dash coreutils"));
    }
}
