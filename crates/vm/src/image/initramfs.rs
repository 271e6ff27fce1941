//! The archive that the kernel unpacks as its first root: `newc` cpio
//! (Linux, Documentation/driver-api/early-userspace/buffer-format.rst).
//!
//! The same files make the same bytes: sorted by path, times zero, owner 0.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use cpio::newc::{Builder, ModeFileType};

use super::file::{Content, GuestFile};

/// Maximum size of an image, bytes: it lies in the host's memory and twice, for a
/// moment, in the guest's.
pub const IMAGE_BYTES_MAX: u64 = 1 << 30;

/// Longest path that the kernel unpacks (`N_ALIGN(PATH_MAX)`).
const PATH_BYTES_MAX: usize = 4095;

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error(
        "{path:?} is not a valid path of a guest file: it must begin with /, have no empty, `.` or `..` part, no NUL, and at most {PATH_BYTES_MAX} bytes"
    )]
    BadPath { path: String },
    /// Permissions beyond `0o7777`.
    #[error("{path:?} has mode {mode:o}: permissions are at most 7777")]
    BadMode { path: String, mode: u32 },
    #[error("{path:?} is in the image already, with another content: leave one of them out")]
    Duplicate { path: String },
    #[error("{path:?} lies below {above:?}, which is not a folder in this image")]
    BelowAFile { path: String, above: String },
    #[error("{path:?} of the guest must be a copy of {}, which cannot be read", .host.display())]
    Unreadable {
        path: String,
        host: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "the image passes {IMAGE_BYTES_MAX} bytes with {path:?} ({bytes} bytes): put large files into the running guest, or leave them out"
    )]
    TooLarge { path: String, bytes: u64 },
    #[error("cannot write the archive's entry {path:?}")]
    Entry {
        path: String,
        #[source]
        source: io::Error,
    },
}

#[derive(Debug, Default)]
pub(super) struct Archive {
    files: BTreeMap<String, GuestFile>,
}

impl Archive {
    /// Adds a file. A file that is already there with the same content is taken once.
    pub(super) fn add(&mut self, file: GuestFile) -> Result<(), ArchiveError> {
        check(&file)?;
        self.add_folders_above(&file.path)?;
        match self.files.get(&file.path) {
            None => {
                self.files.insert(file.path.clone(), file);
                Ok(())
            }
            // A folder that was only implied takes the mode that is asked for.
            Some(there) if there.content == Content::Folder && file.content == Content::Folder => {
                self.files.insert(file.path.clone(), file);
                Ok(())
            }
            Some(there) if *there == file => Ok(()),
            Some(_) => Err(ArchiveError::Duplicate { path: file.path }),
        }
    }

    fn add_folders_above(&mut self, path: &str) -> Result<(), ArchiveError> {
        for (end, _) in path.match_indices('/').skip(1) {
            let above = &path[..end];
            let folder = self
                .files
                .entry(above.to_owned())
                .or_insert_with(|| GuestFile::folder(above, 0o755));
            if folder.content != Content::Folder {
                return Err(ArchiveError::BelowAFile {
                    path: path.to_owned(),
                    above: above.to_owned(),
                });
            }
        }
        Ok(())
    }

    pub(super) fn write(self) -> Result<Vec<u8>, ArchiveError> {
        let mut out = Vec::new();
        for (index, file) in (1..).zip(self.files.into_values()) {
            write_entry(&mut out, index, &file)?;
        }
        let path = || "TRAILER!!!".to_owned();
        cpio::newc::trailer(&mut out).map_err(|source| ArchiveError::Entry {
            path: path(),
            source,
        })?;
        Ok(out)
    }
}

fn check(file: &GuestFile) -> Result<(), ArchiveError> {
    let path = &file.path;
    let is_simple = path.strip_prefix('/').is_some_and(|parts| {
        parts
            .split('/')
            .all(|part| !part.is_empty() && part != "." && part != "..")
    });
    if !is_simple || path.contains('\0') || path.len() > PATH_BYTES_MAX {
        return Err(ArchiveError::BadPath { path: path.clone() });
    }
    if file.mode > 0o7777 {
        return Err(ArchiveError::BadMode {
            path: path.clone(),
            mode: file.mode,
        });
    }
    Ok(())
}

fn write_entry(out: &mut Vec<u8>, index: u32, file: &GuestFile) -> Result<(), ArchiveError> {
    let builder = Builder::new(&file.path[1..]).ino(index).mode(file.mode);
    let (builder, bytes) = match &file.content {
        Content::Bytes(bytes) => (
            builder.set_mode_file_type(ModeFileType::Regular),
            bytes.clone(),
        ),
        Content::HostFile(host) => (
            builder.set_mode_file_type(ModeFileType::Regular),
            read_host_file(
                &file.path,
                host,
                IMAGE_BYTES_MAX.saturating_sub(out.len() as u64),
            )?,
        ),
        Content::Symlink(target) => (
            builder.set_mode_file_type(ModeFileType::Symlink),
            target.clone().into_bytes(),
        ),
        Content::Folder => (
            builder.set_mode_file_type(ModeFileType::Directory).nlink(2),
            Vec::new(),
        ),
        Content::Device(major, minor) => (
            builder
                .set_mode_file_type(ModeFileType::Char)
                .rdev_major(*major)
                .rdev_minor(*minor),
            Vec::new(),
        ),
    };
    let too_large = || ArchiveError::TooLarge {
        path: file.path.clone(),
        bytes: bytes.len() as u64,
    };
    if (out.len() + bytes.len()) as u64 > IMAGE_BYTES_MAX {
        return Err(too_large());
    }
    let length = u32::try_from(bytes.len()).map_err(|_| too_large())?;
    let mut writer = builder.write(out, length);
    writer
        .write_all(&bytes)
        .and_then(|()| writer.finish().map(|_| ()))
        .map_err(|source| ArchiveError::Entry {
            path: file.path.clone(),
            source,
        })
}

fn read_host_file(path: &str, host: &Path, room: u64) -> Result<Vec<u8>, ArchiveError> {
    let unreadable = |source| ArchiveError::Unreadable {
        path: path.to_owned(),
        host: host.to_owned(),
        source,
    };
    let file = std::fs::File::open(host).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    if !about.is_file() {
        return Err(unreadable(io::Error::other("it is not a regular file")));
    }
    let mut bytes = Vec::new();
    file.take(room + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > room {
        return Err(ArchiveError::TooLarge {
            path: path.to_owned(),
            bytes: about.len(),
        });
    }
    Ok(bytes)
}
