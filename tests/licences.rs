//! Every dependency may be used, and comes from crates.io.

use lockgate_tests::{CRATES_IO, metadata, read};

/// What an Apache-2.0 OR MIT program may link without further duties than to
/// keep the notice.
const ALLOWED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "OpenSSL",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// What must not come in, even indirectly, and why.
const BANNED: [(&str, &str); 3] = [
    (
        "openssl-sys",
        "links the peer we measure against into our own process",
    ),
    ("native-tls", "brings openssl-sys"),
    (
        "libsodium-sys",
        "links a system's library: results would depend on its version",
    ),
];

/// Whether an SPDX expression can be met by allowed licences alone.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let allowed = any_of(&mut rest);
    allowed && rest.is_empty()
}

fn any_of(words: &mut &[&str]) -> bool {
    let mut allowed = all_of(words);
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        allowed |= all_of(words);
    }
    allowed
}

fn all_of(words: &mut &[&str]) -> bool {
    let mut allowed = one(words);
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        allowed &= one(words);
    }
    allowed
}

fn one(words: &mut &[&str]) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let allowed = any_of(words);
            let [")", rest @ ..] = *words else {
                return false;
            };
            *words = rest;
            allowed
        }
        [name, "WITH", exception, rest @ ..] => {
            *words = rest;
            ALLOWED.contains(&format!("{name} WITH {exception}").as_str())
        }
        [name, rest @ ..] => {
            *words = rest;
            ALLOWED.contains(name)
        }
        [] => false,
    }
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let metadata = metadata(&["--filter-platform", &platform]);
    let packages = metadata["packages"]
        .as_array()
        .expect("cargo lists packages");
    assert!(
        packages.len() > 50,
        "only {} packages: the list cannot be whole",
        packages.len()
    );
    let refused: Vec<_> = packages
        .iter()
        .filter(|package| !is_allowed(package["license"].as_str().unwrap_or_default()))
        .map(|package| {
            format!(
                "{} {}: {}",
                package["name"], package["version"], package["license"]
            )
        })
        .collect();
    assert!(refused.is_empty(), "licences not on the list: {refused:#?}");
}

#[test]
fn every_dependency_comes_from_crates_io() {
    let lock = read("Cargo.lock");
    let sources: Vec<_> = lock
        .lines()
        .filter_map(|line| line.strip_prefix("source = "))
        .collect();
    assert!(
        sources.len() > 50,
        "only {} sources: the lock cannot be whole",
        sources.len()
    );
    let foreign: Vec<_> = sources
        .iter()
        .filter(|source| source.trim_matches('"') != CRATES_IO)
        .collect();
    assert!(
        foreign.is_empty(),
        "sources other than crates.io: {foreign:?}"
    );
}

#[test]
fn no_banned_package_is_in_the_lock() {
    let lock = read("Cargo.lock");
    let names: Vec<_> = lock
        .lines()
        .filter_map(|line| line.strip_prefix("name = "))
        .map(|name| name.trim_matches('"'))
        .collect();
    let present: Vec<_> = BANNED
        .iter()
        .filter(|(name, _)| names.contains(name))
        .collect();
    assert!(present.is_empty(), "banned packages, and why: {present:#?}");
}

#[test]
fn expressions_are_understood() {
    for allowed in [
        "MIT",
        "MIT OR GPL-3.0",
        "GPL-3.0 OR Zlib",
        "MIT/Apache-2.0",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "ISC AND (Apache-2.0 OR ISC) AND OpenSSL",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for refused in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR Apache-2.0) AND AGPL-3.0",
        "MIT WITH odd-exception",
        "(MIT",
        "MIT)",
    ] {
        assert!(!is_allowed(refused), "{refused}");
    }
}
