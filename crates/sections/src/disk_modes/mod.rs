//! The section `disk-modes`: what encrypting a volume costs, by mode, and what AES-NI
//! and wider instructions gain, on this host's silicon.

mod findings;
mod work;

use cpu::Tier;
use crypto::SectorMode;
use kit::apart::{self, Workers};
use kit::config::checks::check_sectors;
use kit::config::choices::Direction;
use kit::evidence::Evidence;
use kit::load::alone::Slice;
use kit::load::benches::{SPEED, WORKERS_CPU};
use kit::load::rig::Cores;
use kit::prelude::*;
use kit::tiers::{self, Hidden, label};
use probe::tier::Choice;

pub use work::serve;
use work::{PIECE_BYTES, Storage, Work};

const THREADS_MAX: usize = 256;
const VOLUME_BYTES_MAX: usize = 64 << 30;
/// Filling a MiB of a volume, seconds.
const FILL_S: f64 = 0.001;

/// CPU time for 10⁹ bytes: what a machine spends, however fast its disk is.
const CPU_TIME: Measure = Measure::lower("cpu_s_per_gb", "s/GB");

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Modes, each with IV plain64
        modes: List<Name<SectorMode>> = ["xts", "cbc", "ctr", "ecb", "lrw", "pcbc"],
        /// Bits of the key: 256 is AES-128 for xts and lrw, AES-256 for others
        key_bits: Count<128, 512> = 256,
        /// Bytes of a sector
        sector_bytes: Bytes<512, 4096> = 512,
        /// What volumes are kept in: memory, or a file without the page cache (O_DIRECT)
        storages: List<Name<Storage>> = ["memory", "file"],
        /// Directions
        directions: List<Name<Direction>> = ["write", "read"],
        /// Threads, each on a CPU of its own
        threads: List<Count<1, THREADS_MAX>> = [1],
        /// Bytes of a volume, gone through again and again
        volume_bytes: Bytes<{ 1 << 20 }, VOLUME_BYTES_MAX> = 32 << 20,
        /// What is hidden; auto: VAES, AVX and AES-NI, each with all above it (avx2, aesni, aesni-aes)
        hidden: Hidden = None,
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct DiskModes(Config);

/// A volume, and how it is gone through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    storage: Storage,
    direction: Direction,
    threads: usize,
    /// None: it is not encrypted.
    mode: Option<SectorMode>,
}

impl Place {
    fn plain(self) -> Self {
        Self { mode: None, ..self }
    }

    fn spot(self) -> Spot {
        let mode = self.mode.map_or("unencrypted", SectorMode::name);
        let storage = match self.storage {
            Storage::Memory => "in memory",
            Storage::File => "O_DIRECT",
        };
        let threads = match self.threads {
            1 => String::new(),
            threads => format!("{threads} threads"),
        };
        Spot::new()
            .named("disk_mode", mode)
            .named("direction", self.direction.name())
            .with("storage", self.storage.name(), storage)
            .with("threads", self.threads as u64, threads)
    }
}

/// By default those at which disk code changes.
fn is_usual(choice: Choice) -> bool {
    choice.alone().is_none() && matches!(choice.tier, Tier::Aesni | Tier::Avx2)
}

impl DiskModes {
    fn choices(&self, host: &Host) -> Vec<Choice> {
        let mut choices = tiers::choices(host, &self.0.hidden, is_usual);
        // What the source compares with, where there is AES-NI to hide.
        let has_aes = choices
            .first()
            .is_some_and(|whole| whole.tier >= Tier::Aesni);
        if self.0.hidden.0.is_none() && has_aes {
            choices.push(findings::SOFTWARE);
        }
        choices
    }

    fn work(&self, place: Place) -> Work {
        Work {
            storage: place.storage,
            direction: place.direction,
            mode: place.mode.map(|mode| mode.name().to_owned()),
            key_bytes: self.0.key_bits.get() / 8,
            sector_bytes: self.0.sector_bytes.get(),
            volume_bytes: self.0.volume_bytes.get() as u64,
        }
    }

