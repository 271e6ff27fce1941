//! A guest for each way to have AES-NI, all up at once and paused but for one, so
//! that rounds go from one to the other.

use std::time::Duration;

use cpu::guest::best_driver;
use kit::guest::{Herd, Member, Shell, not_measured, plain, run, said, watched};
use kit::prelude::*;
use trial::Sink;

use super::arm::Arm;
use super::{DiskGuest, Place};

pub(super) const SPEED: Measure = Measure::higher("speed_mb_per_s", "MB/s");
pub(super) const GUEST_CPU: Measure = Measure::fact("guest_cpu_percent", "% of a core");

/// A script that takes this long has hung.
const LIMIT: Duration = Duration::from_secs(60);
const MIB: f64 = 1_048_576.0;
const DRIVER_MAX: usize = 64;
const REMEDY: &str = "See what the guest says: lockgate vm run SCRIPT runs the same commands.";

/// Boots a guest, and says what it is.
pub(super) type Boot =
    Box<dyn Fn(Arm, &dyn Fn() -> bool) -> Result<(Box<dyn Shell>, Spot), Stopped>>;

pub(super) struct OnGuests {
    pub(super) section: DiskGuest,
    /// The host's, that guests may use.
    pub(super) cpus: Vec<usize>,
    pub(super) boot: Boot,
    /// Each said what making its mappings printed, with `/proc/crypto` at the end.
    guests: Herd<Arm>,
    /// The last of each, MiB/s.
    speeds: Vec<((Place, Arm), f64)>,
}

impl OnGuests {
    pub(super) fn new(section: DiskGuest, host: &Host, boot: Boot) -> Self {
        Self {
            section,
            cpus: host.cpus.clone(),
            boot,
            guests: Herd::default(),
            speeds: Vec::new(),
        }
    }

    fn boot(&mut self, arm: Arm, go_on: &dyn Fn() -> bool) -> Result<(), Stopped> {
        self.guests.pause_but(None)?;
        let (mut shell, about) = (self.boot)(arm, go_on)?;
        let made = run(shell.as_mut(), &self.section.set_up(), LIMIT, go_on)?;
        if made.status != 0 {
            let error = format!("a guest has no ramdisk or no dm-crypt: {}", said(&made));
            return Err(Stopped::Failed(error.into()));
        }
        self.guests
            .add(arm, (shell, about), made.text().into_owned());
        Ok(())
    }

    fn measure(
        &mut self,
        (place, arm): (Place, Arm),
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let guest = self.guests.awake(arm.guest())?;
        let guest = guest.expect("`prepare` boots all");
        let driver = driver_of(guest, place, arm)?;
        let known = self.speeds.iter().find(|(own, _)| *own == (place, arm));
        let mib = known.map_or(1.0, |(_, mib_per_s)| mib_per_s * slice.as_secs_f64());
        let mib = (mib as usize).clamp(1, self.section.0.disk_mib.get());
        let script = arm.script(place, mib);
        let (outcome, seen) = watched(guest.shell.as_mut(), &self.cpus, &script, LIMIT, go_on)?;
        let Some(seconds) = seconds(&outcome.text()).filter(|_| outcome.status == 0) else {
            let reason = format!("dd ended with {}: {}", outcome.status, said(&outcome));
            return Err(Stopped::Doubted(not_measured(reason, REMEDY)));
        };
        self.speeds.retain(|(own, _)| *own != (place, arm));
        self.speeds.push(((place, arm), mib as f64 / seconds));
        let mut reading = Reading::new(vec![
            (SPEED, mib as f64 * MIB / seconds / 1e6),
            (GUEST_CPU, seen.guest_cpus * 100.0),
        ]);
        let (sectors, vcpus) = (mib as u64 * 2048, self.section.0.vcpus.get());
        reading.evidence = Some(seen.evidence(sectors, vcpus, &self.cpus));
        reading.also = Spot::new().also("driver", &*driver);
        Ok(reading)
    }
}

/// Who encrypts, as the guest's kernel says; empty where nobody does. Refused where it is
/// not what is to be measured.
fn driver_of(guest: &Member<Arm>, place: Place, arm: Arm) -> Result<String, Stopped> {
    let Some(mode) = place.mode else {
        return Ok(String::new());
    };
    let refused = |reason, remedy| Err(Stopped::Doubted(not_measured(reason, remedy)));
    let failed = format!("failed {}", arm.mapping(mode));
    if guest.said.lines().any(|line| line == failed) {
        let reason = format!("the guest's kernel does not take {mode} with {arm}");
        return refused(
            reason,
            "Take a newer kernel (make setup-guests GUESTS=all).",
        );
    }
    let driver = best_driver(&guest.said, &format!("{mode}(aes)")).unwrap_or_default();
    if arm.is_proven(driver) {
        return Ok(plain(driver, DRIVER_MAX));
    }
    let words = arm.guest().words();
    let reason = format!(
        "{words} was asked for, and {mode} is '{}' in the guest",
        plain(driver, DRIVER_MAX)
    );
    refused(reason, "Take a CPU model that has aes (--cpu).")
}

/// `1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.0175549 s, 59.7 MB/s`.
pub(super) fn seconds(said: &str) -> Option<f64> {
    let (_, behind) = said.split_once(" copied, ")?;
    let seconds: f64 = behind.split_once(" s")?.0.parse().ok()?;
    (seconds.is_finite() && seconds > 0.0).then_some(seconds)
}

impl Rig<DiskGuest> for OnGuests {
    /// Boots all, and does each trial once with a MiB, which says how much later ones
    /// move.
    fn prepare(
        &mut self,
        subjects: &Subjects<DiskGuest>,
        sink: &mut dyn Sink,
    ) -> Result<(), Stopped> {
        let guests = DiskGuest::guests(subjects);
        for (done, &arm) in guests.iter().enumerate() {
            let now = format!("booting a guest: {}", arm.words());
            sink.emit(Event::Progress(done as f64 / guests.len() as f64, now));
            let go_on = || !sink.is_interrupted();
            self.boot(arm, &go_on)?;
            for own in subjects.iter().filter(|own| own.arm.guest() == arm) {
                let tried = self.measure((own.place, own.arm), Duration::ZERO, &go_on);
                // What fails here fails again where it is reported.
                if let Err(Stopped::Interrupted) = tried {
                    return Err(Stopped::Interrupted);
                }
            }
        }
        Ok(())
    }

    fn trial(
        &mut self,
        subject: &Subject<Place, Arm>,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        self.measure((subject.place, subject.arm), slice, go_on)
    }

    fn about(&self) -> Spot {
        self.guests.about()
    }
}

impl DiskGuest {
    /// The script that makes the ramdisk and its mappings.
    fn set_up(&self) -> String {
        let (mib, key_bytes) = (self.0.disk_mib.get(), self.0.key_bits.get() / 8);
        let mut script = format!(
            "modprobe brd rd_nr=1 rd_size={} && modprobe dm-crypt || exit 1\nmodprobe aesni_intel\n/usr/bin/dd if=/dev/zero of=/dev/ram0 bs=1M count={mib} oflag=direct || exit 1\n",
            mib * 1024
        );
        for mode in self.0.modes.values() {
            script += &format!("modprobe {mode}\n");
            let arms = self.arms(mode).filter(|arm| arm.has_flags());
            let arms = std::iter::once(Arm::Shown).chain(arms);
            script.extend(arms.map(|arm| arm.make(mode, mib, key_bytes)));
        }
        script + "echo\ncat /proc/crypto"
    }
}
