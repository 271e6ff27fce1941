//! `manifest.json` of the guest cache. Whoever can write the cache could name
//! any file in it, so each path is checked before it is used.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use sys::trusted::{Untrusted, check};

use super::{Cache, CacheError, CachedQemu, Kernel};

const FILE_NAME: &str = "manifest.json";

const SCHEMA: u64 = 1;

/// A manifest with every kernel of Debian would have a tenth of this.
const BYTES_MAX: u64 = 1 << 20;

/// The one field that tells whether the others can be read.
#[derive(serde::Deserialize)]
struct Schema {
    schema: u64,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    #[serde(rename = "schema")]
    _schema: u64,
    #[serde(rename = "mirror")]
    _mirror: String,
    #[serde(rename = "packages")]
    _packages: Vec<serde::de::IgnoredAny>,
    pub(super) kernels: Vec<ManifestKernel>,
    pub(super) busybox: String,
    pub(super) busybox_version: String,
    pub(super) qemus: Vec<ManifestQemu>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ManifestKernel {
    release: String,
    version: String,
    image: String,
    modules: String,
    config: String,
    headers: Option<String>,
    kspeed: Option<String>,
    kspeed_source_sha256: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ManifestQemu {
    program: String,
    version: String,
}

/// Reads the manifest in `folder` and checks what it names.
pub(super) fn open(folder: &Path) -> Result<Cache, CacheError> {
    let absent = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => CacheError::Absent {
            folder: folder.to_owned(),
        },
        _ => CacheError::Unreadable {
            path: folder.to_owned(),
            source,
        },
    };
    let real = check(folder).map_err(|error| unseen(error, absent))?;
    let path = real.join(FILE_NAME);
    check(&path).map_err(|error| unseen(error, absent))?;
    let text = read_bounded(&path, File::open(&path).map_err(absent)?)?;
    Cache::from_manifest(real, parse(&path, &text)?)
}

/// The file system's error, or that it belongs to another user.
fn unseen(error: Untrusted, otherwise: impl FnOnce(io::Error) -> CacheError) -> CacheError {
    match error {
        Untrusted::Unseen { source, .. } => otherwise(source),
        foreign => CacheError::Untrusted(foreign),
    }
}

fn read_bounded(path: &Path, file: File) -> Result<Vec<u8>, CacheError> {
    let mut text = Vec::new();
    file.take(BYTES_MAX + 1)
        .read_to_end(&mut text)
        .map_err(|source| CacheError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
    if text.len() as u64 > BYTES_MAX {
        return Err(CacheError::TooLarge {
            path: path.to_owned(),
            limit_bytes: BYTES_MAX,
        });
    }
    Ok(text)
}

fn parse(path: &Path, text: &[u8]) -> Result<Manifest, CacheError> {
    let malformed = |source| CacheError::Malformed {
        path: path.to_owned(),
        source,
    };
    let Schema { schema } = serde_json::from_slice(text).map_err(malformed)?;
    if schema != SCHEMA {
        return Err(CacheError::Schema {
            path: path.to_owned(),
            found: schema,
            known: SCHEMA,
        });
    }
    serde_json::from_slice(text).map_err(malformed)
}

pub(super) struct Folder<'a> {
    path: &'a Path,
}

impl<'a> Folder<'a> {
    pub(super) fn new(path: &'a Path) -> Self {
        Self { path }
    }

    pub(super) fn file(&self, relative: &str) -> Result<PathBuf, CacheError> {
        self.resolve(relative, Path::is_file)
    }

    fn folder(&self, relative: &str) -> Result<PathBuf, CacheError> {
        self.resolve(relative, Path::is_dir)
    }

    fn resolve(
        &self,
        relative: &str,
        is_kind: impl Fn(&Path) -> bool,
    ) -> Result<PathBuf, CacheError> {
        let outside = || CacheError::Outside {
            path: relative.to_owned(),
            folder: self.path.to_owned(),
        };
        let stays = |part| matches!(part, Component::Normal(_));
        if relative.is_empty() || !Path::new(relative).components().all(stays) {
            return Err(outside());
        }
        let path = self.path.join(relative);
        match check(&path) {
            Ok(real) if !real.starts_with(self.path) => Err(outside()),
            Ok(real) if is_kind(&real) => Ok(real),
            Ok(_) => Err(CacheError::Missing { path }),
            Err(error) => Err(unseen(error, |source| match source.kind() {
                io::ErrorKind::PermissionDenied => CacheError::Unreadable { path, source },
                _ => CacheError::Missing { path },
            })),
        }
    }
}

impl ManifestKernel {
    pub(super) fn check(self, within: &Folder<'_>) -> Result<Kernel, CacheError> {
        if !is_release(&self.release) {
            return Err(CacheError::Release {
                release: self.release,
            });
        }
        let folder = |path: &String| within.folder(path);
        let file = |path: &String| within.file(path);
        Ok(Kernel {
            image: within.file(&self.image)?,
            modules: within.folder(&self.modules)?,
            config: within.file(&self.config)?,
            headers: self.headers.as_ref().map(folder).transpose()?,
            kspeed: self.kspeed.as_ref().map(file).transpose()?,
            release: self.release,
            version: self.version,
            kspeed_source_sha256: self.kspeed_source_sha256,
        })
    }
}

impl ManifestQemu {
    pub(super) fn check(self, within: &Folder<'_>) -> Result<CachedQemu, CacheError> {
        Ok(CachedQemu {
            program: within.file(&self.program)?,
            version: self.version,
        })
    }
}

fn is_release(release: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".+-_~".contains(&byte);
    release.starts_with(|first: char| first.is_ascii_digit())
        && release.len() <= 64
        && release.bytes().all(is_part)
}