    /// Unencrypted first, by rank: memory and the first mode say most.
    fn places(&self, host: &Host) -> Vec<(u8, Place)> {
        let own = &self.0;
        let modes = || std::iter::once(None).chain(own.modes.values().map(Some));
        let mut places = Vec::new();
        for (of_storage, storage) in (0..).zip(own.storages.values()) {
            for (of_threads, threads) in (0..).zip(own.threads.values()) {
                for direction in own.directions.values() {
                    for (at, mode) in (0..).zip(modes()) {
                        let rank = 8 * (of_storage + of_threads) + u8::max(at, 1);
                        let place = Place {
                            storage,
                            direction,
                            threads,
                            mode,
                        };
                        places.push((rank, place));
                    }
                }
            }
        }
        places.retain(|(_, place)| place.threads <= host.cpus.len());
        places
    }
}

impl Experiment for DiskModes {
    const NAME: &'static str = "disk-modes";
    const TITLE: &'static str = "Disk encryption by mode";
    const CREATES: &'static [&'static str] = &[
        "files without a name, in memory and in the temporary folder, gone with the processes that made them",
    ];
    const QUESTION: Question = Question {
        what: "What encrypting a volume costs",
        against: "the book chapter (reads 40 to 91% faster with AES-NI, writes 16 to 50%)",
    };

    type Config = Config;
    type Place = Place;
    type Arm = Choice;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        let (key_bits, bytes) = (config.key_bits.get(), config.sector_bytes.get());
        for mode in config.modes.values() {
            check_sectors(mode, key_bits / 8, bytes)?;
        }
        Ok(Self(config))
    }

    fn config(&self) -> &Config {
        &self.0
    }

    fn needs(&self, _: &Probe) -> Result<(), PlanError> {
        tiers::needs()
    }

    fn subjects(&self, host: &Host) -> Vec<Subject<Place, Choice>> {
        let choices = self.choices(host);
        let Some(&whole) = choices.first() else {
            return Vec::new();
        };
        let mut subjects = Vec::new();
        let places = self.places(host);
        // Each round in new processes, with a new volume of each storage.
        let volumes = self.0.storages.len() as f64;
        let fill_s = volumes * FILL_S * (self.0.volume_bytes.get() >> 20) as f64;
        let renewal_s = (apart::START_S + fill_s) / places.len() as f64;
        for (rank, place) in places {
            // Without a cipher no instruction matters.
            let arms = if place.mode.is_some() {
                choices.as_slice()
            } else {
                &choices[..1]
            };
            let of = |&choice: &Choice| {
                let name = choice.to_string();
                let spot = place
                    .spot()
                    .with("tier", name.as_str(), label(choice, whole));
                Subject::new(place, choice, spot)
                    .ranked(rank)
                    .weighing(1.0, renewal_s)
            };
            subjects.extend(arms.iter().map(of));
        }
        subjects
    }

    fn left_out(&self, host: &Host) -> Option<String> {
        let more = self
            .0
            .threads
            .values()
            .find(|threads| *threads > host.cpus.len());
        let more = more.map(|threads| {
            format!(
                "{threads} threads, since this process may use {} CPUs",
                host.cpus.len()
            )
        });
        let both: Vec<_> = more
            .into_iter()
            .chain(tiers::left_out(host, &self.0.hidden))
            .collect();
        (!both.is_empty()).then(|| both.join("; "))
    }

    fn times(&self) -> Times {
        Times {
            least_s: 0.01,
            good_s: 0.03,
            most_s: 0.2,
            overhead_s: apart::OVERHEAD_S + 0.005,
        }
    }

    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        let mut tiers: Vec<_> = subjects.iter().map(|own| own.arm.to_string()).collect();
        tiers.sort_unstable();
        tiers.dedup();
        tiers.len() as f64 * apart::START_S
    }

    fn rig(&self, host: &Host, subjects: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        let trials_of = |choice| subjects.iter().filter(|own| own.arm == choice).count();
        let choices = self.choices(host).into_iter();
        let choices = choices.map(|choice| (choice, trials_of(choice)));
        let mut workers = Workers::start(Self::NAME, choices.filter(|(_, trials)| *trials > 0))?;
        // From the end, since CPU 0 takes most interrupts.
        let cpus: Vec<_> = host.cpus.iter().rev().copied().collect();
        let own = self.clone();
        Ok(trials(
            move |subject: &Subject<Place, Choice>, length, go_on| {
                let place = subject.place;
                let cpus = &cpus[..place.threads];
                let work = own.work(place);
                let did = workers.trial(subject.arm, &work, cpus, Slice { length, go_on })?;
                let bytes = did.requests * PIECE_BYTES as f64;
                let mut reading = Reading::new(vec![
                    (SPEED, bytes / did.seconds / 1e6),
                    (CPU_TIME, did.cpu.as_secs_f64() / (bytes / 1e9)),
                    (WORKERS_CPU, cpus[0] as f64),
                ]);
                let of_one = did.evidence(cpus[0], 2 * PIECE_BYTES);
                let sleeps = place.storage == Storage::File || place.threads > 1;
                reading.evidence = Some(Evidence {
                    pause_ns: if sleeps { 0.0 } else { of_one.pause_ns },
                    cores: Cores {
                        worker: cpus[0],
                        client: cpus[cpus.len() - 1],
                    },
                    cpus: cpus.len(),
                    ..of_one
                });
                Ok(reading)
            },
        ))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![SPEED, CPU_TIME, WORKERS_CPU]
    }

    /// What encrypting costs; what each tier gains over one without AES-NI, and over
    /// the whole.
    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Place, Choice>> {
        let Some(whole) = tiers::whole(subjects.iter().map(|own| own.arm)) else {
            return Vec::new();
        };
        let encrypted = subjects.iter().filter(|own| own.place.mode.is_some());
        let of = |own: &Subject<Place, Choice>| {
            let (place, arm) = (own.place, own.arm);
            let over = |reference: Choice| Pair::at(place, (arm, reference), SPEED);
            let plain = || Pair::new((place, arm), (place.plain(), whole), SPEED);
            let cost = (arm == whole).then(plain);
            let gain = (arm != findings::SOFTWARE).then(|| over(findings::SOFTWARE));
            let loss = (arm != whole && arm != findings::SOFTWARE).then(|| over(whole));
            [cost, gain, loss].into_iter().flatten().collect::<Vec<_>>()
        };
        encrypted.flat_map(of).collect()
    }

    fn views(&self) -> Vec<View<Place, Choice>> {
        let note = "Each volume is gone through by pieces of 64 KiB, encrypted by the calling thread. Hiding a feature hides all above it, too. Without AES-NI, AES is software in constant time on SSSE3; a kernel's is as fast, within a factor of two. Medians over the rounds.";
        let over = || Shown::Ratio(SPEED, findings::SOFTWARE);
        let gain = |title: &str, only: Only<Place, Choice>| -> View<Place, Choice> {
            Rows::new(title, note, "speed over that without AES-NI", over())
                .scale(Scale::Log10)
                .series("tier")
                .only(only)
                .into()
        };
        let columns = [
            Cells::of(SPEED, "speed"),
            Cells::of(CPU_TIME, "CPU time"),
            Cells::Ratio(SPEED, findings::SOFTWARE, "÷ without AES-NI"),
            Cells::Verdict,
        ];
        vec![
            gain("Reading, by what is hidden (figure 9-5)", |place, arm| {
                place.direction == Direction::Read
                    && place.mode.is_some()
                    && *arm != findings::SOFTWARE
            }),
            gain("Writing, by what is hidden (figure 9-6)", |place, arm| {
                place.direction == Direction::Write
                    && place.mode.is_some()
                    && *arm != findings::SOFTWARE
            }),
            Sheet::new("Every volume", note, columns).into(),
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
