//! Guests that sections measure in: what they are made of, how they are booted, how
//! they run scripts.

pub mod crypto;
mod herd;
pub mod kspeed;
mod shell;

use std::fs;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use sys::failure::Failure;
use trial::{Finding, PlanError, Weight};
use vm::image::Image;
use vm::{Accelerator, Cache, Guest, GuestError, Kernel, Outcome, Qemu, Run, Shape};

use crate::ConfigError;
use crate::spot::Spot;
use crate::subject::Stopped;
use crate::words::finding;

pub use herd::{Herd, Member};
use shell::LOOK;
pub use shell::{Seen, Shell, Stop, Watching, not_measured, plain, run, said, watched};

/// Longer than any plan: what is left of a guest then is killed.
pub const TIME_LIMIT: Duration = Duration::from_secs(4 * 3600);
/// QEMU, kernel and first script of an emulated guest, and its end, seconds.
pub const BOOT_S: f64 = 8.0;
/// What tcrypt prints at most, and more.
const OUTPUT_BYTES_MAX: u64 = 4 << 20;
/// The unit of time in /proc on x86.
const TICKS_PER_S: f64 = 100.0;
/// The status of a script that went past a limit.
const KILLED: i32 = 128 + 9;
/// Fields of /proc/PID/stat behind the program's name, which may hold spaces.
const USER_TIME: usize = 11;

/// What a guest is made of.
#[derive(Clone, Debug)]
pub struct Parts {
    cache: Cache,
    pub kernel: Kernel,
    qemu: Qemu,
}

impl Parts {
    /// What this host has; of kernels the one of that release, or the first.
    ///
    /// # Errors
    /// [`PlanError::NotSupported`] says what is missing and how to get it.
    pub fn find(release: &str) -> Result<Self, PlanError> {
        let setup = "make setup-guests";
        let cache = Cache::open_default().map_err(|error| absent(error, setup))?;
        let release = (!release.is_empty()).then_some(release);
        let kernel = cache.kernel(release);
        let kernel = kernel.map_err(|error| absent(error, setup))?.clone();
        let qemu = Qemu::find(Some(&cache));
        let qemu = qemu.map_err(|error| absent(error, "apt-get install qemu-system-x86"))?;
        Ok(Self {
            cache,
            kernel,
            qemu,
        })
    }

    #[must_use]
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// In words, for a plan.
    #[must_use]
    pub fn words(&self) -> String {
        format!("Linux {} in QEMU {}", self.kernel.release, self.version())
    }

    fn version(&self) -> String {
        let (major, minor, patch) = self.qemu.version;
        format!("{major}.{minor}.{patch}")
    }

    /// An image of its kernel, without more.
    #[must_use]
    pub fn image(&self) -> Image {
        Image::new(&self.cache, &self.kernel)
    }

    /// Boots an image, unless the user stops; with what the guest is.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn boot(
        &self,
        image: Image,
        shape: &Shape,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(Box<dyn Shell>, Spot), Stopped> {
        let image = image.build().map_err(Stopped::failed)?;
        let (parts, own) = (self.clone(), shape.clone());
        let (answer, answered) = mpsc::channel();
        // A guest that is no longer waited for ends when the answer is dropped.
        thread::spawn(move || {
            let _ = answer.send(Guest::boot(&parts.qemu, &parts.kernel, &image, &own));
        });
        loop {
            match answered.recv_timeout(LOOK) {
                Ok(booted) => {
                    let guest = booted.map_err(Stopped::failed)?;
                    let about = self.about(shape, guest.accelerator());
                    return Ok((Box::new(GuestShell(guest)), about));
                }
                Err(RecvTimeoutError::Timeout) if !go_on() => return Err(Stopped::Interrupted),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let error = "the thread that boots the guest died";
                    return Err(Stopped::Failed(error.into()));
                }
            }
        }
    }

    /// What stands beside every number.
    fn about(&self, shape: &Shape, accelerator: Accelerator) -> Spot {
        let words = match accelerator {
            Accelerator::Tcg => "emulated guest",
            Accelerator::Kvm => "in a guest",
        };
        Spot::new()
            .with("accelerator", accelerator.name(), words)
            .also("guest_kernel", &*self.kernel.release)
            .also("qemu", &*self.version())
            .also("vcpus", u64::from(shape.vcpus))
    }
}

