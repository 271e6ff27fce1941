//! The guest: what it is made of, how it is booted, how it runs scripts.

use std::fs;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use kit::spot::Spot;
use kit::subject::Stopped;
use sys::failure::Failure;
use trial::PlanError;
use vm::image::Image;
use vm::{Accelerator, Cache, Guest, GuestError, Kernel, Outcome, Qemu, Run, Shape};

use super::program;
use super::shell::{LOOK, Shell, Stop};

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
/// The unit of time in /proc on x86.
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
    /// What this host has; of kernels the one of that release, or the first.
    ///
    /// # Errors
    /// [`PlanError::NotSupported`] says what is missing and how to get it.
    pub(super) fn find(release: &str) -> Result<Self, PlanError> {
        let setup = "make setup-guests";
        let cache = Cache::open_default().map_err(|error| absent(error, setup))?;
        let release = (!release.is_empty()).then_some(release);
        let kernel = cache.kernel(release);
        let kernel = kernel.map_err(|error| absent(error, setup))?.clone();
        if kernel.kspeed.is_none() {
            let (folder, release) = (cache.folder().display(), &kernel.release);
            let reason =
                format!("the guest cache {folder} has no lockgate_kspeed.ko for kernel {release}");
            let remedy = "make setup-guests (with gcc and make installed, it builds the module)";
            return Err(absent(reason, remedy));
        }
        let qemu = Qemu::find(Some(&cache));
        let qemu = qemu.map_err(|error| absent(error, "apt-get install qemu-system-x86"))?;
        Ok(Self {
            cache,
            kernel,
            qemu,
        })
    }

    /// In words, for a plan.
    pub(super) fn step(&self) -> String {
        let release = &self.kernel.release;
        format!("one guest: Linux {release} in QEMU {}", self.version())
    }

    fn version(&self) -> String {
        let (major, minor, patch) = self.qemu.version;
        format!("{major}.{minor}.{patch}")
    }

    fn image(&self) -> Result<Vec<u8>, Stopped> {
        let mut image = Image::new(&self.cache, &self.kernel);
        for module in ON_DEMAND {
            image = image.on_demand(module);
        }
        if let Some(module) = &self.kernel.kspeed {
            image = image.module_file(module);
        }
        let program = program::files().map_err(Stopped::failed)?;
        image.files(program).build().map_err(Stopped::failed)
    }

    /// Builds the image and boots it, unless the user stops; with what it is.
    pub(super) fn boot(
        &self,
        (cpu, vcpus): (&str, u32),
        go_on: &dyn Fn() -> bool,
    ) -> Result<(Box<dyn Shell>, Spot), Stopped> {
        let shape = Shape {
            vcpus,
            memory_mib: MEMORY_MIB,
            cpu: cpu.to_owned(),
            crypto_devices: 1,
            kernel_arguments: KERNEL_ARGUMENTS.map(str::to_owned).to_vec(),
            time_limit: TIME_LIMIT,
            ..Shape::default()
        };
        let (image, parts) = (self.image()?, self.clone());
        let (answer, answered) = mpsc::channel();
        // A guest that is no longer waited for ends when the answer is dropped.
        thread::spawn(move || {
            let _ = answer.send(Guest::boot(&parts.qemu, &parts.kernel, &image, &shape));
        });
        loop {
            match answered.recv_timeout(LOOK) {
                Ok(booted) => {
                    let guest = booted.map_err(Stopped::failed)?;
                    let about = self.about((cpu, vcpus), guest.accelerator());
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
    fn about(&self, (cpu, vcpus): (&str, u32), accelerator: Accelerator) -> Spot {
        let words = match accelerator {
            Accelerator::Tcg => "emulated guest",
            Accelerator::Kvm => "in a guest",
        };
        Spot::new()
            .with("accelerator", accelerator.name(), words)
            .also("guest_kernel", &*self.kernel.release)
            .also("qemu", &*self.version())
            .also("vcpus", u64::from(vcpus))
            .also("guest_cpu", cpu)
    }
}

/// The errors of `vm` name their own remedy.
fn absent(error: impl std::fmt::Display, remedy: &str) -> PlanError {
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
