//! A root file system for containers: folders, and links into the host's
//! `/usr`, which is mounted read-only inside. So a container needs no image, and
//! runs the host's own programs.

use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use super::error::HomeError;

/// The program of a container's first process. It copies nothing: its input is a pipe
/// that Lockgate holds, and it ends when Lockgate does.
pub const INIT: &str = "/usr/bin/cat";

const FOLDERS: [&str; 6] = ["dev", "etc", "proc", "sys", "tmp", "usr"];
const LINKS: [&str; 6] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// Makes it in `root`, which must not exist yet.
///
/// # Errors
/// As the file system's.
pub fn make(root: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().mode(0o755).create(root)?;
    for folder in FOLDERS {
        std::fs::create_dir(root.join(folder))?;
    }
    for link in LINKS {
        if Path::new("/usr").join(link).exists() {
            symlink(Path::new("usr").join(link), root.join(link))?;
        }
    }
    Ok(())
}

pub fn find(program: &'static str, package: &'static str) -> Result<PathBuf, HomeError> {
    let found = sys::program::find(program, &[])?;
    let found = found.ok_or(HomeError::NotSupported { program, package })?;
    if !Path::new(INIT).is_file() {
        return Err(HomeError::NotSupported {
            program: INIT,
            package: "coreutils",
        });
    }
    Ok(found)
}

/// The child of `parent` that runs [`INIT`], once there is one.
pub fn child_running_init(parent: u32) -> Option<u32> {
    let children = format!("/proc/{parent}/task/{parent}/children");
    let children = std::fs::read_to_string(children).ok()?;
    let mut children = children.split_whitespace();
    children.find_map(|child| {
        let line = std::fs::read(format!("/proc/{child}/cmdline")).ok()?;
        let program = line.split(|&byte| byte == 0).next()?;
        (program == INIT.as_bytes()).then(|| child.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_the_program_it_starts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        make(&root).unwrap();
        assert!(root.join("usr").is_dir() && root.join("proc").is_dir());
        assert!(root.join("bin").is_symlink());
        assert_eq!(
            make(&root).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
    }
}
