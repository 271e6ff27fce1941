//! Kernel modules: found by name, put in the order in which they can be
//! loaded, written with what `modprobe` reads.
//!
//! A module's own `depends=` is followed. Soft dependencies are not: what
//! they name the kernel asks for by itself, through `modprobe` and the aliases
//! written here, once it is wanted.

mod info;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use info::ModuleFile;
pub use info::ModuleFileError;
pub use tree::ModuleTreeError;
use tree::Tree;

use super::file::GuestFile;

#[derive(Debug, thiserror::Error)]
pub enum ModulesError {
    #[error(
        "kernel {release} has no module {name:?}{}: look for its name in its modules' folder, or take another kernel",
        because_of(.needed_by)
    )]
    Unknown {
        name: String,
        needed_by: Option<String>,
        release: String,
    },
    #[error(transparent)]
    File(#[from] ModuleFileError),
    #[error(transparent)]
    Tree(#[from] ModuleTreeError),
    #[error("{} was built for {found:?}, the kernel is {release}: build it against that kernel's headers", .path.display())]
    OtherKernel {
        path: PathBuf,
        found: String,
        release: String,
    },
}

fn because_of(needed_by: &Option<String>) -> String {
    needed_by.as_ref().map_or_else(String::new, |module| {
        format!(" (which {module} depends on)")
    })
}

/// One name for `aesni-intel` and `aesni_intel`.
fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

#[derive(Clone, Debug)]
pub(super) enum Wanted {
    Named(String),
    File(PathBuf),
}

struct Chosen {
    /// Below `/lib/modules/RELEASE`.
    path: String,
    file: ModuleFile,
}

pub(super) struct Modules<'a> {
    release: &'a str,
    tree: Tree,
    chosen: BTreeMap<String, Chosen>,
    boot: Vec<String>,
}

impl<'a> Modules<'a> {
    /// `folder` is `/lib/modules/RELEASE` in the guest.
    pub(super) fn new(folder: &std::path::Path, release: &'a str) -> Result<Self, ModulesError> {
        Ok(Self {
            release,
            tree: Tree::read(folder)?,
            chosen: BTreeMap::new(),
            boot: Vec::new(),
        })
    }

    /// Takes a module and all that it depends on; loads them at boot, or
    /// leaves them to `modprobe`.
    pub(super) fn add(&mut self, wanted: &Wanted, at_boot: bool) -> Result<(), ModulesError> {
        let name = match wanted {
            Wanted::Named(name) => canonical(name),
            Wanted::File(path) => self.add_file(path)?,
        };
        let mut order = Vec::new();
        self.visit(&name, None, &mut BTreeSet::new(), &mut order)?;
        if at_boot {
            for name in order {
                if !self.boot.contains(&name) {
                    self.boot.push(name);
                }
            }
        }
        Ok(())
    }

    fn add_file(&mut self, path: &std::path::Path) -> Result<String, ModulesError> {
        let file = info::read(path)?;
        let found = file.vermagic.clone().unwrap_or_default();
        if found.split(' ').next() != Some(self.release) {
            return Err(ModulesError::OtherKernel {
                path: path.to_owned(),
                found,
                release: self.release.to_owned(),
            });
        }
        let name = tree::module_name(path).ok_or_else(|| ModuleFileError::NotAModule {
            path: path.to_owned(),
            what: "its name does not end with .ko, .ko.xz, .ko.gz or .ko.zst".to_owned(),
        })?;
        let path = format!("updates/{name}.ko");
        self.chosen.insert(name.clone(), Chosen { path, file });
        Ok(name)
    }

    /// Depth first, so that `order` has each module behind what it depends
    /// on. Those being visited are marked: a cycle ends there.
    fn visit(
        &mut self,
        name: &str,
        needed_by: Option<&str>,
        visited: &mut BTreeSet<String>,
        order: &mut Vec<String>,
    ) -> Result<(), ModulesError> {
        if !visited.insert(name.to_owned()) || !self.choose(name, needed_by)? {
            return Ok(());
        }
        for other in self.depends(name) {
            self.visit(&other, Some(name), visited, order)?;
        }
        order.push(name.to_owned());
        Ok(())
    }

    fn choose(&mut self, name: &str, needed_by: Option<&str>) -> Result<bool, ModulesError> {
        if self.chosen.contains_key(name) {
            return Ok(true);
        }
        let Some(below) = self.tree.module(name) else {
            return if self.tree.is_builtin(name) {
                Ok(false)
            } else {
                Err(ModulesError::Unknown {
                    name: name.to_owned(),
                    needed_by: needed_by.map(str::to_owned),
                    release: self.release.to_owned(),
                })
            };
        };
        let file = info::read(&self.tree.folder().join(below))?;
        let path = tree::uncompressed(below);
        self.chosen.insert(name.to_owned(), Chosen { path, file });
        Ok(true)
    }

    fn depends(&self, name: &str) -> Vec<String> {
        self.chosen.get(name).map_or_else(Vec::new, |chosen| {
            chosen
                .file
                .depends
                .iter()
                .map(|name| canonical(name))
                .collect()
        })
    }

    /// All that a module depends on, the nearest first: so `modprobe` reads it.
    fn depends_on_all(&self, name: &str) -> Vec<&str> {
        let mut order = Vec::new();
        self.visit_chosen(name, &mut BTreeSet::new(), &mut order);
        order.pop();
        order.reverse();
        order
    }

    fn visit_chosen<'b>(
        &'b self,
        name: &str,
        visited: &mut BTreeSet<String>,
        order: &mut Vec<&'b str>,
    ) {
        let Some(chosen) = self.chosen.get(name) else {
            return;
        };
        if visited.insert(name.to_owned()) {
            for other in self.depends(name) {
                self.visit_chosen(&other, visited, order);
            }
            order.push(&chosen.path);
        }
    }

    /// The modules' files, what `modprobe` reads, and the list for `/init`.
    pub(super) fn into_files(self) -> Vec<GuestFile> {
        let folder = format!("/lib/modules/{}", self.release);
        let mut dependencies = String::new();
        let mut aliases = String::new();
        for (name, chosen) in &self.chosen {
            let _ = write!(dependencies, "{}:", chosen.path);
            for other in self.depends_on_all(name) {
                let _ = write!(dependencies, " {other}");
            }
            dependencies.push('\n');
            for alias in &chosen.file.aliases {
                let _ = writeln!(aliases, "alias {alias} {name}");
            }
        }
        let boot: String = self
            .boot
            .iter()
            .map(|name| format!("{name} {folder}/{}\n", self.chosen[name].path))
            .collect();
        let text = |path: String, text: &str| GuestFile::bytes(&path, 0o644, text);
        let mut files = vec![
            text(format!("{folder}/modules.dep"), &dependencies),
            text(format!("{folder}/modules.alias"), &aliases),
            text(
                format!("{folder}/modules.builtin"),
                self.tree.builtin_text(),
            ),
            text("/etc/lockgate/modules".to_owned(), &boot),
        ];
        files.extend(self.chosen.into_values().map(|chosen| {
            GuestFile::bytes(&format!("{folder}/{}", chosen.path), 0o644, chosen.file.elf)
        }));
        files
    }
}
