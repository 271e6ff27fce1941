//! One kernel module's file: unpacked, and what it states.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection};
use sys::trusted::Untrusted;

const MODULE_BYTES_MAX: u64 = 64 << 20;

/// Memory for unpacking, KiB; the kernel's own limit for a module is 1 MiB
/// of dictionary.
const UNPACK_KIB_MAX: u32 = 128 << 10;

#[derive(Debug, thiserror::Error)]
pub enum ModuleFileError {
    #[error("cannot read the kernel module {}", .path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("a kernel module: {0}")]
    Untrusted(Untrusted),
    #[error("the kernel module {} is larger than {MODULE_BYTES_MAX} bytes", .path.display())]
    TooLarge { path: PathBuf },
    #[error("{} is not a kernel module: {what}", .path.display())]
    NotAModule { path: PathBuf, what: String },
}

/// A module's bytes and the lines of its `.modinfo` that matter here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModuleFile {
    pub(super) elf: Vec<u8>,
    pub(super) depends: Vec<String>,
    pub(super) aliases: Vec<String>,
    pub(super) vermagic: Option<String>,
}

/// Reads `.ko`, `.ko.xz`, `.ko.gz` and `.ko.zst`.
pub(super) fn read(path: &Path) -> Result<ModuleFile, ModuleFileError> {
    let elf = unpack(path)?;
    let lines = modinfo(&elf).map_err(|what| ModuleFileError::NotAModule {
        path: path.to_owned(),
        what,
    })?;
    let all = |key: &'static str| {
        lines
            .iter()
            .filter(move |(name, _)| name == key)
            .map(|(_, value)| value.clone())
    };
    let depends = all("depends")
        .flat_map(|names| names.split(',').map(str::to_owned).collect::<Vec<_>>())
        .filter(|name| !name.is_empty())
        .collect();
    let aliases = all("alias").collect();
    let vermagic = all("vermagic").next();
    Ok(ModuleFile {
        elf,
        depends,
        aliases,
        vermagic,
    })
}

fn unpack(path: &Path) -> Result<Vec<u8>, ModuleFileError> {
    let unreadable = |source| ModuleFileError::Unreadable {
        path: path.to_owned(),
        source,
    };
    match sys::trusted::check(path) {
        Ok(_) => {}
        Err(Untrusted::Unseen { source, .. }) => return Err(unreadable(source)),
        Err(foreign) => return Err(ModuleFileError::Untrusted(foreign)),
    }
    let file = BufReader::new(File::open(path).map_err(unreadable)?);
    let unpacked: Box<dyn Read> = match path.extension().and_then(|word| word.to_str()) {
        Some("xz") => Box::new(lzma_rust2::XzReader::new_mem_limit(
            file,
            true,
            UNPACK_KIB_MAX,
        )),
        Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(file)),
        Some("zst") => Box::new(
            ruzstd::decoding::StreamingDecoder::new(file)
                .map_err(|error| unreadable(io::Error::other(error)))?,
        ),
        _ => Box::new(file),
    };
    let mut elf = Vec::new();
    unpacked
        .take(MODULE_BYTES_MAX + 1)
        .read_to_end(&mut elf)
        .map_err(unreadable)?;
    if elf.len() as u64 > MODULE_BYTES_MAX {
        return Err(ModuleFileError::TooLarge {
            path: path.to_owned(),
        });
    }
    Ok(elf)
}

/// The `key=value` lines of a module's section `.modinfo`.
pub(super) fn modinfo(elf: &[u8]) -> Result<Vec<(String, String)>, String> {
    let file = object::File::parse(elf).map_err(|error| error.to_string())?;
    let section = file
        .section_by_name(".modinfo")
        .ok_or("it has no section .modinfo")?;
    let data = section.data().map_err(|error| error.to_string())?;
    Ok(data
        .split(|byte| *byte == 0)
        .filter_map(|line| {
            let line = String::from_utf8_lossy(line);
            let (key, value) = line.split_once('=')?;
            Some((key.to_owned(), value.to_owned()))
        })
        .collect())
}
