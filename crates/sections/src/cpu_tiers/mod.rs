//! The section `cpu-tiers`: what each feature of this CPU is worth, or what a CPU
//! model that hides it costs a guest. No guest takes part: each tier is a process
//! whose libraries are masked, on this host's silicon.

mod findings;
mod work;

use cpu::Numbers;
use crypto::{Algorithm, Kind, SectorMode, Workload};
use kit::apart::{self, Workers};
use kit::config::checks::{check_blocks, check_kind, check_sectors};
use kit::evidence::Evidence;
use kit::load::alone::Slice;
use kit::load::benches::{REQUESTS, SPEED, WORKERS_CPU};
use kit::prelude::*;
use kit::tiers::{self, Hidden, label};
use probe::tier::Choice;

pub use work::Work;
pub use work::serve;

const BLOCK_BYTES_MAX: usize = 1 << 20;
/// Requests in turn: enough for the widest kernel.
const DEPTH: usize = 16;
/// A new RSA key of 2048 bits in each process, seconds.
const KEY_S: f64 = 0.1;

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Algorithms, each of their operations apart
        algorithms: List<Name<Algorithm>> = [
            "aes-256-gcm", "aes-128-cbc", "sha256", "aes-128-gcm", "aes-256-xts", "aes-256-cbc",
            "aes-128-ctr", "aes-256-ctr", "chacha20-poly1305", "rsa-2048-pss", "ecdsa-p256",
            "x25519", "sha1", "sha512", "hmac-sha256", "aes-128-ecb", "aes-256-ecb",
        ],
        /// Disk modes, each with the longest key and IV plain64, read and written
        modes: List<Name<SectorMode>> = ["xts", "cbc", "ctr", "ecb", "lrw", "pcbc"],
        /// Bytes of a sector
        sector_bytes: Bytes<512, 4096> = 4096,
        /// Whether integers and floats on registers alone are measured
        vectors: bool = true,
        /// Bytes of one request
        block_bytes: Bytes<16, BLOCK_BYTES_MAX> = 16_384,
        /// What is hidden; auto: each lower tier, and SHA-NI, ADX and AES-NI alone
        hidden: Hidden = None,
        /// Library that computes; one request after the other, as most programs do
        backend: BackendName = BackendName::from("aws-lc"),
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct CpuTiers(Config);

impl CpuTiers {
    fn choices(&self, host: &Host) -> Vec<Choice> {
        tiers::choices(host, &self.0.hidden, |_| true)
    }

    /// By rank: the first of each kind of work says most.
    fn works(&self, host: &Host) -> Vec<(u8, Work)> {
        let own = &self.0;
        let block_bytes = own.block_bytes.get();
        let mut works = Vec::new();
        for (rank, algorithm) in (0..).zip(own.algorithms.values()) {
            for &operation in algorithm.operations() {
                let kind = Kind::new(algorithm, operation);
                let block_bytes = Workload::input_bytes(kind, block_bytes);
                // A request with a public key is long by itself.
                let depth = match algorithm.is_public_key() {
                    true => 1,
                    false => host.requests_held(DEPTH, block_bytes),
                };
                works.push((
                    rank,
                    Work::Crypto {
                        kind,
                        block_bytes,
                        depth,
                    },
                ));
            }
        }
        for (rank, mode) in (0..).zip(own.modes.values()) {
            let sector_bytes = own.sector_bytes.get();
            let of = |encrypt| {
                (
                    rank,
                    Work::Sectors {
                        mode,
                        sector_bytes,
                        encrypt,
                    },
                )
            };
            works.extend([true, false].map(of));
        }
        if own.vectors {
            works.extend([Numbers::Integers, Numbers::Floats].map(|one| (0, Work::Vector(one))));
        }
        works
    }

    fn spot(work: Work, choice: Choice, whole: Choice) -> Spot {
        let spot = match work {
            Work::Crypto {
                kind, block_bytes, ..
            } => {
                let spot = Spot::new().with("algorithm", kind.algorithm.name(), work.words());
                let spot = spot.also("operation", kind.operation.name());
                spot.also("block_bytes", block_bytes as u64)
            }
            Work::Sectors {
                mode,
                sector_bytes,
                encrypt,
            } => {
                let direction = if encrypt { "write" } else { "read" };
                let spot = Spot::new().with("disk_mode", mode.name(), work.words());
                let spot = spot.also("direction", direction);
                spot.also("sector_bytes", sector_bytes as u64)
            }
            Work::Vector(numbers) => {
                let numbers = if numbers == Numbers::Floats {
                    "f32"
                } else {
                    "i16"
                };
                Spot::new().with("numbers", numbers, work.words())
            }
        };
        spot.with("tier", choice.to_string().as_str(), label(choice, whole))
    }
}

impl Experiment for CpuTiers {
    const NAME: &'static str = "cpu-tiers";
    const TITLE: &'static str = "The price of each CPU feature";
    const QUESTION: Question = Question {
        what: "What hiding a CPU feature from a guest costs",
        against: "the book chapter (reads 40 to 91% faster with AES-NI, writes 16 to 50%; SIMD 60% to 2.35× a generation)",
    };

