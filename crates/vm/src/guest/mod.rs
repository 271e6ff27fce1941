//! A running guest.
//!
//! Everything a guest is made of is inherited by QEMU as descriptors and dies
//! with it; QEMU dies with the [`Guest`], and with this process, however that
//! ends. No file, socket or process is left behind.

mod accelerator;
mod arguments;
mod boot;
mod console;
mod error;
mod launch;
mod machine;
mod migrate;
mod models;
mod node;
mod pin;
mod process;
mod qmp;
mod run;
mod vmlinux;

use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::protocol::{Channel, ChannelError, Hello};
use crate::{Accelerator, Kernel, Qemu, Shape};
use sys::plain::plain;

pub use accelerator::{AcceleratorError, accelerator_here};
pub use console::CONSOLE_BYTES_MAX;
pub use error::{BootError, GuestError};
pub use migrate::Migration;
pub use models::{CpuModels, ModelsError};
pub use node::NodeError;
pub use qmp::{QMP_BYTES_MAX, QMP_LIMIT, QmpError};
pub use run::{Outcome, Run};

use boot::Boot;
use machine::Machine;
use process::{Kill, Process};
use qmp::Qmp;

/// A guest says hello within this time, or [`Guest::boot`] gives it up.
pub const READY_LIMIT: Duration = Duration::from_secs(60);

/// Maximum time limit: clocks and the guest's `sleep` can represent it.
const LIMIT_MAX: Duration = Duration::from_secs(30 * 86_400);

/// A guest that was asked to end does so within this time.
const END_LIMIT: Duration = Duration::from_secs(20);

/// A file of up to some hundred MiB is written or read within this time.
const FILE_LIMIT: Duration = Duration::from_secs(60);

const SHOWN_BYTES: usize = 2048;

/// A guest that is up and waits for orders. Dropped, it is killed and reaped.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use lockgate_vm::{Cache, Guest, Qemu, Run, Shape, image::Image};
///
/// let cache = Cache::open_default()?;
/// let qemu = Qemu::find(Some(&cache))?;
/// let kernel = cache.kernel(None)?;
/// let image = Image::new(&cache, kernel).on_demand("tcrypt").build()?;
/// let shape = Shape { cpu: "Nehalem,+aes".to_owned(), ..Shape::default() };
///
/// let mut guest = Guest::boot(&qemu, kernel, &image, &shape)?;
/// let outcome = guest.run(&Run::new("grep -c aes /proc/crypto"))?;
/// println!("{} ({:?}: {})", outcome.text(), guest.accelerator(), guest.accelerator_reason());
/// guest.shutdown()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Guest {
    channel: Channel,
    qmp: Qmp,
    hello: Hello,
    vcpu_threads: Vec<i32>,
    ready_in: Duration,
    accelerator: Accelerator,
    accelerator_reason: String,
    kernel_arguments: String,
    notes: Vec<String>,
    sandbox: bool,
    pvh: bool,
    time_limit: Duration,
    machine: Machine,
}

/// Kills a guest from any thread, also while another waits for it.
#[derive(Clone, Debug)]
pub struct Killer(Arc<Process>);

impl Killer {
    /// Kills QEMU. A caller that waits for the guest gets [`GuestError::Died`].
    pub fn kill(&self) {
        self.0.kill(Kill::Asked);
    }
}

impl Guest {
    /// Boots `kernel` with `image` (an initramfs of [`Image`](crate::image::Image))
    /// and waits, at most [`READY_LIMIT`], until its agent says hello.
    ///
    /// The first guest of a kernel has it unpacked here, which takes about a second
    /// and, while this process lives, about 70 MB of memory. Each guest then has one
    /// or two seconds of emulation less to do.
    ///
    /// # Errors
    /// [`BootError`]; nothing of the guest is left then.
    pub fn boot(
        qemu: &Qemu,
        kernel: &Kernel,
        image: &[u8],
        shape: &Shape,
    ) -> Result<Self, BootError> {
        Self::boot_within(READY_LIMIT, qemu, kernel, image, shape)
    }

    /// As [`Guest::boot`], with another limit for the hello.
    ///
    /// # Errors
    /// [`BootError`]; nothing of the guest is left then.
    pub fn boot_within(
        ready_limit: Duration,
        qemu: &Qemu,
        kernel: &Kernel,
        image: &[u8],
        shape: &Shape,
    ) -> Result<Self, BootError> {
        let boot = Boot {
            qemu,
            kernel,
            image,
            shape,
            ready_limit,
        };
        boot.boot()
    }

    /// Runs a script in the guest's shell and waits for its end. Any exit
    /// status is an outcome, not an error.
    ///
    /// # Errors
    /// [`GuestError::Channel`] with a `Timeout` or `TooLarge` when the script
    /// went past a limit of `run`, and was ended: the guest can be used
    /// further. After other errors it is of no more use.
    pub fn run(&mut self, run: &Run) -> Result<Outcome, GuestError> {
        let mut output = Vec::new();
        let status = self.run_live(run, &mut |piece| output.extend_from_slice(piece))?;
        Ok(Outcome { status, output })
    }

