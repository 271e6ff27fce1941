//! The committed objects are what their sources say.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// How the script ends where the one compiler that gives these bytes is missing.
const MISSING: i32 = 77;

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn committed_objects_are_what_the_compiler_makes() {
    let script = repository().join("scripts/build-bpf.sh");
    let out = sys::temporary::Folder::new("lockgate-bpf-").unwrap();
    let built = Command::new(script).arg(out.path()).output().unwrap();
    if built.status.code() == Some(MISSING) {
        let said = String::from_utf8_lossy(&built.stderr);
        testing::skipped(said.trim());
        return;
    }
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
    let names = |folder: PathBuf| {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".bpf.o"))
            .collect();
        names.sort();
        names
    };
    let made = names(out.path().to_owned());
    assert_eq!(
        names(repository().join("bpf")),
        made,
        "run scripts/build-bpf.sh"
    );
    for name in &made {
        let [committed, fresh] = [repository().join("bpf"), out.path().to_owned()]
            .map(|folder| fs::read(folder.join(name)).unwrap());
        assert!(
            committed == fresh,
            "bpf/{name} is old: run scripts/build-bpf.sh"
        );
    }
}
