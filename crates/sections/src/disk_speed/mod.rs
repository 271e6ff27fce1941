//! The section `disk-speed`: runs of disk sectors, as dm-crypt encrypts them, on one core
//! and in place, beside what libraries give in bulk, in one call a sector, and a block at
//! a time.

mod arms;
mod findings;
mod grid;

use disk::Spec;
use kit::config::checks::check_sectors;
use kit::config::choices::Direction;
use kit::load::alone::Slice;
use kit::load::benches::{SPEED, WORKERS_CPU};
use kit::load::once;
use kit::prelude::*;

use arms::Work;
use grid::Arm::{Call, Run};
use grid::{Arm, Cipher, Place};

/// CPU time of a byte.
const BYTE: Measure = Measure::lower("cpu_ns_per_byte", "ns/byte");
/// What a program that encrypts sector by sector changes.
const IN_RUNS: &str = "Encrypt disk sectors in runs, not in one call a sector";
/// Rows of a table that a first page has room for.
const ROWS_MAX: usize = 12;
/// Source 002's disks and today's: AES with the longest and the shortest key.
const AES_BITS: [usize; 2] = [256, 128];
const CIPHERS: [&str; 6] = [
    "aes-xts-plain64",
    "aes-ctr-plain64",
    "aes-cbc-essiv:sha256",
    "aes-lrw-benbi",
    "aes-pcbc-plain64",
    "aes-ecb-null",
];

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Ciphers, as cryptsetup names them
        ciphers: List<Name<Cipher>> = CIPHERS,
        /// Bits of the whole key; auto: each cipher's with AES-256 and AES-128
        key_bits: Auto<List<Count<128, 512>>> = None,
        /// Bytes of a sector
        sector_bytes: List<Bytes<512, 4096>> = [4096, 512],
        /// Whether sectors are written (encrypted) or read (decrypted)
        directions: List<Name<Direction>> = ["write", "read"],
        /// Sectors that are encrypted together, in bytes
        run_bytes: Bytes<4096, 1_048_576> = 131_072,
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct DiskSpeed {
    config: Config,
}

impl DiskSpeed {
    /// Of a cipher: those asked for that it takes.
    fn key_bits(config: &Config, spec: Spec) -> Vec<usize> {
        let all = spec.mode.key_bytes().map(|bytes| bytes * 8);
        let takes = |bits: &usize| all.contains(bits);
        match &config.key_bits.0 {
            Some(asked) => asked.values().filter(takes).collect(),
            None => AES_BITS.map(|bits| all[(bits - 128) / 64]).to_vec(),
        }
    }

    fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        for Cipher(spec) in self.config.ciphers.values() {
            for key_bits in Self::key_bits(&self.config, spec) {
                for sector_bytes in self.config.sector_bytes.values() {
                    places.extend(self.config.directions.values().map(|direction| Place {
                        spec,
                        key_bits,
                        sector_bytes,
                        direction,
                    }));
                }
            }
        }
        places
    }
}

impl Experiment for DiskSpeed {
    const NAME: &'static str = "disk-speed";
    const TITLE: &'static str = "Disk encryption on one core, by mode";
    const QUESTION: Question = Question {
        what: "How fast a core encrypts disk sectors",
        against: "libraries in bulk, one call a sector, a block at a time",
    };

    type Config = Config;
    type Place = Place;
    type Arm = Arm;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        for Cipher(spec) in config.ciphers.values() {
            if Self::key_bits(&config, spec).is_empty() {
                let [a, b, c] = spec.mode.key_bytes().map(|bytes| bytes * 8);
                let reason = format!("{spec} takes keys of {a}, {b} or {c} bits; name one of them");
                return Err(ConfigError::value("key_bits", reason));
            }
            for bytes in config.sector_bytes.values() {
                check_sectors(spec.mode, spec.mode.key_bytes()[0], bytes)?;
            }
        }
        if !config.run_bytes.get().is_multiple_of(4096) {
            let reason = "a run is whole sectors; take a multiple of 4096";
            return Err(ConfigError::value("run_bytes", reason));
        }
        Ok(Self { config })
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn subjects(&self, _: &Host) -> Vec<Subject<Place, Arm>> {
        let of = |place: Place| {
            let subject =
                move |arm| Subject::new(place, arm, place.spot(arm)).ranked(place.rank(arm));
            place.arms().into_iter().map(subject)
        };
        self.places().into_iter().flat_map(of).collect()
    }

    fn times(&self) -> Times {
        Times {
            least_s: 0.02,
            good_s: 0.03,
            most_s: 0.04,
            overhead_s: once::OVERHEAD_S,
        }
    }

    fn start_s(&self, _: &Subjects<Self>) -> f64 {
        0.05
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        let cpu = host.quiet_cpu();
        let (run_bytes, mut checked) = (self.config.run_bytes.get(), Vec::new());
        Ok(trials(move |Subject { place, arm, .. }, length, go_on| {
            let work = Work::new(*place, *arm, run_bytes);
            if !checked.contains(&(*place, *arm)) {
                work.check()?;
                checked.push((*place, *arm));
            }
            let did = work.trial(cpu, Slice { length, go_on })?;
            let mut reading = Reading::new(vec![
                (SPEED, did.requests_per_s() / 1e6),
                (BYTE, did.cpu.as_nanos() as f64 / did.requests),
                (WORKERS_CPU, cpu as f64),
            ]);
            reading.evidence = Some(did.evidence(cpu, work.in_flight_bytes()));
            Ok(reading)
        }))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![SPEED, BYTE, WORKERS_CPU]
    }

    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Place, Arm>> {
        let of = |subject: &Subject<Place, Arm>| {
            let (place, reference) = (subject.place, subject.arm);
            let change = if reference == Call { IN_RUNS } else { "" };
            let pair = Pair::at(place, (Run, reference), SPEED);
            pair.wanting(place.target(reference)).changed_by(change)
        };
        let is_reference = |own: &&Subject<Place, Arm>| Arm::REFERENCES.contains(&own.arm);
        subjects.iter().filter(is_reference).map(of).collect()
    }

    fn views(&self) -> Vec<View<Self::Place, Self::Arm>> {
        let note = "In memory, in place, within L2, on one core. Runs make their IVs as well, the others have them. In bulk is one long message (of ipsec-mb eight), which CBC encrypts as a single stream. The ceiling is AES rounds on registers alone.";
        let is_short = self.places().len() <= ROWS_MAX;
        let most: Only<Place, Arm> = |place, _| place.aes_bits() == 256 && place.is_write();
        let speeds = |title: &str| -> Sheet<Place, Arm> {
            Sheet::new(title, note, [Cells::bare(SPEED, "")]).across("arm")
        };
        let title = "Disk sectors by mode, on one core";
        let rows = Rows::new(title, note, "speed", Shown::Value(SPEED)).series("arm");
        let all =
            (!is_short).then(|| speeds("Speed by mode, key, sector and direction, MB/s").into());
        let first = match is_short {
            true => speeds("Speed by mode, MB/s"),
            false => speeds("Speed of writing by mode with AES-256, MB/s").only(most),
        };
        let charts = [first.into(), rows.only(most).into()];
        charts.into_iter().chain(all).collect()
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
