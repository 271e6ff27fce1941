//! Programs of the host with the libraries that they need.

use std::path::{Path, PathBuf};
use std::process::Command;

use lockgate_vm::image::{GuestFile, HostProgram, ProgramError};

use crate::image::support::{Kernel, files};

fn paths(files: &[GuestFile]) -> Vec<&str> {
    files.iter().map(GuestFile::path).collect()
}

fn linked(program: &Path) -> Vec<String> {
    // Part of the C library, whatever is on this user's path.
    let output = Command::new("/usr/bin/ldd").arg(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut names: Vec<String> = text
        .lines()
        .filter_map(|line| {
            line.trim()
                .split_once(" => ")
                .map(|(name, _)| name.to_owned())
        })
        .collect();
    names.sort();
    names
}

#[test]
fn the_running_program_with_what_it_is_linked_to() {
    let own = std::env::current_exe().unwrap();
    let found = HostProgram::running().unwrap().files("/bin/own").unwrap();
    let paths = paths(&found);
    assert_eq!(paths[0], "/bin/own");
    assert!(paths[1].contains("ld-"), "{paths:?}");
    let folder = "/usr/lib/lockgate/";
    let mut names: Vec<_> = paths[2..]
        .iter()
        .map(|path| path.strip_prefix(folder).unwrap().to_owned())
        // The interpreter is a library, too; ldd prints it otherwise.
        .filter(|name| !name.starts_with("ld-"))
        .collect();
    names.sort();
    assert_eq!(names, linked(&own));
    let image = Kernel::new().image().files(found).build().unwrap();
    assert!(files(&image)["bin/own"].content == std::fs::read(own).unwrap());
}

#[test]
fn it_runs_with_its_own_libraries_alone() {
    let own = std::env::current_exe().unwrap();
    let found = HostProgram::new(&own).files("/own").unwrap();
    let image = Kernel::new().image().files(found).build().unwrap();
    let root = tempfile::tempdir().unwrap();
    for (name, entry) in files(&image) {
        let path = root.path().join(name);
        if entry.mode & 0o170_000 == 0o100_000 {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, entry.content).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&path, mode).unwrap();
        }
    }
    let output = Command::new("chroot")
        .arg(root.path())
        .args(["/own", "--list"])
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LD_LIBRARY_PATH", "/usr/lib/lockgate")
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    if complaint.contains("Operation not permitted") {
        testing::skipped("chroot needs root");
        return;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("it_runs_with_its_own_libraries_alone"),
        "{complaint}"
    );
}

#[test]
fn libraries_that_are_opened_by_name() {
    let own = std::env::current_exe().unwrap();
    let plain = HostProgram::new(&own).files("/own").unwrap().len();
    let with = HostProgram::new(&own)
        .opens("libm.so.6")
        .opens("libno-such-library.so.9")
        .files("/own")
        .unwrap();
    assert!(paths(&with).contains(&"/usr/lib/lockgate/libm.so.6"));
    assert!(with.len() <= plain + 1);
}

#[test]
fn what_is_no_program_is_refused() {
    let kernel = Kernel::new();
    let error = |path: PathBuf| HostProgram::new(&path).files("/x").unwrap_err();
    let not_elf = error(kernel.path("busybox"));
    testing::assert_matches!(not_elf, ProgramError::NotElf { .. });
    let missing = error(kernel.path("nope"));
    testing::assert_matches!(missing, ProgramError::Unreadable { .. });
}
