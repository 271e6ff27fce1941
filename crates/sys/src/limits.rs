//! What the process may have: open files.

use std::io;

/// Raises the limit of open files to the maximum that this process may set itself
/// (`RLIMIT_NOFILE`, soft to hard); returns it and whether that is more than before.
///
/// # Errors
/// From `getrlimit(2)`, `setrlimit(2)`.
pub fn raise_open_files() -> io::Result<(u64, bool)> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: one writable rlimit.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let is_more = limit.rlim_cur < limit.rlim_max;
    if is_more {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: one readable rlimit.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok((limit.rlim_cur, is_more))
}

/// Whether the error means too many open files.
#[must_use]
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
