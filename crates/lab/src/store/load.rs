//! Stored runs, read back.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use trial::{ReadError, Run};

use crate::store::{FILE_BYTES_MAX, LATEST, LoadError, RESULT};

/// Reads the run that `argument` names: a run's folder, a `result.json`, or
/// `latest`, the newest below `root`.
///
/// # Errors
/// [`LoadError`] naming the file, what is wrong with it, and the remedy.
pub fn load(argument: &str, root: &Path) -> Result<Run, LoadError> {
    let path = result_path(argument, root);
    let bytes = read(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => LoadError::Missing {
            argument: argument.to_owned(),
            path: path.clone(),
        },
        _ => LoadError::Read {
            path: path.clone(),
            source,
        },
    })?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(LoadError::TooLarge { path });
    }
    parse(&bytes).map_err(|source| LoadError::Content { path, source })
}

fn result_path(argument: &str, root: &Path) -> PathBuf {
    let path = if argument == LATEST && !Path::new(LATEST).exists() {
        root.join(LATEST)
    } else {
        PathBuf::from(argument)
    };
    let names_a_file = path.is_file()
        || path
            .extension()
            .is_some_and(|extension| extension == "json");
    if names_a_file {
        path
    } else {
        path.join(RESULT)
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    // One more than allowed, to tell "as large as allowed" from "larger".
    File::open(path)?
        .take(FILE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Damaged bytes become characters that no JSON has, so that the error names
/// line and column.
fn parse(bytes: &[u8]) -> Result<Run, ReadError> {
    Run::read(&String::from_utf8_lossy(bytes))
}
