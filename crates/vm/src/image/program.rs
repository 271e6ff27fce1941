//! A program of the host as guest files: itself, its interpreter, and the
//! shared libraries that it needs.
//!
//! The libraries are found as the dynamic linker finds them (ld.so(8)), the
//! cache aside: by the paths in the files, then in the usual folders. In the
//! guest they all lie in one folder, which `/init` names in
//! `LD_LIBRARY_PATH`.

mod elf;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::file::GuestFile;
use elf::Linking;

const GUEST_FOLDER: &str = "/usr/lib/lockgate";

#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("cannot read {}", .path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is no ELF program or library: {what}", .path.display())]
    NotElf { path: PathBuf, what: String },
    /// A library is in none of the folders.
    #[error("{library} is needed by {} and lies in none of {searched:?}: install it, or take a static program", .needed_by.display())]
    NoLibrary {
        library: String,
        needed_by: PathBuf,
        searched: Vec<PathBuf>,
    },
}

#[derive(Clone, Debug)]
pub struct HostProgram {
    program: PathBuf,
    libraries: Vec<String>,
}

impl HostProgram {
    pub fn new(program: &Path) -> Self {
        Self {
            program: program.to_owned(),
            libraries: Vec::new(),
        }
    }

    /// The program that runs now.
    ///
    /// # Errors
    ///
    /// [`ProgramError::Unreadable`] if its file has no name any more.
    pub fn running() -> Result<Self, ProgramError> {
        let link = Path::new("/proc/self/exe");
        let path = std::fs::read_link(link).map_err(|source| ProgramError::Unreadable {
            path: link.to_owned(),
            source,
        })?;
        Ok(Self::new(&path))
    }

    /// A library that the program opens by name while it runs (`dlopen`), with its
    /// dependencies. Where the host has none it is left out, as the program must
    /// expect.
    #[must_use]
    pub fn opens(mut self, library: &str) -> Self {
        self.libraries.push(library.to_owned());
        self
    }

    /// The program as `guest_path`, its interpreter where the program expects
    /// it, and each library once.
    ///
    /// # Errors
    ///
    /// [`ProgramError`] for a file that cannot be read or is no ELF file, and
    /// for a library that is not found.
    pub fn files(&self, guest_path: &str) -> Result<Vec<GuestFile>, ProgramError> {
        let linking = elf::read(&self.program)?;
        let mut files = vec![GuestFile::host(guest_path, 0o755, &self.program)];
        if let Some(interpreter) = &linking.interpreter {
            let host = Path::new(interpreter);
            files.push(GuestFile::host(interpreter, 0o755, host));
        }
        let mut found = BTreeMap::new();
        for library in &self.libraries {
            if let Ok(path) = search(library, &self.program, &linking) {
                collect(library, path, &mut found)?;
            }
        }
        collect_needed(&self.program, &linking, &mut found)?;
        files.extend(
            found.iter().map(|(name, path)| {
                GuestFile::host(&format!("{GUEST_FOLDER}/{name}"), 0o755, path)
            }),
        );
        Ok(files)
    }
}

/// Takes a library and what it needs. Each is visited once, so cycles end.
fn collect(
    name: &str,
    path: PathBuf,
    found: &mut BTreeMap<String, PathBuf>,
) -> Result<(), ProgramError> {
    if found.contains_key(name) {
        return Ok(());
    }
    let linking = elf::read(&path)?;
    found.insert(name.to_owned(), path.clone());
    collect_needed(&path, &linking, found)
}

fn collect_needed(
    of: &Path,
    linking: &Linking,
    found: &mut BTreeMap<String, PathBuf>,
) -> Result<(), ProgramError> {
    for name in &linking.needed {
        let path = search(name, of, linking)?;
        collect(name, path, found)?;
    }
    Ok(())
}

fn search(library: &str, needed_by: &Path, linking: &Linking) -> Result<PathBuf, ProgramError> {
    let folder = needed_by.parent().unwrap_or(Path::new("/"));
    let own = linking.search.iter().map(|path| {
        let origin = folder.to_string_lossy();
        PathBuf::from(
            path.replace("${ORIGIN}", &origin)
                .replace("$ORIGIN", &origin),
        )
    });
    let usual = sys::library::FOLDERS
        .map(|path| PathBuf::from(path.replace("{machine}", std::env::consts::ARCH)));
    let searched: Vec<PathBuf> = own.chain(usual).collect();
    let fits = |path: &PathBuf| elf::read(path).is_ok_and(|other| other.machine == linking.machine);
    searched
        .iter()
        .map(|folder| folder.join(library))
        .find(fits)
        .ok_or(ProgramError::NoLibrary {
            library: library.to_owned(),
            needed_by: needed_by.to_owned(),
            searched,
        })
}
