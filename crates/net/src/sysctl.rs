//! Settings of a namespace below `/proc/sys/net`.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use sys::failure::Failure;

use crate::namespace::Namespace;

#[derive(Debug, thiserror::Error)]
pub enum SysctlError {
    #[error("'{name}' is not a network setting: use e.g. 'ipv4/ip_forward'")]
    Name { name: String },
    #[error("cannot reach the settings of a namespace")]
    Namespace(#[source] Failure),
    #[error(
        "cannot {what} /proc/sys/net/{name}; it takes root, a kernel that has it, and a value it allows"
    )]
    System {
        what: String,
        name: String,
        #[source]
        source: io::Error,
    },
}

impl Namespace {
    /// Sets `/proc/sys/net/<name>`, e.g. `ipv4/ip_forward`, of this namespace.
    pub fn set_sysctl(&self, name: &str, value: &str) -> Result<(), SysctlError> {
        let path = path(name)?;
        let write = || std::fs::write(&path, value);
        let written = self.run(write).map_err(SysctlError::Namespace)?;
        written.map_err(|source| SysctlError::System {
            what: format!("write '{value}' to"),
            name: name.to_owned(),
            source,
        })
    }

    /// Reads `/proc/sys/net/<name>` of this namespace, without white space at
    /// its end.
    pub fn sysctl(&self, name: &str) -> Result<String, SysctlError> {
        let path = path(name)?;
        let read = || std::fs::read_to_string(&path);
        let read = self.run(read).map_err(SysctlError::Namespace)?;
        let text = read.map_err(|source| SysctlError::System {
            what: "read".to_owned(),
            name: name.to_owned(),
            source,
        })?;
        Ok(text.trim_end().to_owned())
    }
}

/// A setting that is read again and again, at the price of one system call.
#[derive(Debug)]
pub struct Setting(File);

impl Namespace {
    /// Opens `/proc/sys/net/<name>` of this namespace.
    pub fn open_sysctl(&self, name: &str) -> Result<Setting, SysctlError> {
        let path = path(name)?;
        let opened = self.run(|| File::open(&path));
        let opened = opened.map_err(SysctlError::Namespace)?;
        opened.map(Setting).map_err(|source| SysctlError::System {
            what: "open".to_owned(),
            name: name.to_owned(),
            source,
        })
    }
}

impl Setting {
    /// Its value, a number; `None` when its link is gone.
    pub fn number(&self) -> Option<u32> {
        let mut text = [0; 16];
        let length = self.0.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..length])
            .ok()?
            .trim_end()
            .parse()
            .ok()
    }
}

fn path(name: &str) -> Result<std::path::PathBuf, SysctlError> {
    let is_plain = Path::new(name)
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    if name.is_empty() || !is_plain {
        return Err(SysctlError::Name {
            name: name.to_owned(),
        });
    }
    Ok(Path::new("/proc/sys/net").join(name))
}
