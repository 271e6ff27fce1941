//! Waiting until what the kernel was doing on every CPU is over.

use std::io;

/// `MEMBARRIER_CMD_GLOBAL` (membarrier(2)).
const GLOBAL: libc::c_int = 1;

/// Returns when every CPU has left the section of the kernel that it was in, e.g. a BPF
/// program on a frame (`synchronize_rcu`): some milliseconds.
///
/// # Errors
/// `InvalidInput` on kernels that keep the timer from some CPUs (`nohz_full`).
pub fn wait_for_every_cpu() -> io::Result<()> {
    // SAFETY: no memory is passed.
    match unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
