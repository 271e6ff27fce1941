//! Stored runs, read back.

use std::fs::{self, File};
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
    load_named(argument, result_path(argument, root))
}

/// Reads the run in a file, such as [`beside`] finds.
///
/// # Errors
/// As [`load`].
pub fn load_file(path: &Path) -> Result<Run, LoadError> {
    load_named(&path.display().to_string(), path.to_owned())
}

fn load_named(argument: &str, path: PathBuf) -> Result<Run, LoadError> {
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

/// The files of the runs that lie beside the one that `argument` names, as
/// [`load`] takes it: for a run's folder the other runs' folders, for a file of
/// another name the other `.json` files. The nearest by name come first: names
/// of runs begin with the time.
///
/// # Errors
/// Whatever keeps the folder from being listed.
pub fn beside(argument: &str, root: &Path) -> io::Result<Vec<PathBuf>> {
    let own = fs::canonicalize(result_path(argument, root))?;
    let is_in_folder = own.ends_with(RESULT);
    let entry = own.parent().filter(|_| is_in_folder).unwrap_or(&own);
    let Some(folder) = entry.parent() else {
        return Ok(vec![]);
    };
    let mut files = vec![];
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let file = match is_in_folder {
            true => path.join(RESULT),
            false => path,
        };
        // A link, such as `latest`, names what lies here anyway.
        let is_link = entry.file_type()?.is_symlink();
        let has_name = file
            .extension()
            .is_some_and(|extension| extension == "json");
        if !is_link && has_name && may_be_file(&file) {
            files.push(file);
        }
    }
    files.sort();
    let place = files.iter().position(|file| *file == own).unwrap_or(0);
    let mut near: Vec<_> = files.into_iter().enumerate().collect();
    near.sort_by_key(|(at, _)| at.abs_diff(place));
    let files = near.into_iter().map(|(_, file)| file);
    Ok(files.filter(|file| *file != own).collect())
}

/// Whether a file is there, or something that cannot be looked at: reading it
/// then says why.
fn may_be_file(path: &Path) -> bool {
    let absent = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    match fs::metadata(path) {
        Ok(metadata) => metadata.is_file(),
        Err(error) => !absent.contains(&error.kind()),
    }
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
