//! Stored runs, read back.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use trial::{Run, SCHEMA_VERSION};

use super::{FILE_BYTES_MAX, LATEST, LoadError, RESULT};

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
    parse(&bytes, path)
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

/// The part of a result that every schema shares.
#[derive(Deserialize)]
struct Head {
    schema: u64,
}

/// The schema is read first: what a newer Lockgate wrote is not malformed.
fn parse(bytes: &[u8], path: PathBuf) -> Result<Run, LoadError> {
    let malformed = |source| LoadError::Malformed {
        path: path.clone(),
        source,
    };
    let Head { schema } = serde_json::from_slice(bytes).map_err(malformed)?;
    if schema > u64::from(SCHEMA_VERSION) {
        return Err(LoadError::TooNew {
            path,
            found: schema,
            known: SCHEMA_VERSION,
        });
    }
    serde_json::from_slice(bytes).map_err(malformed)
}
