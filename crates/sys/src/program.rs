//! Programs found by name, and made sure of: only root or this user can have
//! put them there ([`crate::trusted`]).

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{Access, AtFlags};

use crate::trusted::{self, Untrusted};

/// Variables with folders of programs and of libraries, and their separators:
/// execvp(3), ld.so(8).
const SEARCHED: [(&str, &[u8]); 2] = [("PATH", b":"), LIBRARY_PATH];
pub(crate) const LIBRARY_PATH: (&str, &[u8]) = ("LD_LIBRARY_PATH", b":;");

/// The program of that name in a folder of `PATH`, or then in one of `also`; or the
/// one of that path. It is absolute; `None` where there is none.
///
/// Folders into which another user may put programs are skipped.
///
/// # Errors
/// [`Untrusted`] where all that is found is another user's.
pub fn find(program: impl AsRef<Path>, also: &[&str]) -> Result<Option<PathBuf>, Untrusted> {
    let program = program.as_ref();
    let is_path = program.as_os_str().as_bytes().contains(&b'/');
    let places = if is_path {
        vec![program.to_owned()]
    } else {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&path).chain(also.iter().map(PathBuf::from));
        folders.map(|folder| folder.join(program)).collect()
    };
    let mut passed_over = None;
    for place in places.into_iter().filter(|place| place.is_file()) {
        let place = std::path::absolute(&place).unwrap_or(place);
        match place.parent().map(trusted::check) {
            Some(Err(error)) if !is_path => {
                passed_over.get_or_insert(error.of(&place));
                continue;
            }
            _ => trusted::check(&place)?,
        };
        if is_executable(&place) {
            return Ok(Some(place));
        }
    }
    passed_over.map_or(Ok(None), Err)
}

/// Checks a command's program. Also removes folders into which another user may put
/// programs or libraries from the `PATH` and `LD_LIBRARY_PATH` that it is given.
///
/// # Errors
/// `NotFound` without such a program; `PermissionDenied` with [`Untrusted`].
pub fn vet(command: &mut Command) -> io::Result<()> {
    if find(command.get_program(), &[])?.is_none() {
        return Err(io::Error::from(io::ErrorKind::NotFound));
    }
    for (name, separators) in SEARCHED {
        let is_set = command.get_envs().any(|(key, _)| key == name);
        let Some(value) = env::var_os(name).filter(|_| !is_set) else {
            continue;
        };
        let kept = kept(&value, separators);
        // Empty, either would mean the working directory.
        if kept.is_empty() {
            command.env_remove(name);
        } else {
            command.env(name, kept);
        }
    }
    Ok(())
}

/// The folders of such a list that only root or this user can change.
fn kept(list: &OsStr, separators: &[u8]) -> OsString {
    let mut folders = folders(list, separators);
    folders.retain(|folder| trusted::check(folder).is_ok());
    env::join_paths(folders).unwrap_or_default()
}

/// The folders in such a list, absolute; an empty name is the working directory.
pub(crate) fn folders(list: &OsStr, separators: &[u8]) -> Vec<PathBuf> {
    let names = list
        .as_bytes()
        .split(|byte| separators.contains(byte))
        .map(|name| Path::new(OsStr::from_bytes(if name.is_empty() { b"." } else { name })));
    names
        .filter_map(|name| std::path::absolute(name).ok())
        .collect()
}

/// As execve(2) would say, for the effective user.
fn is_executable(path: &Path) -> bool {
    rustix::fs::accessat(rustix::fs::CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;
    use crate::temporary::Folder;

    const OTHER: u32 = 12_345;
    const NAME: &str = "lockgate-test-program";

    fn place() -> (Folder, PathBuf) {
        let place = Folder::new("lockgate-test-").unwrap();
        let program = place.path().join(NAME);
        let script = format!("#!/bin/sh\n: >{}\n", place.path().join("mark").display());
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        (place, program)
    }

    fn found(places: &[&Folder]) -> Result<Option<PathBuf>, Untrusted> {
        let also: Vec<_> = places
            .iter()
            .map(|place| place.path().to_str().unwrap())
            .collect();
        find(NAME, &also)
    }

    #[test]
    fn folders_of_others_are_passed_over() {
        if !testing::is_root() {
            return;
        }
        let [(theirs, their_program), (ours, program)] = [place(), place()];
        assert_eq!(found(&[&ours, &theirs]).unwrap(), Some(program.clone()));
        chown(theirs.path(), Some(OTHER), None).unwrap();
        assert_eq!(found(&[&theirs, &ours]).unwrap(), Some(program));
        let refused = found(&[&theirs]).unwrap_err().to_string();
        let named = format!(
            "{} is not used: {} belongs",
            their_program.display(),
            theirs.path().display()
        );
        assert!(refused.starts_with(&named), "{refused}");
        assert_eq!(found(&[]).unwrap(), None);
        let list = env::join_paths([theirs.path(), ours.path(), Path::new("/nowhere")]).unwrap();
        assert_eq!(kept(&list, b":"), ours.path().as_os_str());
        assert_eq!(kept(theirs.path().as_os_str(), b":"), "");
    }

    #[test]
    fn a_program_of_another_user_is_not_started() {
        if !testing::is_root() {
            return;
        }
        let (place, program) = place();
        let elsewhere = Folder::new("lockgate-test-").unwrap();
        let link = elsewhere.path().join(NAME);
        symlink(&program, &link).unwrap();
        chown(&program, Some(OTHER), None).unwrap();
        for name in [&program, &link] {
            let started = crate::process::spawn_dying_with_us(Command::new(name));
            let refused = started.unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
            assert!(
                refused.to_string().contains("belongs to uid 12345"),
                "{refused}"
            );
        }
        assert!(found(&[&elsewhere]).unwrap_err().is_foreign());
        assert!(!place.path().join("mark").exists());
        chown(&program, Some(0), None).unwrap();
        let mut child = crate::process::spawn_dying_with_us(Command::new(&link)).unwrap();
        assert!(child.wait().unwrap().success() && place.path().join("mark").exists());
    }

    #[test]
    fn lists_of_folders_are_absolute() {
        let here = env::current_dir().unwrap();
        let listed = folders("/a::b;/c".as_ref(), LIBRARY_PATH.1);
        assert_eq!(
            listed,
            ["/a".into(), here.clone(), here.join("b"), "/c".into()]
        );
        assert_eq!(folders("/a;b".as_ref(), b":"), [Path::new("/a;b")]);
    }
}
