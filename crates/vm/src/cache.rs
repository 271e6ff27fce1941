//! The guest cache: kernels, busybox and QEMU, unpacked from Debian packages by
//! `make setup-guests`.

mod error;
mod manifest;

use std::env;
use std::path::{Path, PathBuf};

pub use error::CacheError;

use manifest::Manifest;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// What `uname -r` says in the guest, e.g. `6.1.0-56-amd64`.
    pub release: String,
    /// Debian's version of the package, e.g. `6.1.192-2`.
    pub version: String,
    pub image: PathBuf,
    /// What is `/lib/modules/RELEASE` on an installed system: `kernel/…` and
    /// `modules.builtin`, but no `modules.dep`.
    pub modules: PathBuf,
    pub config: PathBuf,
    pub headers: Option<PathBuf>,
    /// Our module `lockgate_kspeed.ko`, built for this kernel.
    pub kspeed: Option<PathBuf>,
    /// SHA-256 over the sources that module was built from, in hexadecimal.
    pub kspeed_source_sha256: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedQemu {
    pub program: PathBuf,
    pub version: String,
}

/// An opened guest cache: everything its manifest names is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
    kernels: Vec<Kernel>,
    busybox: PathBuf,
    busybox_version: String,
    qemus: Vec<CachedQemu>,
}

impl Cache {
    /// Where the cache is or would be: `$LOCKGATE_GUESTS`, else
    /// `$XDG_CACHE_HOME/lockgate/guests`, else `~/.cache/lockgate/guests`.
    pub fn locate() -> PathBuf {
        let absolute = |name| {
            env::var_os(name)
                .map(PathBuf::from)
                .filter(|folder| folder.is_absolute())
        };
        if let Some(folder) = env::var_os("LOCKGATE_GUESTS").filter(|value| !value.is_empty()) {
            return folder.into();
        }
        // A user without a home has no cache either: the error names this path.
        absolute("XDG_CACHE_HOME")
            .or_else(|| env::home_dir().map(|home| home.join(".cache")))
            .unwrap_or_else(|| "/nonexistent/.cache".into())
            .join("lockgate/guests")
    }

    /// Opens the cache in `folder` by its `manifest.json`, and checks that all it
    /// names lies in the folder, and that only root and this user can change it.
    ///
    /// # Errors
    /// [`CacheError`]: no cache, one that another user owns, a damaged manifest,
    /// one that names files outside the cache or files that are not there.
    pub fn open(folder: &Path) -> Result<Self, CacheError> {
        manifest::open(folder)
    }

    /// Opens the cache at [`Cache::locate`].
    pub fn open_default() -> Result<Self, CacheError> {
        Self::open(&Self::locate())
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernel `release`, which may be shortened to its first numbers (`6.12`);
    /// without one the default kernel.
    ///
    /// # Errors
    /// [`CacheError::NoSuchKernel`].
    pub fn kernel(&self, release: Option<&str>) -> Result<&Kernel, CacheError> {
        let Some(wanted) = release else {
            return Ok(&self.kernels[0]);
        };
        self.kernels
            .iter()
            .find(|kernel| begins_with(&kernel.release, wanted))
            .ok_or_else(|| CacheError::NoSuchKernel {
                wanted: wanted.to_owned(),
                there: self.releases(),
            })
    }

    pub fn busybox(&self) -> &Path {
        &self.busybox
    }

    pub fn busybox_version(&self) -> &str {
        &self.busybox_version
    }

    /// The QEMUs in it; most often none.
    pub fn qemus(&self) -> &[CachedQemu] {
        &self.qemus
    }

    fn releases(&self) -> String {
        let releases: Vec<_> = self.kernels.iter().map(|k| k.release.as_str()).collect();
        releases.join(", ")
    }
}

/// Whether `wanted` is `release` or its beginning up to a dot or a hyphen.
fn begins_with(release: &str, wanted: &str) -> bool {
    !wanted.is_empty()
        && release
            .strip_prefix(wanted)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+']))
}

impl Cache {
    fn from_manifest(folder: PathBuf, manifest: Manifest) -> Result<Self, CacheError> {
        let within = manifest::Folder::new(&folder);
        let kernels = manifest
            .kernels
            .into_iter()
            .map(|kernel| kernel.check(&within))
            .collect::<Result<Vec<_>, _>>()?;
        if kernels.is_empty() {
            return Err(CacheError::NoKernels { folder });
        }
        let qemus = manifest
            .qemus
            .into_iter()
            .map(|qemu| qemu.check(&within))
            .collect::<Result<Vec<_>, _>>()?;
        let busybox = within.file(&manifest.busybox)?;
        Ok(Self {
            folder,
            kernels,
            busybox,
            busybox_version: manifest.busybox_version,
            qemus,
        })
    }
}
