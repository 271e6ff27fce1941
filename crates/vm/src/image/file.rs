//! What a guest finds in its image: files, links, folders.

use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Bytes(Vec<u8>),
    HostFile(PathBuf),
    Symlink(String),
    Folder,
    Device(u32, u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFile {
    pub(super) path: String,
    pub(super) mode: u32,
    pub(super) content: Content,
}

impl GuestFile {
    /// A file with this content. `path` is absolute in the guest, `mode` its
    /// permissions, e.g. `0o644`.
    pub fn bytes(path: &str, mode: u32, content: impl Into<Vec<u8>>) -> Self {
        Self::new(path, mode, Content::Bytes(content.into()))
    }

    /// A file with the content that the host's file `from` has when the image
    /// is built.
    pub fn host(path: &str, mode: u32, from: &Path) -> Self {
        Self::new(path, mode, Content::HostFile(from.to_owned()))
    }

    pub fn symlink(path: &str, target: &str) -> Self {
        Self::new(path, 0o777, Content::Symlink(target.to_owned()))
    }

    /// A folder. Those above a file need not be named.
    pub fn folder(path: &str, mode: u32) -> Self {
        Self::new(path, mode, Content::Folder)
    }

    pub(super) fn device(path: &str, mode: u32, major: u32, minor: u32) -> Self {
        Self::new(path, mode, Content::Device(major, minor))
    }

    fn new(path: &str, mode: u32, content: Content) -> Self {
        Self {
            path: path.to_owned(),
            mode,
            content,
        }
    }

    pub fn path(&self) -> &str {
        &self.path
    }
}
