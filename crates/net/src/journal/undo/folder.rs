//! Folders, in which something of the host may be mounted.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::super::entry::absent_is_fine;
use crate::namespace::unmount_all;

/// Removes a folder with everything in it, except what is mounted inside: a container
/// that was killed may have the host's own files there.
pub fn remove(path: &Path) -> io::Result<()> {
    for mount in mounts_below(path)?.iter().rev() {
        unmount_all(mount)?;
    }
    if let Some(mount) = mounts_below(path)?.first() {
        let reason = format!("{} is still mounted", mount.display());
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, reason));
    }
    absent_is_fine(std::fs::remove_dir_all(path))
}

/// Mount points at or below a path, in the order of their mounting.
fn mounts_below(path: &Path) -> io::Result<Vec<PathBuf>> {
    // A folder may be reached by a link, a mount point is named without.
    let real = match std::fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        other => other?,
    };
    let mounts = std::fs::read("/proc/self/mountinfo")?;
    let mut below: Vec<_> = mounts
        .split(|&byte| byte == b'\n')
        .filter_map(|line| line.split(|&byte| byte == b' ').nth(4))
        .map(unescaped)
        .collect();
    below.retain(|mount| mount.starts_with(&real));
    Ok(below)
}

/// Space, tab, line feed and backslash are three octal digits after a
/// backslash, proc(5).
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.first_chunk::<3>().and_then(octal);
        match (byte, code) {
            (b'\\', Some(code)) => {
                bytes.push(code);
                rest = &after[3..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    OsString::from_vec(bytes).into()
}

fn octal(digits: &[u8; 3]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_as_they_are_named() {
        assert_eq!(unescaped(b"/a\\040b\\134c"), Path::new("/a b\\c"));
        assert_eq!(unescaped(b"/a\\9\\04"), Path::new("/a\\9\\04"));
        let root = mounts_below(Path::new("/")).unwrap();
        assert!(root.contains(&PathBuf::from("/proc")), "{root:?}");
        assert_eq!(
            mounts_below(Path::new("/nowhere")).unwrap(),
            [""; 0].map(PathBuf::from)
        );
    }
}