    /// As [`Guest::run`], but `on_output` gets the output as it comes, including what
    /// came before an error. Returns the exit status.
    pub fn run_live(
        &mut self,
        run: &Run,
        on_output: &mut dyn FnMut(&[u8]),
    ) -> Result<i32, GuestError> {
        let script = run.script.as_bytes();
        let limit = run.limit.min(LIMIT_MAX);
        let ran = self
            .channel
            .run(script, limit, run.output_bytes_max, on_output);
        self.explained(ran)
    }

    /// Runs a script that prints one JSON value and nothing else, within the
    /// limits of [`Run::new`].
    ///
    /// # Errors
    /// [`GuestError::Script`] for another exit status than 0,
    /// [`GuestError::Json`] for another output; else as [`Guest::run`].
    pub fn json<T: DeserializeOwned>(&mut self, script: &str) -> Result<T, GuestError> {
        let outcome = self.run(&Run::new(script))?;
        let shown = || {
            let shown = &outcome.output[..outcome.output.len().min(SHOWN_BYTES)];
            plain(shown)
        };
        if outcome.status != 0 {
            return Err(GuestError::Script {
                status: outcome.status,
                output: shown(),
            });
        }
        serde_json::from_slice(&outcome.output).map_err(|source| GuestError::Json {
            output: shown(),
            source,
        })
    }

    /// Writes a file in the guest: whole or not at all. `mode` as chmod(1),
    /// e.g. `0o755`.
    pub fn put(&mut self, path: &str, mode: u32, content: &[u8]) -> Result<(), GuestError> {
        let put = self.channel.put(path, mode, content, FILE_LIMIT);
        self.explained(put)
    }

    /// Reads a file of the guest, of at most `bytes_max` bytes.
    pub fn get(&mut self, path: &str, bytes_max: usize) -> Result<Vec<u8>, GuestError> {
        let got = self.channel.get(path, bytes_max, FILE_LIMIT);
        self.explained(got)
    }

    /// Executes a QMP command, within [`QMP_LIMIT`]; `arguments` is an object, or
    /// null for none.
    ///
    /// # Errors
    /// [`GuestError::Qmp`], or how QEMU ended.
    pub fn qmp(&mut self, command: &str, arguments: Value) -> Result<Value, GuestError> {
        let answer = self.qmp.execute(command, arguments);
        answer.map_err(|error| match error {
            QmpError::Closed { .. } => self.explain(error.into()),
            _ => error.into(),
        })
    }

    /// What the agent reported about the guest when it was up.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    pub fn console(&self) -> String {
        self.machine.console.text()
    }

    /// What runs the guest's instructions. It belongs with every number.
    pub fn accelerator(&self) -> Accelerator {
        self.accelerator
    }

    pub fn accelerator_reason(&self) -> &str {
        &self.accelerator_reason
    }

    pub fn kernel_arguments(&self) -> &str {
        &self.kernel_arguments
    }

    /// Where the guest differs from what its shape asks for, and why.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// From the start to the agent's hello; with the first guest of a kernel,
    /// unpacking that kernel is part of it.
    pub fn ready_in(&self) -> Duration {
        self.ready_in
    }

    pub fn process_id(&self) -> u32 {
        self.machine.process.pid()
    }

    /// The host's threads that run the vCPUs, in the vCPUs' order.
    pub fn vcpu_threads(&self) -> &[i32] {
        &self.vcpu_threads
    }

    /// A handle that kills this guest from another thread.
    pub fn killer(&self) -> Killer {
        Killer(Arc::clone(&self.machine.process))
    }

    /// Asks the guest to power off, then QEMU to end, then kills it: about a minute
    /// at most, with a guest that hangs.
    ///
    /// # Errors
    /// [`GuestError`] if it had died before, or had to be killed.
    pub fn shutdown(mut self) -> Result<ExitStatus, GuestError> {
        if self.channel.bye(END_LIMIT).is_err() || self.machine.ended_within(END_LIMIT).is_none() {
            // It may have ended meanwhile, which is what is wanted.
            let _ = self.qmp.execute("quit", Value::Null);
        }
        let ending = self.machine.ended_within(END_LIMIT);
        match ending.or_else(|| self.machine.kill()) {
            Some(ending) if ending.status.success() && self.machine.console.panic().is_none() => {
                Ok(ending.status)
            }
            Some(ending) => Err(self.machine.death(&ending, self.time_limit)),
            None => Err(ChannelError::Closed.into()),
        }
    }

    fn explained<T>(&mut self, result: Result<T, ChannelError>) -> Result<T, GuestError> {
        result.map_err(|error| {
            if error.is_recoverable() {
                error.into()
            } else {
                self.explain(error.into())
            }
        })
    }

    /// How QEMU ended, if it has, is the better error.
    fn explain(&mut self, error: GuestError) -> GuestError {
        match self.machine.ended_behind(&error) {
            Some(ending) => self.machine.death(&ending, self.time_limit),
            None => error,
        }
    }
}
