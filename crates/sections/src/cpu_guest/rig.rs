//! A guest for each CPU model, all up at once and paused but for one.

use std::path::PathBuf;
use std::time::Duration;

use cpu::guest::best_driver;
use crypto::{Algorithm, Kind};
use kit::guest::{Herd, Parts, Shell, TIME_LIMIT, absent, not_measured, plain, run, said, watched};
use kit::openssl;
use kit::prelude::*;
use trial::Sink;
use vm::Shape;
use vm::image::{HostProgram, Image};

use super::CpuGuest;
use super::step::Step;

pub(super) const SPEED: Measure = Measure::higher("speed_mb_per_s", "MB/s");

const MEMORY_MIB: u32 = 512;
const OPENSSL: &str = "/usr/bin/openssl";
/// Loaded where the CPU has what they need.
const MODULES: [&str; 4] = ["aesni_intel", "ghash_clmulni_intel", "sha256_ssse3", "gcm"];
/// `openssl speed` ends within seconds, emulated as well.
const LIMIT: Duration = Duration::from_secs(60);
const DRIVER_MAX: usize = 64;
const REMEDY: &str = "See what the guest says: lockgate vm run SCRIPT runs the same commands.";

/// Boots a guest, and says what it is.
pub(super) type Boot =
    Box<dyn Fn(Step, &dyn Fn() -> bool) -> Result<(Box<dyn Shell>, Spot), Stopped>>;

/// What this host has of guests that compute.
pub(super) struct Guests {
    pub(super) parts: Parts,
    openssl: PathBuf,
}

impl Guests {
    /// # Errors
    /// [`PlanError::NotSupported`] says what is missing and how to get it.
    pub(super) fn find(release: &str) -> Result<Self, PlanError> {
        let remedy = "apt-get install openssl";
        let found = sys::program::find(openssl::PROGRAM, &[]);
        let found = found.map_err(|error| absent(error, remedy))?;
        Ok(Self {
            parts: Parts::find(release)?,
            openssl: found.ok_or_else(|| absent("this host has no openssl", remedy))?,
        })
    }

    pub(super) fn boot(
        &self,
        step: Step,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(Box<dyn Shell>, Spot), Stopped> {
        let program = HostProgram::new(&self.openssl).files(OPENSSL);
        let image = self.parts.image().files(program.map_err(Stopped::failed)?);
        let (accelerator, _) = vm::accelerator_here();
        let shape = Shape {
            memory_mib: MEMORY_MIB,
            cpu: step.cpu(accelerator),
            kernel_arguments: vec!["mitigations=off".to_owned()],
            time_limit: TIME_LIMIT,
            ..Shape::default()
        };
        let image = MODULES.into_iter().fold(image, Image::on_demand);
        self.parts.boot(image, &shape, go_on)
    }
}

pub(super) struct OnGuests {
    section: CpuGuest,
    /// The host's, that guests may use.
    cpus: Vec<usize>,
    boot: Boot,
    /// Each said its `/proc/crypto`.
    guests: Herd<Step>,
    /// Why a step has no guest.
    refused: Vec<(Step, String)>,
}

impl OnGuests {
    pub(super) fn new(section: CpuGuest, host: &Host, boot: Boot) -> Self {
        Self {
            section,
            cpus: host.cpus.clone(),
            boot,
            guests: Herd::default(),
            refused: Vec::new(),
        }
    }

    /// A CPU that cannot be shown here leaves its step out, with the reason.
    fn boot(&mut self, step: Step, go_on: &dyn Fn() -> bool) -> Result<(), Stopped> {
        self.guests.pause_but(None)?;
        let (mut shell, about) = match (self.boot)(step, go_on) {
            Ok(booted) => booted,
            Err(Stopped::Failed(error)) => {
                let text = error.to_string();
                let first = text.lines().next().unwrap_or_default();
                // QEMU's words, without those that lead to them.
                let words = first.rsplit("warning: ").next().unwrap_or(first);
                self.refused.push((step, words.to_owned()));
                return Ok(());
            }
            Err(stopped) => return Err(stopped),
        };
        let loads: Vec<_> = MODULES
            .map(|name| format!("modprobe {name} 2>/dev/null"))
            .into();
        // Without RDRAND a young guest has no random bytes, and the alarm of `openssl
        // speed` interrupts the wait for them: this waits.
        let script = format!(
            "{OPENSSL} rand 8 >/dev/null; {}; cat /proc/crypto",
            loads.join("; ")
        );
        let made = run(shell.as_mut(), &script, LIMIT, go_on)?;
        self.guests
            .add(step, (shell, about), made.text().into_owned());
        Ok(())
    }
}

impl Rig<CpuGuest> for OnGuests {
    fn prepare(
        &mut self,
        subjects: &Subjects<CpuGuest>,
        sink: &mut dyn Sink,
    ) -> Result<(), Stopped> {
        let steps = CpuGuest::steps(subjects);
        for (done, &step) in steps.iter().enumerate() {
            let now = format!("booting a guest: {}", step.words());
            sink.emit(Event::Progress(done as f64 / steps.len() as f64, now));
            let go_on = || !sink.is_interrupted();
            self.boot(step, &go_on)?;
        }
        Ok(())
    }

    fn trial(
        &mut self,
        subject: &Subject<Algorithm, Step>,
        _: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let (kind, step) = (Kind::from(subject.place), subject.arm);
        let Some(guest) = self.guests.awake(step)? else {
            let refused = self.refused.iter().find(|(own, _)| *own == step);
            let reason = refused.map_or("it was not booted", |(_, reason)| reason);
            let remedy = "Run on a host whose CPU and accelerator can show it.";
            return Err(Stopped::Doubted(not_measured(reason.to_owned(), remedy)));
        };
        let bytes = self.section.0.block_bytes.get();
        let arguments = openssl::arguments(kind, bytes).join(" ");
        let script = format!("{OPENSSL} {arguments} 2>/dev/null");
        let (outcome, seen) = watched(guest.shell.as_mut(), &self.cpus, &script, LIMIT, go_on)?;
        let rate = openssl::requests_per_s(outcome.text().trim(), kind, bytes);
        let Some(rate) = rate.filter(|_| outcome.status == 0) else {
            let reason = format!("openssl ended with {}: {}", outcome.status, said(&outcome));
            return Err(Stopped::Doubted(not_measured(reason, REMEDY)));
        };
        let mut reading = Reading::new(vec![(SPEED, rate * bytes as f64 / 1e6)]);
        reading.evidence = Some(seen.evidence(rate as u64, 1, &self.cpus));
        let driver = |algorithm| {
            plain(
                best_driver(&guest.said, algorithm).unwrap_or("none"),
                DRIVER_MAX,
            )
        };
        reading.also = Spot::new()
            .also("kernel_aes", &*driver("gcm(aes)"))
            .also("kernel_sha256", &*driver("sha256"));
        Ok(reading)
    }

    fn about(&self) -> Spot {
        self.guests.about()
    }
}