/// Checks a CPU model: option `cpu`.
///
/// # Errors
/// [`ConfigError`].
pub fn check_cpu(cpu: &str) -> Result<(), ConfigError> {
    let shape = Shape {
        cpu: cpu.to_owned(),
        ..Shape::default()
    };
    let checked = shape.check();
    checked.map_err(|error| ConfigError::value("cpu", error))
}

#[must_use]
pub fn is_emulated(about: &Spot) -> bool {
    about.value("accelerator") == Some(&Accelerator::Tcg.name().into())
}

/// A warning, where guests were emulated.
#[must_use]
pub fn emulated(about: &Spot) -> Option<Finding> {
    let text = "The guest was emulated (QEMU without KVM). Ratios hold within this guest; its figures hold for no other machine.";
    let remedy = "Run where a guest boots with KVM for figures.";
    is_emulated(about).then(|| finding(Weight::Warning, text.to_owned(), remedy))
}

/// What a guest is made of is not there; errors of `vm` name their own remedy.
pub fn absent(error: impl std::fmt::Display, remedy: &str) -> PlanError {
    let error = error.to_string();
    let (reason, remedy) = error.rsplit_once("; ").unwrap_or((&error, remedy));
    PlanError::NotSupported {
        reason: reason.to_owned(),
        remedy: remedy.to_owned(),
    }
}

/// A guest that runs scripts.
struct GuestShell(Guest);

impl Shell for GuestShell {
    fn run(&mut self, script: &str, limit: Duration) -> Result<Outcome, Failure> {
        let run = Run {
            output_bytes_max: OUTPUT_BYTES_MAX,
            ..Run::new(script).within(limit)
        };
        match self.0.run(&run) {
            Ok(outcome) => Ok(outcome),
            // The guest ended the script, and goes on.
            Err(GuestError::Channel(error)) if error.is_recoverable() => Ok(Outcome {
                status: KILLED,
                output: error.to_string().into_bytes(),
            }),
            Err(error) => {
                let during = script.lines().next().unwrap_or_default();
                let what = format!("the guest no longer answers: {during}");
                Err(Failure::of(what)(error))
            }
        }
    }

    fn stop(&self) -> Stop {
        let killer = self.0.killer();
        Box::new(move || killer.kill())
    }

    fn cpu_s(&self) -> f64 {
        cpu_s(self.0.process_id()).unwrap_or(0.0)
    }

    fn devices_ns(&self) -> u64 {
        devices_ns(self.0.process_id(), self.0.vcpu_threads())
    }

    fn pause(&mut self, pauses: bool) -> Result<(), Failure> {
        let command = if pauses { "stop" } else { "cont" };
        let done = self.0.qmp(command, serde_json::Value::Null);
        let failed = Failure::of(format!("the guest does not obey '{command}'"));
        done.map(drop).map_err(failed)
    }
}

/// CPU time of a process's threads but for these (/proc/PID/task/TID/schedstat, whose
/// first number is ns).
fn devices_ns(pid: u32, vcpus: &[i32]) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let of = |task: fs::DirEntry| {
        let thread: i32 = task.file_name().to_str()?.parse().ok()?;
        let is_device = !vcpus.contains(&thread);
        let text = is_device.then(|| fs::read_to_string(task.path().join("schedstat")))?;
        text.ok()?
            .split_ascii_whitespace()
            .next()?
            .parse::<u64>()
            .ok()
    };
    let all = tasks.into_iter().flatten().flatten();
    all.filter_map(of).sum()
}

/// CPU time of a process with all its threads (proc(5), /proc/PID/stat).
fn cpu_s(pid: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_ascii_whitespace().skip(USER_TIME);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let (user, system) = (ticks()?, ticks()?);
    Some((user + system) as f64 / TICKS_PER_S)
}
