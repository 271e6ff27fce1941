//! Whether what a path names may be executed, loaded or trusted: only root
//! and this process's user can have put it there (as `StrictModes` of sshd(8)).
//!
//! Each part of the way is looked at, from `/` on: every folder, every link
//! with the folder that it lies in, and the file. Each must belong to root or
//! to the effective user, and no other user may write to it. A folder that others
//! may write to is passed through where it is sticky, as `/tmp` is: what is
//! ours in it no other user can move. So after a check only root and this user
//! can change what the path names, and no time lies between check and use in
//! which another user could.
//!
//! Where an access control list lets others write, the group's bit shows it,
//! acl(5).

mod group;
#[cfg(all(test, not(loom)))]
mod tests;

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Links are followed up to the kernel's own maximum, path_resolution(7).
const LINKS_MAX: usize = 40;
const STICKY: u32 = 0o1000;

/// Why a path must not be used.
#[derive(Debug, thiserror::Error)]
pub enum Untrusted {
    #[error(
        "{} is not used: {} belongs to uid {owner}, neither root nor this user; run as uid {owner}, or `chown -h {us} {}`",
        wanted.display(), part.display(), part.display()
    )]
    Owner {
        wanted: PathBuf,
        part: PathBuf,
        owner: u32,
        us: u32,
    },
    #[error(
        "{} is not used: others than its owner may write to {} (mode {mode:o}, gid {group}); `chmod go-w {}`",
        wanted.display(), part.display(), part.display()
    )]
    Writable {
        wanted: PathBuf,
        part: PathBuf,
        mode: u32,
        group: u32,
    },
    #[error("cannot look at {}; correct the path, or allow this user to read it", part.display())]
    Unseen {
        part: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl Untrusted {
    /// Whether the path ends where nothing exists. The path up to there is trusted:
    /// only root and this user can make what is missing, sticky folders aside.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Unseen { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether another user can change it.
    pub fn is_foreign(&self) -> bool {
        !matches!(self, Self::Unseen { .. })
    }

    pub(crate) fn of(mut self, other: &Path) -> Self {
        match &mut self {
            Self::Owner { wanted, .. } | Self::Writable { wanted, .. } => {
                other.clone_into(wanted);
            }
            Self::Unseen { .. } => {}
        }
        self
    }
}

impl From<Untrusted> for io::Error {
    fn from(error: Untrusted) -> Self {
        let kind = match &error {
            Untrusted::Unseen { source, .. } => source.kind(),
            _ => io::ErrorKind::PermissionDenied,
        };
        Self::new(kind, error)
    }
}

/// The target of `path`, absolute and without links, if it may be trusted.
///
/// # Errors
/// [`Untrusted`], with the first part of the way that is at fault.
pub fn check(path: &Path) -> Result<PathBuf, Untrusted> {
    walk(path, effective_user(), Place::End)
}

/// As [`check`], for a folder into which others may also put files, if it is sticky:
/// new files there are this user's.
pub fn check_shared(folder: &Path) -> Result<PathBuf, Untrusted> {
    walk(folder, effective_user(), Place::Way)
}

pub(crate) fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn walk(wanted: &Path, us: u32, last: Place) -> Result<PathBuf, Untrusted> {
    let look = |part: &Path| fs::symlink_metadata(part).map_err(|source| unseen(part, source));
    let path = std::path::absolute(wanted).map_err(|source| unseen(wanted, source))?;
    let mut real = PathBuf::from("/");
    let mut links = 0;
    judge(wanted, &real, &look(&real)?, us, Place::Way)?;
    let mut ahead = Vec::new();
    push(&mut ahead, &path);
    while let Some(name) = ahead.pop() {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(name);
        let found = look(&next)?;
        judge(wanted, &next, &found, us, Place::Way)?;
        if !found.is_symlink() {
            real = next;
            continue;
        }
        links += 1;
        if links > LINKS_MAX {
            return Err(unseen(&next, io::Error::from_raw_os_error(libc::ELOOP)));
        }
        let target = fs::read_link(&next).map_err(|source| unseen(&next, source))?;
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        push(&mut ahead, &target);
    }
    judge(wanted, &real, &look(&real)?, us, last)?;
    Ok(real)
}

fn push(ahead: &mut Vec<OsString>, path: &Path) {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
        _ => None,
    });
    let names: Vec<OsString> = names.collect();
    ahead.extend(names.into_iter().rev());
}

fn unseen(part: &Path, source: io::Error) -> Untrusted {
    Untrusted::Unseen {
        part: part.to_owned(),
        source,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Way,
    End,
}

fn judge(
    wanted: &Path,
    part: &Path,
    found: &Metadata,
    us: u32,
    place: Place,
) -> Result<(), Untrusted> {
    let owner = found.uid();
    if owner != 0 && owner != us {
        return Err(Untrusted::Owner {
            wanted: wanted.to_owned(),
            part: part.to_owned(),
            owner,
            us,
        });
    }
    let mode = found.mode() & 0o7777;
    let is_kept = found.is_dir() && mode & STICKY != 0 && place == Place::Way;
    // A link's own mode means nothing, symlink(7).
    if found.is_symlink() || is_kept {
        return Ok(());
    }
    let group = found.gid();
    if mode & 0o002 != 0 || mode & 0o020 != 0 && !group::is_ours(group, us) {
        return Err(Untrusted::Writable {
            wanted: wanted.to_owned(),
            part: part.to_owned(),
            mode,
            group,
        });
    }
    Ok(())
}
