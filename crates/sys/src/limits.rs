//! What the process may have: open files.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open files to the maximum that this process may set itself
/// (`RLIMIT_NOFILE`, soft to hard); returns it and whether that is more than before.
///
/// # Errors
/// From `setrlimit(2)`.
pub fn raise_open_files() -> io::Result<(u64, bool)> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let is_more = current != maximum;
    if is_more {
        let current = maximum;
        setrlimit(Resource::Nofile, Rlimit { current, maximum })?;
    }
    Ok((maximum.unwrap_or(u64::MAX), is_more))
}

pub fn is_too_many_files(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMFILE)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_rises_once() {
        let (limit, _) = raise_open_files().unwrap();
        assert_eq!(raise_open_files().unwrap(), (limit, false));
    }
}
