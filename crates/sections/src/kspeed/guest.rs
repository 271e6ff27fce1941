//! The guest: what it is made of, how it is booted, how it runs scripts.

use std::fs;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use trial::{PlanError, RunError, Sink};
use vm::image::Image;
use vm::{Cache, CacheError, Guest, GuestError, Kernel, Qemu, Run, Shape};

use crate::kspeed::config::Config;
use crate::kspeed::guest_facts::GuestFacts;
use crate::kspeed::program;
use crate::kspeed::shell::{Lost, Output, Shell, Stop};
use kit::running::failed;

/// Enough for Debian's kernel, the program twice (in the image and unpacked)
/// and all buffers.
const MEMORY_MIB: u32 = 2048;
/// What tcrypt prints at most, and more.
const OUTPUT_BYTES_MAX: u64 = 4 << 20;
/// The kernel keeps that much of its log: a call of tcrypt prints 100 KiB.
const KERNEL_ARGUMENTS: [&str; 2] = ["log_buf_len=4M", "mitigations=off"];
/// Modules that some driver or method loads.
const ON_DEMAND: [&str; 11] = [
    "aesni_intel",
    "ghash_generic",
    "ctr",
    "gcm",
    "cryptd",
    "pcrypt",
    "virtio_crypto",
    "tcrypt",
    "algif_skcipher",
    "algif_hash",
    "algif_aead",
];
/// So often somebody looks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(100);
/// What Linux says of time in /proc on x86.
const TICKS_PER_S: f64 = 100.0;
/// The status of a script that went past a limit.
const KILLED: i32 = 128 + 9;
/// Longer than any plan: what is left of the guest then is killed.
const TIME_LIMIT: Duration = Duration::from_secs(4 * 3600);
/// Fields of /proc/PID/stat behind the program's name, which may hold spaces.
const USER_TIME: usize = 11;

/// What a guest is made of.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    cache: Cache,
    kernel: Kernel,
    qemu: Qemu,
}

impl Parts {
    /// What this host has.
    ///
    /// # Errors
    /// [`PlanError::NotSupported`] says what is missing and how to get it.
    pub(super) fn find(config: &Config) -> Result<Self, PlanError> {
        let cache = Cache::open_default().map_err(absent)?;
        let kernel = cache
            .kernel(config.kernel.as_deref())
            .map_err(absent)?
            .clone();
        if kernel.kspeed.is_none() {
            return Err(PlanError::NotSupported {
                reason: format!(
                    "the guest cache {} has no lockgate_kspeed.ko for kernel {}",
                    cache.folder().display(),
                    kernel.release
                ),
                remedy: "make setup-guests (with gcc and make installed, it builds the module)"
                    .to_owned(),
            });
        }
        let qemu = Qemu::find(Some(&cache))
            .map_err(|error| not_supported(error, "apt-get install qemu-system-x86"))?;
        Ok(Self {
            cache,
            kernel,
            qemu,
        })
    }

    /// In words, for a plan.
    pub(super) fn step(&self) -> String {
        format!(
            "one guest: Linux {} in QEMU {}",
            self.kernel.release,
            version(&self.qemu)
        )
    }
}

fn absent(error: CacheError) -> PlanError {
    not_supported(error, "make setup-guests")
}

/// Somebody else's files say their own remedy.
fn not_supported(error: impl std::fmt::Display, remedy: &str) -> PlanError {
    let error = error.to_string();
    let (reason, remedy) = error.rsplit_once("; ").unwrap_or((&error, remedy));
    PlanError::NotSupported {
        reason: reason.to_owned(),
        remedy: remedy.to_owned(),
    }
}

/// Builds the image and boots it, unless the user stops.
///
/// # Errors
/// [`RunError`].
pub(super) fn boot(
    config: &Config,
    parts: &Parts,
    sink: &dyn Sink,
) -> Result<(GuestShell, GuestFacts), RunError> {
    let image = image(parts)?;
    let (shape, parts) = (shape(config), parts.clone());
    let (answer, answered) = mpsc::channel();
    // A guest that nobody waits for any more ends when the answer is dropped.
    thread::spawn(move || {
        let guest = Guest::boot(&parts.qemu, &parts.kernel, &image, &shape);
        let _ = answer.send(guest.map(|guest| facts(guest, &parts, &shape)));
    });
    loop {
        match answered.recv_timeout(LOOK) {
            Ok(booted) => {
                let (guest, facts) =
                    booted.map_err(|error| failed("the guest did not boot", error))?;
                return Ok((GuestShell { guest }, facts));
            }
            Err(RecvTimeoutError::Timeout) if sink.is_interrupted() => {
                return Err(RunError::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(RunError::Failed {
                    context: "the thread that boots the guest died".to_owned(),
                    source: None,
                });
            }
        }
    }
}

fn image(parts: &Parts) -> Result<Vec<u8>, RunError> {
    let mut image = Image::new(&parts.cache, &parts.kernel);
    for module in ON_DEMAND {
        image = image.on_demand(module);
    }
    if let Some(module) = &parts.kernel.kspeed {
        image = image.module_file(module);
    }
    let program = program::files()
        .map_err(|error| failed("lockgate cannot be taken into the guest", error))?;
    image
        .files(program)
        .build()
        .map_err(|error| failed("the guest's image cannot be built", error))
}

fn shape(config: &Config) -> Shape {
    Shape {
        vcpus: config.vcpus,
        memory_mib: MEMORY_MIB,
        cpu: config.cpu.clone(),
        crypto_devices: 1,
        kernel_arguments: KERNEL_ARGUMENTS.map(str::to_owned).to_vec(),
        time_limit: TIME_LIMIT,
        ..Shape::default()
    }
}

fn facts(guest: Guest, parts: &Parts, shape: &Shape) -> (Guest, GuestFacts) {
    let facts = GuestFacts {
        kernel: parts.kernel.release.clone(),
        qemu: version(&parts.qemu),
        accelerator: guest.accelerator(),
        vcpus: shape.vcpus,
        cpu: shape.cpu.clone(),
    };
    (guest, facts)
}

fn version(qemu: &Qemu) -> String {
    let (major, minor, patch) = qemu.version;
    format!("{major}.{minor}.{patch}")
}

/// A guest that runs scripts.
pub(super) struct GuestShell {
    guest: Guest,
}

impl Shell for GuestShell {
    fn run(&mut self, script: &str, limit: Duration) -> Result<Output, Lost> {
        let run = Run {
            script: script.to_owned(),
            limit,
            output_bytes_max: OUTPUT_BYTES_MAX,
        };
        match self.guest.run(&run) {
            Ok(outcome) => Ok(Output {
                status: outcome.status,
                text: outcome.text().into_owned(),
            }),
            // The guest ended the script, and goes on.
            Err(GuestError::Channel(error)) if error.is_recoverable() => Ok(Output {
                status: KILLED,
                text: error.to_string(),
            }),
            Err(error) => Err(Lost {
                during: script.lines().next().unwrap_or_default().to_owned(),
                source: Box::new(error),
            }),
        }
    }

    fn stop(&self) -> Stop {
        let killer = self.guest.killer();
        Box::new(move || killer.kill())
    }

    fn cpu_s(&self) -> f64 {
        cpu_s(self.guest.process_id()).unwrap_or(0.0)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_used_some_time() {
        let pid = std::process::id();
        assert!(cpu_s(pid).is_some_and(|seconds| seconds >= 0.0));
        assert_eq!(cpu_s(u32::MAX), None);
    }
}
