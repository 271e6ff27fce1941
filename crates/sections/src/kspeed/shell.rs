//! The guest as the section sees it: something that runs scripts, which an
//! interrupt ends at once.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use kit::subject::Stopped;
use sys::failure::Failure;
use trial::{Validity, Verdict};
use vm::Outcome;

/// How often it is checked whether the user wants to stop.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// What is reported of a script's last line, bytes.
const SAID_MAX: usize = 200;

/// Ends a guest from another thread than the one that waits for it.
pub(super) type Stop = Box<dyn Fn() + Send>;

/// Runs scripts, one at a time.
pub(super) trait Shell: Send {
    /// Runs one and waits for its end.
    ///
    /// # Errors
    /// Where there is no guest left that could.
    fn run(&mut self, script: &str, limit: Duration) -> Result<Outcome, Failure>;

    /// What ends the guest, and with it a script that runs.
    fn stop(&self) -> Stop;

    /// CPU time that the guest has used so far on the host, seconds.
    fn cpu_s(&self) -> f64;
}

/// Runs a script on another thread, and ends the guest when the user wants to
/// stop.
///
/// # Errors
/// [`Stopped::Interrupted`], or [`Stopped::Failed`]: the guest is gone.
pub(super) fn run(
    shell: &mut dyn Shell,
    script: &str,
    limit: Duration,
    go_on: &dyn Fn() -> bool,
) -> Result<Outcome, Stopped> {
    if !go_on() {
        return Err(Stopped::Interrupted);
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
            if !is_stopped && !go_on() {
                stop();
                is_stopped = true;
            }
        }
        script.join()
    });
    match output {
        _ if is_stopped => Err(Stopped::Interrupted),
        Ok(output) => output.map_err(Stopped::failed),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// The last line that says something, bounded and without what moves a cursor.
pub(super) fn said(output: &Outcome) -> String {
    let text = output.text();
    let said = text.lines().rev().find(|line| !line.trim().is_empty());
    plain(said.unwrap_or("it printed nothing").trim(), SAID_MAX)
}

/// A text out of the guest, bounded and without what moves a cursor.
pub(super) fn plain(text: &str, bytes_max: usize) -> String {
    let plain = text.chars().filter(|letter| !letter.is_control());
    plain.take(bytes_max).collect()
}

/// Why something gives nothing.
pub(super) fn not_measured(reason: impl Into<String>, remedy: &str) -> Verdict {
    Verdict::new(Validity::NotSupported, reason.into(), remedy)
}
