//! The section `disk-guest`: how fast a guest's dm-crypt is with AES-NI shown, hidden,
//! and shown with its driver removed, and what its work queues cost.
//!
//! `guest` boots a guest for each, `rig` goes from one to the other and has `dd` move
//! data past the page cache, as the source did.

mod arm;
mod findings;
mod guest;
mod rig;

use crypto::SectorMode;
use kit::config::checks::check_sectors;
use kit::config::choices::Direction;
use kit::guest::{BOOT_S, check_cpu};
use kit::prelude::*;

use arm::Arm;
use guest::Disks;
use rig::{GUEST_CPU, OnGuests, SPEED};

/// Shorter and a guest's timer tick weighs; an interrupt is to end the run soon.
const SLICE_S: (f64, f64) = (0.1, 0.4);
/// The command into the guest, `dd`'s start, the pause of another.
const OVERHEAD_S: f64 = 0.1;
/// Making a mapping in an emulated guest.
const MAPPING_S: f64 = 0.2;

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Modes, each with IV plain
        modes: List<Name<SectorMode>> = ["xts", "cbc", "ctr", "ecb", "lrw", "pcbc"],
        /// Bits of the key: 256 is AES-128 for xts and lrw, AES-256 for others
        key_bits: Count<128, 512> = 256,
        /// Directions
        directions: List<Name<Direction>> = ["write", "read"],
        /// What guests have of AES-NI, and flags of dm-crypt where it is shown
        arms: List<Name<Arm>> = Arm::ALL.map(Name),
        /// Modes of which flags are compared
        flag_modes: List<Name<SectorMode>> = ["xts"],
        /// MiB of the ramdisk in each guest
        disk_mib: Count<8, 16_384> = 64,
        /// Virtual CPUs of each guest
        vcpus: Count<1, { vm::VCPUS_MAX as usize }> = 2,
        /// QEMU's model of the guests' CPU, with AES-NI
        cpu: String = "max",
        /// Release of the guests' kernel; empty: the first of the cache
        kernel: String = "",
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct DiskGuest(Config);

/// What is moved through which mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// None: it is not encrypted.
    mode: Option<SectorMode>,
    direction: Direction,
}

impl Place {
    fn plain(self) -> Self {
        Self { mode: None, ..self }
    }

    fn is_encrypted(&self, direction: Direction) -> bool {
        self.mode.is_some() && self.direction == direction
    }
}

impl DiskGuest {
    /// Those that have a guest.
    fn guests(subjects: &Subjects<Self>) -> Vec<Arm> {
        let has = |arm: &Arm| subjects.iter().any(|own| own.arm.guest() == *arm);
        Arm::GUESTS.into_iter().filter(has).collect()
    }

    /// Of a mode.
    fn arms(&self, mode: SectorMode) -> impl Iterator<Item = Arm> {
        let has_flags = self.0.flag_modes.values().any(|own| own == mode);
        let arms = self.0.arms.values();
        arms.filter(move |arm| has_flags || !arm.has_flags())
    }

    /// The first mode says most, then the other modes; a driver removed and flags less.
    fn subject(&self, place: Place, arm: Arm) -> Subject<Place, Arm> {
        let mode = place.mode.map(|mode| format!("aes-{mode}-plain"));
        let spot = Spot::new()
            .named("disk_mode", mode.as_deref().unwrap_or("unencrypted"))
            .named("direction", place.direction)
            .with("arm", arm.name(), arm.words())
            .also("guest_cpu", &*arm.cpu(&self.0.cpu));
        let is_first = place.mode.is_none_or(|mode| mode == *self.0.modes[0]);
        let is_more = arm != Arm::Shown && arm != Arm::Hidden;
        Subject::new(place, arm, spot).ranked(u8::from(is_more) + 2 * u8::from(!is_first))
    }
}