    type Config = Config;
    type Place = Work;
    type Arm = Choice;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        for mode in config.modes.values() {
            check_sectors(mode, mode.key_bytes()[2], config.sector_bytes.get())?;
        }
        for algorithm in config.algorithms.values() {
            for &operation in algorithm.operations() {
                let kind = Kind::new(algorithm, operation);
                check_kind("algorithms", &config.backend, kind)?;
                check_blocks("block_bytes", kind, [config.block_bytes.get()])?;
            }
        }
        Ok(Self(config))
    }

    fn config(&self) -> &Config {
        &self.0
    }

    fn needs(&self, _: &Probe) -> Result<(), PlanError> {
        tiers::needs()
    }

    fn subjects(&self, host: &Host) -> Vec<Subject<Work, Choice>> {
        let choices = self.choices(host);
        let Some(&whole) = choices.first() else {
            return Vec::new();
        };
        let works = self.works(host);
        let renewal_s = apart::START_S / works.len() as f64;
        let of = |(rank, work): (u8, Work)| {
            let key_s = if work.has_new_key() { KEY_S } else { 0.0 };
            let subject = move |&choice: &Choice| {
                Subject::new(work, choice, Self::spot(work, choice, whole))
                    .ranked(rank)
                    .weighing(1.0, renewal_s + key_s)
            };
            choices.iter().map(subject).collect::<Vec<_>>()
        };
        works.into_iter().flat_map(of).collect()
    }

    fn left_out(&self, host: &Host) -> Option<String> {
        tiers::left_out(host, &self.0.hidden)
    }

    fn times(&self) -> Times {
        Times {
            least_s: 0.008,
            good_s: 0.015,
            most_s: 0.05,
            overhead_s: apart::OVERHEAD_S,
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
        let cpu = host.quiet_cpu();
        let backend = self.0.backend.name();
        Ok(trials(
            move |subject: &Subject<Work, Choice>, length, go_on| {
                let work = subject.place;
                let slice = Slice { length, go_on };
                let asked = (work.to_string(), backend);
                let did = workers.trial(subject.arm, &asked, &[cpu], slice)?;
                let rate = did.requests_per_s();
                let speed = work.bytes().map(|bytes| (SPEED, rate * bytes as f64 / 1e6));
                let values = [(REQUESTS, rate), (WORKERS_CPU, cpu as f64)];
                let mut reading = Reading::new(values.into_iter().chain(speed).collect());
                let evidence: Evidence = did.evidence(cpu, work.footprint_bytes());
                reading.evidence = Some(evidence);
                Ok(reading)
            },
        ))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![REQUESTS, SPEED, WORKERS_CPU]
    }

    /// Everything over the whole CPU; registers also over the width before, as the
    /// source has it.
    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Work, Choice>> {
        let Some(whole) = tiers::whole(subjects.iter().map(|own| own.arm)) else {
            return Vec::new();
        };
        let mut pairs: Vec<_> = subjects
            .iter()
            .filter(|own| own.arm != whole)
            .map(|own| Pair::at(own.place, (own.arm, whole), REQUESTS))
            .collect();
        for own in subjects
            .iter()
            .filter(|own| matches!(own.place, Work::Vector(_)))
        {
            let step = findings::STEPS
                .iter()
                .find(|(wide, _)| Choice::whole(*wide) == own.arm);
            pairs.extend(step.map(|(wide, narrow)| {
                let arms = (Choice::whole(*wide), Choice::whole(*narrow));
                Pair::at(own.place, arms, REQUESTS)
            }));
        }
        pairs
    }

    fn views(&self) -> Vec<View<Work, Choice>> {
        let note = "One core, one request after the other; a column for what is hidden. Hiding a tier hides all above it, too. MB/s are 10^6 bytes a second; medians over the rounds.";
        let sheet = |title: &str, measure: Measure| {
            Sheet::<Work, Choice>::new(title, note, vec![Cells::of(measure, "")]).across("tier")
        };
        let rows = |title: &str, only: Only<Work, Choice>| -> View<Work, Choice> {
            Rows::new(title, note, "speed", Shown::Value(SPEED))
                .scale(Scale::Log10)
                .series("tier")
                .only(only)
                .into()
        };
        vec![
            rows(
                "AES-128 and AES-256 by what is hidden (figures 9-7 and 9-8)",
                |work, _| matches!(work, Work::Crypto { kind, .. } if kind.algorithm.name().starts_with("aes-")),
            ),
            rows("Disk modes by what is hidden", |work, _| {
                matches!(work, Work::Sectors { .. })
            }),
            sheet("Speed by what is hidden", SPEED)
                .only(|work, _| work.bytes().is_some())
                .into(),
            sheet("Rates by what is hidden", REQUESTS)
                .only(|work, _| work.bytes().is_none())
                .into(),
        ]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::findings(results)
    }

    fn more(&self, results: &Results<'_, Self>) -> Vec<Event> {
        findings::costs(results)
            .map(Event::Table)
            .into_iter()
            .collect()
    }
}

#[cfg(test)]
mod tests;
