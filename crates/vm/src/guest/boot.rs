//! From a shape to a guest that has said hello.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::accelerator::{self, KVM_TRIAL_LIMIT, Plan};
use super::arguments::Start;
use super::error::{BootError, GuestError};
use super::launch::{Launched, launch, nameless};
use super::machine::Machine;
use super::qmp::{QMP_LIMIT, Qmp, QmpError};
use super::vmlinux;
use super::{Guest, LIMIT_MAX, node, pin};
use crate::protocol::Channel;
use crate::{Accelerator, Kernel, PciFunction, Qemu, Shape};

pub(super) struct Boot<'a> {
    pub(super) qemu: &'a Qemu,
    pub(super) kernel: &'a Kernel,
    pub(super) image: &'a [u8],
    pub(super) shape: &'a Shape,
    pub(super) ready_limit: Duration,
}

impl Boot<'_> {
    pub(super) fn boot(&self) -> Result<Guest, BootError> {
        self.shape.check()?;
        pin::check(&self.shape.host_cpus)?;
        self.shape
            .pci_functions
            .iter()
            .try_for_each(PciFunction::check)?;
        match accelerator::plan(self.shape.accelerator)? {
            Plan::Settled(accelerator, reason) => {
                self.boot_on(accelerator, reason, self.ready_limit)
            }
            Plan::TryKvm => self.try_kvm(),
        }
    }

    /// If KVM fails and emulation works, the fault is KVM's, and remembered; if both
    /// fail it is the shape's or the image's.
    fn try_kvm(&self) -> Result<Guest, BootError> {
        let limit = self.ready_limit.min(KVM_TRIAL_LIMIT);
        let because = "a guest boots on it".to_owned();
        match self.boot_on(Accelerator::Kvm, because, limit) {
            Ok(guest) => {
                accelerator::remember(Ok(()));
                Ok(guest)
            }
            Err(error) => {
                let error = error.to_string();
                let cause = error.lines().next().unwrap_or_default();
                let reason = format!("a stock guest does not boot on KVM here: {cause}");
                let guest = self.boot_on(Accelerator::Tcg, reason.clone(), self.ready_limit)?;
                accelerator::remember(Err(reason));
                Ok(guest)
            }
        }
    }

    fn boot_on(
        &self,
        accelerator: Accelerator,
        reason: String,
        ready_limit: Duration,
    ) -> Result<Guest, BootError> {
        let mut start = Start {
            shape: self.shape,
            accelerator,
            version: self.qemu.version,
            node: node::to_bind(self.shape.host_node)?,
            sandbox: true,
            pvh: true,
            is_incoming: false,
        };
        loop {
            let attempt = self.once(&start, &reason, ready_limit);
            let Err(BootError::Refused { stderr, .. }) = &attempt else {
                return attempt;
            };
            // What a QEMU may have been built or installed without.
            if start.sandbox && stderr.contains("-sandbox") {
                start.sandbox = false;
            } else if start.pvh && stderr.contains("pvh.bin") {
                start.pvh = false;
            } else {
                return attempt;
            }
        }
    }

    fn once(
        &self,
        start: &Start<'_>,
        reason: &str,
        ready_limit: Duration,
    ) -> Result<Guest, BootError> {
        let started = Instant::now();
        let kernel = self.kernel(start.pvh)?;
        let launched = self.launch(start, kernel, after(started, self.shape.time_limit))?;
        let mut machine = launched.machine;
        let (qmp, vcpu_threads) =
            talk(launched.qmp).map_err(|error| self.explain(&mut machine, error.into()))?;
        pin::pin(&vcpu_threads, &self.shape.host_cpus)?;
        if !is_readable(&launched.control, after(started, ready_limit)) {
            return Err(BootError::NotReady {
                limit: ready_limit,
                console: machine.console.tail(),
            });
        }
        let mut channel = Channel::new(launched.control);
        let hello = channel
            .hello(HELLO_LIMIT)
            .map_err(|error| self.explain(&mut machine, error.into()))?;
        Ok(Guest {
            machine,
            channel,
            qmp,
            hello,
            vcpu_threads,
            ready_in: started.elapsed(),
            accelerator: start.accelerator,
            accelerator_reason: reason.to_owned(),
            kernel_arguments: start.kernel_arguments().join(" "),
            notes: self.notes(start),
            sandbox: start.sandbox,
            pvh: start.pvh,
            time_limit: self.shape.time_limit,
        })
    }

    /// A QEMU that waits for a guest from `stream`.
    pub(super) fn incoming(
        &self,
        start: &Start<'_>,
        stream: OwnedFd,
    ) -> Result<Incoming, BootError> {
        self.shape.check()?;
        let kernel = self.kernel(start.pvh)?;
        let deadline = after(Instant::now(), self.shape.time_limit);
        let image = nameless("lockgate-image", self.image);
        let launched = image.and_then(|image| {
            launch(
                self.program(),
                start,
                (kernel, image),
                Some(stream),
                deadline,
            )
        });
        let launched = launched.map_err(|source| self.cannot_start(source))?;
        let mut machine = launched.machine;
        let qmp = Qmp::connect(launched.qmp, QMP_LIMIT);
        let qmp = qmp.map_err(|error| self.explain(&mut machine, error.into()))?;
        Ok(Incoming {
            machine,
            qmp,
            control: launched.control,
        })
    }

    fn kernel(&self, unpacked: bool) -> Result<OwnedFd, BootError> {
        let path = &self.kernel.image;
        let opened = if unpacked {
            vmlinux::open(path)
        } else {
            vmlinux::open_packed(path)
        };
        opened.map_err(|source| BootError::Kernel {
            path: path.clone(),
            source,
        })
    }

    fn launch(
        &self,
        start: &Start<'_>,
        kernel: OwnedFd,
        deadline: Instant,
    ) -> Result<Launched, BootError> {
        nameless("lockgate-image", self.image)
            .and_then(|image| launch(self.program(), start, (kernel, image), None, deadline))
            .map_err(|source| self.cannot_start(source))
    }

    fn program(&self) -> &Path {
        &self.qemu.program
    }

    fn cannot_start(&self, source: io::Error) -> BootError {
        BootError::Start {
            program: self.program().to_owned(),
            source,
        }
    }

    /// How QEMU ended, if it has, is the better error.
    fn explain(&self, machine: &mut Machine, error: GuestError) -> BootError {
        let Some(ending) = machine.ended_behind(&error) else {
            return error.into();
        };
        let stderr = machine.errors.tail();
        if ending.status.code().is_some_and(|code| code != 0) && !stderr.is_empty() {
            return BootError::Refused {
                program: self.program().to_owned(),
                status: ending.status,
                stderr,
            };
        }
        machine.death(&ending, self.shape.time_limit).into()
    }

    fn notes(&self, start: &Start<'_>) -> Vec<String> {
        let mut notes = Vec::new();
        if !start.sandbox {
            notes.push("this QEMU has no sandbox (it was built without seccomp)".to_owned());
        }
        if let (Some(node), None) = (self.shape.host_node, start.node) {
            notes.push(format!(
                "memory is not bound to node {node}: this host has one NUMA node"
            ));
        }
        notes
    }
}

