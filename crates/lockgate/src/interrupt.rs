//! Ctrl-C, SIGTERM and SIGHUP: the first asks, a second Ctrl-C ends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;

/// A flag that the first signal sets. Call it before anything is made that must be
/// taken away.
///
/// A Ctrl-C after that ends the process at once, and leaves what there is to the next
/// sweep. The others do not: they come twice of themselves, SIGTERM by timeout(1), and
/// SIGHUP by a shell whose terminal closes and then by the kernel.
///
/// A SIGHUP that was ignored when the process started stays so: nohup(1).
///
/// # Errors
/// When the system refuses the handler.
pub fn flag() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    // In this order: the first signal finds the flag unset and goes on.
    flag::register_conditional_shutdown(
        SIGINT,
        Exit::Interrupted as i32,
        Arc::clone(&interrupted),
    )?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if signal != SIGHUP || !sys::process::is_ignored(signal)? {
            flag::register(signal, Arc::clone(&interrupted))?;
        }
    }
    Ok(interrupted)
}
