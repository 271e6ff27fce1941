//! How an ELF file is linked: interpreter, libraries, paths.

use std::io;
use std::path::Path;

use object::Endianness;
use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, Machine, PT_INTERP};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};

use super::ProgramError;
use crate::image::IMAGE_BYTES_MAX;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Linking {
    pub(super) machine: Machine,
    /// Path of the dynamic linker; none for libraries and static programs.
    pub(super) interpreter: Option<String>,
    pub(super) needed: Vec<String>,
    /// Folders to look in first; may have `$ORIGIN`.
    pub(super) search: Vec<String>,
}

pub(super) fn read(path: &Path) -> Result<Linking, ProgramError> {
    let bytes = contents(path).map_err(|source| ProgramError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    parse(&bytes).map_err(|what| ProgramError::NotElf {
        path: path.to_owned(),
        what,
    })
}

fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = std::fs::metadata(path)?.len();
    if bytes > IMAGE_BYTES_MAX {
        let what = format!("it has {bytes} bytes, an image at most {IMAGE_BYTES_MAX}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    std::fs::read(path)
}

fn parse(bytes: &[u8]) -> Result<Linking, String> {
    let wrong = |error: object::Error| error.to_string();
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(wrong)?;
    let mut linking = Linking {
        machine: file.elf_header().e_machine(file.endian()),
        interpreter: interpreter(&file, bytes)?,
        needed: Vec::new(),
        search: Vec::new(),
    };
    let table = file.elf_dynamic_table().map_err(wrong)?;
    for entry in &table {
        let text = || {
            let text = table.string(entry).map_err(wrong)?;
            Ok::<_, String>(String::from_utf8_lossy(text).into_owned())
        };
        match entry.tag {
            DT_NEEDED => linking.needed.push(text()?),
            DT_RPATH | DT_RUNPATH => {
                linking.search.extend(text()?.split(':').map(str::to_owned));
            }
            _ => {}
        }
    }
    Ok(linking)
}

fn interpreter(file: &ElfFile64<'_, Endianness>, bytes: &[u8]) -> Result<Option<String>, String> {
    let endian = file.endian();
    let mut segments = file.elf_program_headers().iter();
    let Some(segment) = segments.find(|segment| segment.p_type(endian) == PT_INTERP) else {
        return Ok(None);
    };
    let path = segment
        .data(endian, bytes)
        .map_err(|()| "its interpreter's name lies outside of it")?;
    let path = path.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(Some(String::from_utf8_lossy(path).into_owned()))
}