/// A QEMU without a guest yet.
pub(super) struct Incoming {
    pub(super) machine: Machine,
    pub(super) qmp: Qmp,
    pub(super) control: UnixStream,
}

impl Incoming {
    /// Whether its guest runs, or has begun to within `limit`.
    pub(super) fn is_running(&mut self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        while Instant::now() < end {
            let Ok(answer) = self.qmp.execute("query-status", serde_json::Value::Null) else {
                return false;
            };
            match answer["status"].as_str() {
                Some("running") => return true,
                Some("inmigrate" | "paused" | "finish-migrate") => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                _ => return false,
            }
        }
        false
    }
}

/// A hello that has begun is whole within this time.
const HELLO_LIMIT: Duration = Duration::from_secs(60);

fn after(started: Instant, limit: Duration) -> Instant {
    started + limit.min(LIMIT_MAX)
}

fn talk(stream: UnixStream) -> Result<(Qmp, Vec<i32>), QmpError> {
    let mut qmp = Qmp::connect(stream, QMP_LIMIT)?;
    let threads = pin::threads(&mut qmp)?;
    Ok((qmp, threads))
}

/// Waits for the guest's first byte, or for the end of QEMU, which closes the
/// stream.
fn is_readable(stream: &UnixStream, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        let mut source = [PollFd::new(stream, PollFlags::IN)];
        match poll(&mut source, timeout.as_ref()) {
            Ok(0) => return false,
            Err(rustix::io::Errno::INTR) => {}
            // An error shows again, with its cause, when the stream is read.
            Ok(_) | Err(_) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::image::Image;
    use crate::{AcceleratorChoice, Cache};

    /// A QEMU without KVM, otherwise the one found.
    fn without_kvm(qemu: &Qemu, folder: &Path) -> Qemu {
        let program = folder.join("qemu-without-kvm");
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *'-accel kvm'*) echo 'no KVM in a test' >&2; exit 1;; esac\nexec '{}' \"$@\"\n",
            qemu.program.display()
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        Qemu {
            program,
            ..qemu.clone()
        }
    }

    #[test]
    fn where_kvm_fails_emulation_does_and_that_is_remembered() {
        let cache = match Cache::open_default() {
            Ok(cache) => cache,
            Err(error) => return testing::skipped(error),
        };
        let qemu = match Qemu::find(Some(&cache)) {
            Ok(qemu) => qemu,
            Err(error) => return testing::skipped(error),
        };
        let folder = tempfile::tempdir().unwrap();
        let kernel = cache.kernel(None).unwrap();
        let boot = Boot {
            qemu: &without_kvm(&qemu, folder.path()),
            kernel,
            image: &Image::new(&cache, kernel).build().unwrap(),
            shape: &Shape::default(),
            ready_limit: Duration::from_secs(60),
        };
        let guest = boot.try_kvm().unwrap();
        assert_eq!(guest.accelerator(), Accelerator::Tcg);
        let reason = guest.accelerator_reason().to_owned();
        assert!(reason.contains("no KVM in a test"), "{reason}");
        let planned = accelerator::plan(AcceleratorChoice::Auto).unwrap();
        assert_eq!(planned, Plan::Settled(Accelerator::Tcg, reason));
    }
}
