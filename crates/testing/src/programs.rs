use std::env::{split_paths, var_os};
use std::ffi::OsStr;

use crate::skipped;

/// Tells whether the path has all of these programs; if not, the test is reported as
/// skipped. `packages` are Debian's that have them, with spaces between.
#[track_caller]
pub fn has_programs(names: &[&str], packages: &str) -> bool {
    let missing = missing(names, &var_os("PATH").unwrap_or_default());
    let has_all = missing.is_empty();
    if !has_all {
        let missing = missing.join(", ");
        skipped(format!("no {missing} here; apt-get install {packages}"));
    }
    has_all
}

fn missing<'n>(names: &[&'n str], path: &OsStr) -> Vec<&'n str> {
    let is_there = |name: &str| split_paths(path).any(|folder| folder.join(name).is_file());
    let missing = names.iter().filter(|name| !is_there(name));
    missing.copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_path_lacks_is_named() {
        let path = var_os("PATH").unwrap();
        assert!(missing(&["sh", "cat"], &path).is_empty());
        let asked = ["no-such-program", "sh", "bin/sh"];
        assert_eq!(missing(&asked, OsStr::new("/nonexistent")), asked);
        assert_eq!(missing(&asked[..2], &path), ["no-such-program"]);
    }
}
