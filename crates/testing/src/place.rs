use std::env::temp_dir;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread::{available_parallelism, sleep};
use std::time::Duration;

/// The right to boot a guest, which tests of all programs share: without KVM a guest
/// keeps a CPU busy, and one that has none is not ready in time.
pub(crate) struct Place {
    _locked: File,
}

impl Place {
    /// Waits for one of as many places as there are CPUs.
    ///
    /// # Panics
    /// Where their folder cannot be made, or is another user's.
    pub(crate) fn take() -> Self {
        let folder = folder();
        let count = available_parallelism().map_or(1, usize::from);
        loop {
            if let Some(place) = (0..count).find_map(|number| Self::at(&folder, number)) {
                return place;
            }
            sleep(Duration::from_millis(20));
        }
    }

    fn at(folder: &Path, number: usize) -> Option<Self> {
        let file = File::create(folder.join(number.to_string()));
        let file = file.expect("the folder is ours to write in");
        match file.try_lock() {
            Ok(()) => Some(Self { _locked: file }),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Error(error)) => panic!("{error}"),
        }
    }
}

fn folder() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    let folder = temp_dir().join(format!("lockgate-test-guests-{user}"));
    // It may be there. Nobody else may hold a lock in it.
    let _ = fs::DirBuilder::new().mode(0o700).create(&folder);
    let found = fs::symlink_metadata(&folder).expect("it is there");
    let is_own = found.is_dir() && found.uid() == user;
    assert!(is_own, "{} is not of user {user}", folder.display());
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_taken_once() {
        // No other's: those that boot guests may hold theirs for long.
        let number = usize::try_from(std::process::id()).unwrap();
        let folder = folder();
        let place = Place::at(&folder, number);
        assert!(place.is_some() && Place::at(&folder, number).is_none());
        drop(place);
        assert!(Place::at(&folder, number).is_some());
        fs::remove_file(folder.join(number.to_string())).unwrap();
    }
}
