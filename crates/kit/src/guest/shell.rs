//! The guest as a section sees it: something that runs scripts, which an interrupt
//! ends at once.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use sys::failure::Failure;
use trial::{Validity, Verdict};
use vm::Outcome;

use crate::evidence::Evidence;
use crate::load::rig::Cores;
use crate::observe::CpuTimes;
use crate::subject::Stopped;

/// How often it is checked whether the user wants to stop.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// What is reported of a script's last line, bytes.
const SAID_MAX: usize = 200;

/// Ends a guest from another thread than the one that waits for it.
pub type Stop = Box<dyn Fn() + Send>;

/// Runs scripts, one at a time.
pub trait Shell: Send {
    /// Runs one and waits for its end.
    ///
    /// # Errors
    /// Where there is no guest left that could.
    fn run(&mut self, script: &str, limit: Duration) -> Result<Outcome, Failure>;

    /// What ends the guest, and with it a script that runs.
    fn stop(&self) -> Stop;

    /// CPU time that the guest has used so far on the host, seconds.
    fn cpu_s(&self) -> f64;

    /// CPU time of what it has beside its processors, ns: devices. 0 where that is not
    /// known.
    fn devices_ns(&self) -> u64 {
        0
    }

    /// Stops its CPUs and its clock, or lets them go on: another is measured.
    ///
    /// # Errors
    /// Where there is no guest left.
    fn pause(&mut self, pauses: bool) -> Result<(), Failure>;
}

/// What the host did during a script.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    times: CpuTimes,
    /// Host CPUs that the guest itself kept busy.
    pub guest_cpus: f64,
}

impl Seen {
    /// Of a trial with that many requests in a guest of that many vCPUs, which may use
    /// those host CPUs.
    #[must_use]
    pub fn evidence(self, requests: u64, vcpus: usize, cpus: &[usize]) -> Evidence {
        let end = |cpu: Option<&usize>| cpu.copied().unwrap_or(0);
        // QEMU has a thread a vCPU and one for its devices; CPUs beyond these may do
        // what they like.
        let spare = cpus.len().saturating_sub(vcpus + 1);
        Evidence {
            requests,
            times: self.times,
            step_ns: None,
            pause_ns: 0.0,
            busy_cpus: self.guest_cpus + spare as f64,
            in_flight_bytes: 0,
            cores: Cores {
                worker: end(cpus.first()),
                client: end(cpus.last()),
            },
            cpus: cpus.len(),
            crowd: 0,
            rates: None,
        }
    }
}

/// Looks at CPUs of the host while guests run.
pub struct Watching {
    times: CpuTimes,
    cpu_s: f64,
    begin: Instant,
}

impl Watching {
    /// With the CPU time that the guests have used so far, seconds.
    #[must_use]
    pub fn begin(cpus: &[usize], cpu_s: f64) -> Self {
        Self {
            times: CpuTimes::now(cpus),
            cpu_s,
            begin: Instant::now(),
        }
    }

    /// What the host did since.
    #[must_use]
    pub fn end(self, cpus: &[usize], cpu_s: f64) -> Seen {
        Seen {
            times: CpuTimes::now(cpus).since(self.times),
            guest_cpus: (cpu_s - self.cpu_s) / self.begin.elapsed().as_secs_f64(),
        }
    }
}

/// As [`run`], and what those CPUs of the host did meanwhile.
///
/// # Errors
/// As [`run`].
pub fn watched(
    shell: &mut dyn Shell,
    cpus: &[usize],
    script: &str,
    limit: Duration,
    go_on: &dyn Fn() -> bool,
) -> Result<(Outcome, Seen), Stopped> {
    let watching = Watching::begin(cpus, shell.cpu_s());
    let outcome = run(shell, script, limit, go_on)?;
    let seen = watching.end(cpus, shell.cpu_s());
    Ok((outcome, seen))
}

/// Runs a script on another thread, and ends the guest when the user wants to
/// stop.
///
/// # Errors
/// [`Stopped::Interrupted`], or [`Stopped::Failed`]: the guest is gone.
pub fn run(
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
#[must_use]
pub fn said(output: &Outcome) -> String {
    let text = output.text();
    let said = text.lines().rev().find(|line| !line.trim().is_empty());
    plain(said.unwrap_or("it printed nothing").trim(), SAID_MAX)
}

/// A text out of the guest, bounded and without what moves a cursor.
#[must_use]
pub fn plain(text: &str, bytes_max: usize) -> String {
    let text = sys::plain::one_line(text);
    text.chars().take(bytes_max).collect()
}

/// Why something gives nothing.
pub fn not_measured(reason: impl Into<String>, remedy: &str) -> Verdict {
    Verdict::new(Validity::NotSupported, reason.into(), remedy)
}
