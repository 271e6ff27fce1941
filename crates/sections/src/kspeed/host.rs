//! This host's own kernel in place of a guest's. Lockgate's module goes into it only
//! where the user says so, and out of it at the end; nothing else is loaded or
//! unloaded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kit::guest::kspeed::module::FILES;
use kit::guest::{Shell, Stop, absent, not_measured};
use kit::spot::Spot;
use kit::subject::Stopped;
use sys::failure::Failure;
use sys::trusted::{self, Untrusted};
use trial::PlanError;
use vm::{Cache, Outcome};

/// The name that means this host, where a guest's kernel could be named.
pub(super) const NAME: &str = "host";
const MODULE: &str = "lockgate_kspeed";
/// The unit of time in /proc on x86.
const TICKS_PER_S: f64 = 100.0;
/// Behind the name: system, then irq and softirq.
const KERNEL_FIELDS: [usize; 3] = [3, 6, 7];

/// What decides whether the module can be loaded here.
#[derive(Debug)]
pub(super) struct Host {
    release: String,
    /// What /proc/modules lists; none: this kernel takes none.
    modules: Option<String>,
    /// Whether `kernel.modules_disabled` forbids more.
    is_closed: bool,
    is_root: bool,
    /// Built by `make setup-guests` for this kernel.
    module: Result<PathBuf, Untrusted>,
}

impl Host {
    pub(super) fn look() -> Self {
        let read = |path| fs::read_to_string(path).map(|text: String| text.trim().to_owned());
        let release = read("/proc/sys/kernel/osrelease").unwrap_or_default();
        let path = Cache::locate().join("host").join(&release);
        Self {
            modules: read("/proc/modules").ok(),
            is_closed: read("/proc/sys/kernel/modules_disabled").is_ok_and(|text| text != "0"),
            is_root: rustix::process::geteuid().is_root(),
            module: trusted::check(&path.join(format!("{MODULE}.ko"))),
            release,
        }
    }

    /// The module, if it can be loaded and may be.
    ///
    /// # Errors
    /// [`PlanError::NotSupported`] says what is missing, last of all leave.
    pub(super) fn check(&self, may_load: bool) -> Result<&Path, PlanError> {
        let refused = |reason: String, remedy: &str| Err(absent(reason, remedy));
        let release = &self.release;
        let Some(modules) = &self.modules else {
            let reason =
                format!("this host's kernel {release} takes no modules (no /proc/modules)");
            return refused(reason, "measure a guest's kernel: leave --kernel away");
        };
        if self.is_closed {
            let reason = "kernel.modules_disabled is 1 until this host boots again".to_owned();
            return refused(reason, "measure a guest's kernel: leave --kernel away");
        }
        if modules
            .lines()
            .any(|line| line.starts_with("lockgate_kspeed "))
        {
            let reason = format!("{MODULE} is loaded already: another run measures, or was killed");
            return refused(reason, "rmmod lockgate_kspeed, when no other run measures");
        }
        let module = match &self.module {
            Ok(module) => module,
            Err(error) if error.is_missing() => {
                let reason = format!("{MODULE} is not built for this host's kernel {release}");
                let remedy = "install its headers (linux-headers-$(uname -r)), gcc and make, then make setup-guests GUESTS=host";
                return refused(reason, remedy);
            }
            Err(error) => return refused(error.to_string(), "make setup-guests GUESTS=host"),
        };
        if !self.is_root {
            let reason = format!("only root loads {MODULE} into this host's kernel");
            return refused(reason, "run it as root");
        }
        if !may_load {
            let path = module.display();
            let reason = format!("{path} would be loaded into this host's own kernel {release}");
            return refused(
                reason,
                "say yes with --load-module true; it is unloaded at the end",
            );
        }
        Ok(module)
    }

    /// Loads the module, unless anything speaks against it.
    pub(super) fn load(&self, may_load: bool) -> Result<(Box<dyn Shell>, Spot), Stopped> {
        let module = self.check(may_load).map_err(Stopped::failed)?;
        let ended = Command::new("insmod").arg(module).output();
        let ended =
            ended.map_err(|error| Stopped::failed(Failure::of("insmod does not start")(error)))?;
        if !ended.status.success() {
            let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
            let remedy = "See dmesg; a kernel that is locked down takes signed modules only.";
            return Err(Stopped::Doubted(not_measured(said, remedy)));
        }
        let loaded = Loaded;
        if !Path::new(FILES).exists() {
            let reason = format!("{FILES} is not there once {MODULE} is loaded");
            let remedy = "mount -t debugfs debugfs /sys/kernel/debug";
            return Err(Stopped::Doubted(not_measured(reason, remedy)));
        }
        let about = Spot::new().with("accelerator", "none", "in this host's own kernel");
        Ok((Box::new(loaded), about.also("host_kernel", &*self.release)))
    }
}

