//! Standard output, whatever is behind it.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Looks this often whether a file that took nothing has been closed.
const LOOK: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// Bytes for programs, unfiltered. Nothing is buffered, so nothing fails later.
pub struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_some(io::stdout().as_fd(), bytes, None)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes all of it. A file that takes nothing now is waited for also where it says so
/// instead of waiting (`O_NONBLOCK`): whoever shares it may have set that. `within` limits
/// such waits.
///
/// # Errors
/// From `write(2)`; what went before is written.
pub fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8], within: Option<Duration>) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = write_some(to, bytes, within)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[written..];
    }
    Ok(())
}

fn write_some(to: BorrowedFd<'_>, bytes: &[u8], within: Option<Duration>) -> io::Result<usize> {
    let begin = Instant::now();
    loop {
        match rustix::io::write(to, bytes) {
            Ok(written) => return Ok(written),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if within.is_none_or(|within| begin.elapsed() < within) => {
                let mut file = [PollFd::new(&to, PollFlags::OUT)];
                match poll(&mut file, Some(&LOOK)) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}
