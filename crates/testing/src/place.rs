use std::env::temp_dir;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
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
            for number in 0..count {
                let file = File::create(folder.join(number.to_string())).unwrap();
                match file.try_lock() {
                    Ok(()) => return Self { _locked: file },
                    Err(TryLockError::WouldBlock) => {}
                    Err(TryLockError::Error(error)) => panic!("{error}"),
                }
            }
            sleep(Duration::from_millis(20));
        }
    }
}

fn folder() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    let folder = temp_dir().join(format!("lockgate-test-guests-{user}"));
    // It may be there.
    let _ = fs::create_dir(&folder);
    let found = fs::symlink_metadata(&folder).unwrap();
    let is_own = found.is_dir() && found.uid() == user;
    assert!(is_own, "{} is not of user {user}", folder.display());
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_taken_once() {
        let _place = Place::take();
        let is_locked = |file: fs::DirEntry| {
            let file = File::open(file.path()).unwrap();
            matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
        };
        let mut files = fs::read_dir(folder()).unwrap().flatten();
        assert!(files.any(is_locked));
    }
}
