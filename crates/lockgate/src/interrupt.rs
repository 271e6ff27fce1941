//! Ctrl-C and SIGTERM: the first asks, the second ends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;

/// A flag that the first signal sets; the second ends the process at once.
///
/// # Errors
/// When the system refuses the handler.
pub fn flag() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag unset and goes on.
        flag::register_conditional_shutdown(
            signal,
            Exit::Interrupted as i32,
            Arc::clone(&interrupted),
        )?;
        flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}
