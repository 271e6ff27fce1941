//! A kernel's folder of modules: which there are, which are built in.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::canonical;

/// Deepest folder below the modules' own; a kernel has about eight.
const DEPTH_MAX: usize = 32;

#[derive(Debug, thiserror::Error)]
pub enum ModuleTreeError {
    #[error("cannot read the kernel's modules in {}: `make setup-guests` unpacks them", .path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("no kernel module lies below {}: it must hold what is /lib/modules/RELEASE; `make setup-guests` unpacks it", .path.display())]
    Empty { path: PathBuf },
}

pub(super) struct Tree {
    folder: PathBuf,
    modules: BTreeMap<String, PathBuf>,
    builtin: BTreeSet<String>,
    builtin_text: String,
}

impl Tree {
    pub(super) fn read(folder: &Path) -> Result<Self, ModuleTreeError> {
        let mut modules = BTreeMap::new();
        walk(folder, Path::new(""), 0, &mut modules)?;
        if modules.is_empty() {
            return Err(ModuleTreeError::Empty {
                path: folder.to_owned(),
            });
        }
        let builtin_text = builtin_text(&folder.join("modules.builtin"))?;
        let builtin = builtin_text
            .lines()
            .filter_map(|line| module_name(Path::new(line)))
            .collect();
        Ok(Self {
            folder: folder.to_owned(),
            modules,
            builtin,
            builtin_text,
        })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn module(&self, name: &str) -> Option<&Path> {
        self.modules.get(name).map(PathBuf::as_path)
    }

    pub(super) fn is_builtin(&self, name: &str) -> bool {
        self.builtin.contains(name)
    }

    pub(super) fn builtin_text(&self) -> &str {
        &self.builtin_text
    }
}

/// A kernel without the list has nothing that could be asked for built in.
fn builtin_text(path: &Path) -> Result<String, ModuleTreeError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(ModuleTreeError::Unreadable {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Symbolic links to folders are not followed: `build` and `source` lead out.
fn walk(
    folder: &Path,
    below: &Path,
    depth: usize,
    modules: &mut BTreeMap<String, PathBuf>,
) -> Result<(), ModuleTreeError> {
    let path = folder.join(below);
    let unreadable = |source| ModuleTreeError::Unreadable {
        path: path.clone(),
        source,
    };
    for entry in std::fs::read_dir(&path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let child = below.join(entry.file_name());
        if entry.file_type().map_err(unreadable)?.is_dir() {
            if depth < DEPTH_MAX {
                walk(folder, &child, depth + 1, modules)?;
            }
        } else if let Some(name) = module_name(&child) {
            choose(modules, name, child);
        }
    }
    Ok(())
}

/// Of two modules of one name the one in `updates` counts, as for `depmod`;
/// else the first by path, so that the order of a folder does not matter.
fn choose(modules: &mut BTreeMap<String, PathBuf>, name: String, path: PathBuf) {
    let rank = |path: &Path| (!path.starts_with("updates"), path.to_owned());
    match modules.get(&name) {
        Some(there) if rank(there) <= rank(&path) => {}
        _ => {
            modules.insert(name, path);
        }
    }
}

pub(super) fn module_name(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    let stem = [".ko", ".ko.xz", ".ko.gz", ".ko.zst"]
        .iter()
        .find_map(|end| file.strip_suffix(end))?;
    (!stem.is_empty()).then(|| canonical(stem))
}

/// The path that a module has in the image, where none is compressed.
pub(super) fn uncompressed(path: &Path) -> String {
    let text = path.to_string_lossy();
    let end = text.rfind(".ko").map_or(text.len(), |start| start + 3);
    text[..end].to_owned()
}
