//! Scripts that an interrupt ends at once.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use trial::Sink;

use crate::kspeed::shell::{Lost, Output, Shell};

/// So often somebody looks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Why a script has no output.
#[derive(Debug)]
pub(super) enum Unfinished {
    /// The user stopped; the guest is gone.
    Interrupted,
    /// The guest is gone by itself.
    Lost(Lost),
}

/// Runs a script on another thread and ends the guest when the user wants to
/// stop.
pub(super) fn run(
    shell: &mut dyn Shell,
    sink: &dyn Sink,
    script: &str,
    limit: Duration,
) -> Result<Output, Unfinished> {
    if sink.is_interrupted() {
        return Err(Unfinished::Interrupted);
    }
    let stop = shell.stop();
    let (end, ended) = mpsc::channel::<()>();
    let mut is_stopped = false;
    let output = thread::scope(|scope| {
        let script = scope.spawn(move || {
            // Dropped at the script's end, also at a panic.
            let _end = end;
            shell.run(script, limit)
        });
        while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            if !is_stopped && sink.is_interrupted() {
                stop();
                is_stopped = true;
            }
        }
        script.join()
    });
    if is_stopped {
        return Err(Unfinished::Interrupted);
    }
    match output {
        Ok(output) => output.map_err(Unfinished::Lost),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
