//! Stored runs, read back.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sys::failure::Failure;
use trial::Run;

use crate::store::{FILE_BYTES_MAX, LATEST, RESULT};

/// That nothing is there, or something else than a file where a folder must be.
const ABSENT: [io::ErrorKind; 2] = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];

/// Reads the run that `argument` names: a run's folder, a `result.json`, or
/// `latest`, the newest below `root`.
///
/// # Errors
/// Names the file, what is wrong with it, and the remedy.
pub fn load(argument: &str, root: &Path) -> Result<Run, Failure> {
    load_named(argument, &result_path(argument, root))
}

/// Reads the run in a file, such as [`beside`] finds.
///
/// # Errors
/// As [`load`].
pub fn load_file(path: &Path) -> Result<Run, Failure> {
    load_named(&path.display().to_string(), path)
}

fn load_named(argument: &str, path: &Path) -> Result<Run, Failure> {
    let name = path.display();
    let bytes = read(path).map_err(|error| {
        if ABSENT.contains(&error.kind()) {
            return Failure::new(format!(
                "no run at '{argument}': give a run's folder, a result.json, or 'latest' (looked for '{name}')"
            ));
        }
        Failure::of(format!("cannot read '{name}'"))(error)
    })?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(Failure::new(format!(
            "'{name}' has more than {FILE_BYTES_MAX} bytes: it is not a result of Lockgate"
        )));
    }
    // Damaged bytes become characters that no JSON has, so that the error names
    // line and column.
    let text = String::from_utf8_lossy(&bytes);
    Run::read(&text).map_err(Failure::of(format!("cannot use '{name}'")))
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
        if !is_link && is_json(&file) && may_be_file(&file) {
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
    match fs::metadata(path) {
        Ok(metadata) => metadata.is_file(),
        Err(error) => !ABSENT.contains(&error.kind()),
    }
}

fn is_json(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "json")
}

fn result_path(argument: &str, root: &Path) -> PathBuf {
    let path = if argument == LATEST && !Path::new(LATEST).exists() {
        root.join(LATEST)
    } else {
        PathBuf::from(argument)
    };
    match path.is_file() || is_json(&path) {
        true => path,
        false => path.join(RESULT),
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
