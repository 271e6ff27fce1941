//! Files that outlive a run: what was measured once and holds on. Nothing is read that
//! another user could have written, nor written where another may have put a link.

use std::fs;
use std::path::{Path, PathBuf};

use sys::files::write_atomically;
use sys::trusted::check;

/// No such file is longer; nothing longer is read.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// `LOCKGATE_CACHE`, else `lockgate` in the user's cache folder.
///
/// # Errors
/// In words, when the environment names none.
pub fn folder() -> Result<PathBuf, String> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let under = |name: &str, rest: &str| set(name).map(|base| PathBuf::from(base).join(rest));
    set("LOCKGATE_CACHE")
        .map(PathBuf::from)
        .or_else(|| under("XDG_CACHE_HOME", "lockgate"))
        .or_else(|| under("HOME", ".cache/lockgate"))
        .filter(|folder| folder.is_absolute())
        .ok_or_else(|| {
            "neither LOCKGATE_CACHE, XDG_CACHE_HOME nor HOME names a folder; set HOME".to_owned()
        })
}

/// The text of a file; `None` where there is none that can be trusted.
pub fn read(path: &Path) -> Option<String> {
    check(path).ok()?;
    let is_file = |found: &fs::Metadata| found.is_file() && found.len() <= FILE_BYTES_MAX;
    fs::metadata(path).ok().filter(is_file)?;
    fs::read_to_string(path).ok()
}

/// Keeps a file, in a folder that is made where it is missing.
///
/// # Errors
/// In words, with the path and the remedy.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    match check(folder) {
        Err(error) if error.is_foreign() => return Err(error.to_string()),
        _ => {}
    }
    fs::create_dir_all(folder)
        .and_then(|()| Ok(check(folder)?))
        .and_then(|_| write_atomically(path, bytes, false))
        .map_err(|error| format!("{}: {error}; make it writable", path.display()))
}
