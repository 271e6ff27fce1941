//! Taps, opened inside a namespace: a link there, a file here.

use std::io;
use std::os::fd::OwnedFd;

pub use sys::tap::TapMode;

use crate::namespace::{Namespace, NamespaceError};

/// The most queues of a tap: the kernel's own limit.
const QUEUES_MAX: usize = 256;

#[derive(Debug, thiserror::Error)]
pub enum TapError {
    #[error("cannot open the tap {name}")]
    Namespace {
        name: String,
        #[source]
        source: NamespaceError,
    },
    #[error(
        "cannot open the tap {name} with {queues} queues in {namespace}; it takes root, /dev/net/tun, a free name of 1 to 15 letters, and 1 to {QUEUES_MAX} queues"
    )]
    System {
        name: String,
        queues: usize,
        namespace: String,
        #[source]
        source: io::Error,
    },
}

/// Makes a tap (or TUN) link inside, down, and returns a file for each of its queues;
/// `mode.multi_queue` is set where there are several. Files do not block. The link
/// goes when the last of them is closed, so it needs no journal.
pub fn open_tap(
    namespace: &Namespace,
    name: &str,
    queues: usize,
    mode: TapMode,
) -> Result<Vec<OwnedFd>, TapError> {
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
    let opened = namespace.run(open).map_err(|source| TapError::Namespace {
        name: name.to_owned(),
        source,
    })?;
    opened.map_err(|source| TapError::System {
        name: name.to_owned(),
        queues,
        namespace: namespace.name().to_owned(),
        source,
    })
}