impl Experiment for DiskGuest {
    const NAME: &'static str = "disk-guest";
    const TITLE: &'static str = "Disk encryption in guests, with and without AES-NI";
    const CREATES: &'static [&'static str] = &[
        "one QEMU process for each way to have AES-NI; they end with the section, and with lockgate",
    ];
    const QUESTION: Question = Question {
        what: "What hiding AES-NI costs a guest that encrypts its disk",
        against: "the book chapter's figures 9-5 and 9-6",
    };

    type Config = Config;
    type Place = Place;
    type Arm = Arm;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        for mode in config.modes.values() {
            check_sectors(mode, config.key_bits.get() / 8, 512)?;
        }
        check_cpu(&config.cpu)?;
        Ok(Self(config))
    }

    fn config(&self) -> &Config {
        &self.0
    }

    fn needs(&self, _: &Probe) -> Result<(), PlanError> {
        Disks::find(&self.0.kernel).map(drop)
    }

    /// Unencrypted first.
    fn subjects(&self, _: &Host) -> Vec<Subject<Place, Arm>> {
        let mut subjects = Vec::new();
        for direction in self.0.directions.values() {
            let plain = Place {
                mode: None,
                direction,
            };
            subjects.push(self.subject(plain, Arm::Shown));
            for mode in self.0.modes.values() {
                let mode_of = Some(mode);
                let place = Place {
                    mode: mode_of,
                    direction,
                };
                subjects.extend(self.arms(mode).map(|arm| self.subject(place, arm)));
            }
        }
        subjects
    }

    fn times(&self) -> Times {
        Times::new(SLICE_S, OVERHEAD_S)
    }

    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        let (guests, trials) = (Self::guests(subjects).len() as f64, subjects.len() as f64);
        guests * BOOT_S + trials * (OVERHEAD_S + SLICE_S.0 + MAPPING_S)
    }

    fn steps(&self) -> Vec<String> {
        let disks = Disks::find(&self.0.kernel);
        let step = disks.map(|disks| format!("up to three guests: {}", disks.parts.words()));
        step.into_iter().collect()
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        let disks = Disks::find(&self.0.kernel).map_err(Stopped::failed)?;
        let config = self.0.clone();
        let boot = move |arm, go_on: &dyn Fn() -> bool| disks.boot(arm, &config, go_on);
        Ok(Box::new(OnGuests::new(self.clone(), host, Box::new(boot))))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![SPEED, GUEST_CPU]
    }

    /// What showing AES-NI gains, what a missing driver loses, what flags gain, and
    /// what encrypting costs.
    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Place, Arm>> {
        // What an emulator gains is no reason to change anything.
        let change = match vm::accelerator_here().0 {
            vm::Accelerator::Kvm => "Show guests AES-NI",
            vm::Accelerator::Tcg => "",
        };
        let of = |own: &Subject<Place, Arm>| {
            let (place, arm) = (own.place, own.arm);
            let over = |reference: Arm| Pair::at(place, (arm, reference), SPEED);
            let cost = || Pair::new((place, arm), (place.plain(), Arm::Shown), SPEED);
            match arm {
                Arm::Shown => {
                    let gain = over(Arm::Hidden).changed_by(change);
                    vec![gain, over(Arm::Removed), cost()]
                }
                Arm::Hidden => Vec::new(),
                Arm::Removed => vec![over(Arm::Hidden)],
                _ => vec![over(Arm::Shown)],
            }
        };
        let encrypted = subjects.iter().filter(|own| own.place.mode.is_some());
        encrypted.flat_map(of).collect()
    }

    fn views(&self) -> Vec<View<Place, Arm>> {
        let guests = match vm::accelerator_here().0 {
            vm::Accelerator::Kvm => "guests with KVM",
            vm::Accelerator::Tcg => "emulated guests",
        };
        let note = &format!(
            "Measured in {guests}: dd with blocks of 1 MiB and O_DIRECT over a ramdisk; the driver is read back from the guest's kernel. Medians over the rounds."
        );
        let columns = || {
            [
                Cells::Also("driver", "driver read back"),
                Cells::of(SPEED, "speed"),
                Cells::Ratio(SPEED, Arm::Hidden, "÷ hidden"),
                Cells::Verdict,
            ]
        };
        let chart = |title, what, label, only: Only<Place, Arm>| {
            let rows = Rows::new(title, note, label, what);
            rows.series("arm").only(only).into()
        };
        let speed = |title, only| chart(title, Shown::Value(SPEED), "speed (MB/s)", only);
        let flags = Shown::Ratio(SPEED, Arm::Shown);
        let sheet = |title, only: Only<Place, Arm>| {
            let sheet = Sheet::new(title, note, columns());
            sheet.only(only).into()
        };
        vec![
            speed("Reading, by AES-NI (figure 9-5)", |place, arm| {
                place.is_encrypted(Direction::Read) && !arm.has_flags()
            }),
            speed("Writing, by AES-NI (figure 9-6)", |place, arm| {
                place.is_encrypted(Direction::Write) && !arm.has_flags()
            }),
            chart(
                "Flags of dm-crypt's work queues",
                flags,
                "speed over that without",
                |_, arm| arm.has_flags(),
            ),
            sheet("Reading", |place, _| place.direction == Direction::Read),
            sheet("Writing", |place, _| place.direction == Direction::Write),
        ]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::findings(results)
    }
}

#[cfg(test)]
mod tests;
