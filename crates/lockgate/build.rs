//! Puts the git revision into the program, `-dirty` where the tree was
//! changed, `unknown` outside a checkout.

use std::path::Path;
use std::process::Command;

const SOURCES: [&str; 4] = [
    "../",
    "../../Cargo.toml",
    "../../Cargo.lock",
    "../../scenarios",
];

fn main() {
    // Any changed source can make the tree dirty. The binary is linked again
    // then anyway, so looking again costs nothing more.
    for path in SOURCES.map(str::to_owned).into_iter().chain(git_files()) {
        println!("cargo::rerun-if-changed={path}");
    }
    println!(
        "cargo::rustc-env=LOCKGATE_GIT_REVISION={}",
        revision().as_deref().unwrap_or("unknown")
    );
}

/// The files of git that change with the revision: the log too, since a
/// packed reference has no file of its own until the next commit. The index
/// is none of them, since `git status` writes it. A path that is not there
/// would make cargo build every time.
fn git_files() -> Vec<String> {
    let head = git(&["symbolic-ref", "--quiet", "HEAD"]);
    ["HEAD", "logs/HEAD", "packed-refs"]
        .into_iter()
        .chain(head.as_deref())
        .filter_map(|name| git(&["rev-parse", "--git-path", name]))
        .filter(|path| Path::new(path).exists())
        .collect()
}

fn revision() -> Option<String> {
    let revision = git(&["rev-parse", "--short=12", "HEAD"])?;
    let status = [
        "--no-optional-locks",
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
    ];
    let changed = git(&[&status[..], &SOURCES[..]].concat())?;
    Some(if changed.is_empty() {
        revision
    } else {
        format!("{revision}-dirty")
    })
}

/// What git says, trimmed; `None` without git or outside a checkout.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
