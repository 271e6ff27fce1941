//! Taps, opened inside a namespace: a link there, a file here.

use std::io;
use std::os::fd::OwnedFd;

pub use sys::tap::TapMode;

use sys::failure::Failure;

use crate::namespace::Namespace;

/// The most queues of a tap: the kernel's own limit.
const QUEUES_MAX: usize = 256;

/// Makes a tap (or TUN) link inside, down, and returns a file for each of its queues;
/// `mode.multi_queue` is set where there are several. Files do not block. The link
/// goes when the last of them is closed, so it needs no journal.
pub fn open_tap(
    namespace: &Namespace,
    name: &str,
    queues: usize,
    mode: TapMode,
) -> Result<Vec<OwnedFd>, Failure> {
    let mode = TapMode {
        multi_queue: mode.multi_queue || queues > 1,
        ..mode
    };
    let open = || {
        if !(1..=QUEUES_MAX).contains(&queues) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        (0..queues).map(|_| sys::tap::open(name, mode)).collect()
    };
    let opened = namespace
        .run(open)
        .map_err(Failure::of(format!("cannot open the tap {name}")))?;
    opened.map_err(Failure::of::<io::Error>(format!(
        "cannot open the tap {name} with {queues} queues in {}; it takes root, /dev/net/tun, a free name of 1 to 15 letters, and 1 to {QUEUES_MAX} queues",
        namespace.name()
    )))
}