/// The module while it is in this host's kernel.
struct Loaded;

impl Drop for Loaded {
    fn drop(&mut self) {
        let ended = Command::new("rmmod").arg(MODULE).output();
        if !ended.is_ok_and(|ended| ended.status.success()) {
            tracing::warn!("{MODULE} stays in this host's kernel: rmmod {MODULE}");
        }
    }
}

impl Shell for Loaded {
    fn run(&mut self, script: &str, limit: Duration) -> Result<Outcome, Failure> {
        let seconds = limit.as_secs().max(1).to_string();
        let mut command = Command::new("timeout");
        command.args([seconds.as_str(), "sh", "-c", script]);
        let ended = command
            .output()
            .map_err(Failure::of("no script runs here"))?;
        Ok(Outcome {
            status: ended.status.code().unwrap_or(-1),
            output: ended.stdout,
        })
    }

    /// The run ends, and with it the script that waits for its result.
    fn stop(&self) -> Stop {
        Box::new(|| drop(fs::write(format!("{FILES}/control"), "stop")))
    }

    /// Of the whole kernel, where the module's threads and their interrupts are.
    fn cpu_s(&self) -> f64 {
        kernel_s(&fs::read_to_string("/proc/stat").unwrap_or_default()).unwrap_or(0.0)
    }

    fn pause(&mut self, _: bool) -> Result<(), Failure> {
        Ok(())
    }
}

/// Seconds of the kernel's, interrupts' and soft interrupts' time on all CPUs
/// (proc(5), /proc/stat).
fn kernel_s(stat: &str) -> Option<f64> {
    let fields: Vec<_> = stat.lines().next()?.split_ascii_whitespace().collect();
    let ticks = KERNEL_FIELDS.map(|field| fields.get(field)?.parse::<u64>().ok());
    let sum: Option<u64> = ticks.into_iter().sum();
    Some(sum? as f64 / TICKS_PER_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn able() -> Host {
        Host {
            release: "6.1.0-56-amd64".to_owned(),
            modules: Some("virtio_crypto 24576 0 - Live 0x0".to_owned()),
            is_closed: false,
            is_root: true,
            module: Ok("/cache/lockgate_kspeed.ko".into()),
        }
    }

    #[test]
    fn nothing_is_loaded_without_leave_nor_where_it_cannot_be() {
        assert_eq!(
            able().check(true).unwrap(),
            Path::new("/cache/lockgate_kspeed.ko")
        );
        let missing = || trusted::check(Path::new("/nonexistent/lockgate_kspeed.ko"));
        let of = |change: fn(&mut Host)| {
            let mut host = able();
            change(&mut host);
            host
        };
        let without_module = Host {
            module: missing(),
            ..able()
        };
        let loaded = |host: &mut Host| host.modules = Some("lockgate_kspeed 1 0".to_owned());
        for (host, may_load, parts) in [
            (
                able(),
                false,
                ["/cache/lockgate_kspeed.ko would be", "--load-module true"],
            ),
            (
                of(|host| host.modules = None),
                true,
                ["no /proc/modules", "leave --kernel away"],
            ),
            (
                of(|host| host.is_closed = true),
                true,
                ["modules_disabled", "leave --kernel"],
            ),
            (
                of(loaded),
                true,
                ["loaded already", "rmmod lockgate_kspeed"],
            ),
            (without_module, true, ["not built for", "GUESTS=host"]),
            (
                of(|host| host.is_root = false),
                true,
                ["only root", "as root"],
            ),
        ] {
            let Err(PlanError::NotSupported { reason, remedy }) = host.check(may_load) else {
                panic!("{host:?}")
            };
            assert!(
                reason.contains(parts[0]) && remedy.contains(parts[1]),
                "{reason}: {remedy}"
            );
        }
    }

    #[test]
    fn the_kernel_s_time_is_that_of_no_program() {
        let stat = "cpu  100 20 300 4000 50 6 7 8 0 0\ncpu0 1 1 1 1\n";
        assert_eq!(kernel_s(stat), Some(3.13));
        for nonsense in ["", "cpu", "cpu 1 2 x 4 5 6 7"] {
            assert_eq!(kernel_s(nonsense), None);
        }
    }
}
