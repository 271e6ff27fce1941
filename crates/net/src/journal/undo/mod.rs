//! How things that outlive a process are removed.

use std::time::Duration;

pub(super) mod cgroup;
pub(super) mod container;
pub(super) mod device;
pub(super) mod folder;
pub(crate) mod process;

/// How long a container's runtime, or a killed process, may take to be gone.
const UNDO_WAIT: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(5);
