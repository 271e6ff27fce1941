//! The section `cpu-guest`: the source's walk through CPU models, from QEMU's default to
//! the whole CPU. Each step is a guest: which drivers its kernel then uses, and what
//! OpenSSL gains in it.

mod rig;
mod step;

use crypto::{Algorithm, Kind};
use kit::guest::{BOOT_S, emulated, is_emulated};
use kit::openssl;
use kit::prelude::*;
use kit::words::finding;
use trial::Weight;

use rig::{Guests, OnGuests, SPEED};
use step::Step;

/// `openssl speed` measures whole seconds.
const SLICE_S: (f64, f64) = (1.0, 1.0);
/// The command into the guest, the program's start, the pause of another.
const OVERHEAD_S: f64 = 0.4;

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// What OpenSSL computes
        algorithms: List<Name<Algorithm>> = ["aes-256-gcm", "sha256", "chacha20-poly1305"],
        /// Bytes of a request
        block_bytes: Count<16, 65_536> = 16_384,
        /// What guests are shown
        steps: List<Name<Step>> = Step::ALL.map(Name),
        /// Release of the guests' kernel; empty: the first of the cache
        kernel: String = "",
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct CpuGuest(Config);

impl CpuGuest {
    fn steps(subjects: &Subjects<Self>) -> Vec<Step> {
        let has = |step: &Step| subjects.iter().any(|own| own.arm == *step);
        Step::ALL.into_iter().filter(has).collect()
    }
}

impl Experiment for CpuGuest {
    const NAME: &'static str = "cpu-guest";
    const TITLE: &'static str = "What a guest makes of the CPU it is shown";
    const CREATES: &'static [&'static str] =
        &["one QEMU process for each CPU model; they end with the section, and with lockgate"];
    const QUESTION: Question = Question {
        what: "What each step from QEMU's default CPU to the whole one gains a guest",
        against: "the book chapter's sections 9.3.1 to 9.3.4",
    };

    type Config = Config;
    type Place = Algorithm;
    type Arm = Step;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        let is_unknown = |own: &Algorithm| !openssl::knows(Kind::from(*own));
        let unknown = config.algorithms.values().find(is_unknown);
        if let Some(other) = unknown {
            let error =
                format!("{other}: `openssl speed` does not measure it as we do; take another");
            return Err(ConfigError::value("algorithms", error));
        }
        Ok(Self(config))
    }

    fn config(&self) -> &Config {
        &self.0
    }

    fn needs(&self, _: &Probe) -> Result<(), PlanError> {
        Guests::find(&self.0.kernel).map(drop)
    }

    /// The first algorithm says most.
    fn subjects(&self, _: &Host) -> Vec<Subject<Algorithm, Step>> {
        let (accelerator, _) = vm::accelerator_here();
        let mut subjects = Vec::new();
        for (rank, algorithm) in self.0.algorithms.values().enumerate() {
            for step in self.0.steps.values() {
                let spot = Spot::new()
                    .named("algorithm", algorithm)
                    .with("step", step.name(), step.words())
                    .also("block_bytes", self.0.block_bytes.get() as u64)
                    .also("guest_cpu", &*step.cpu(accelerator));
                subjects.push(Subject::new(algorithm, step, spot).ranked(u8::from(rank > 0)));
            }
        }
        subjects
    }

    fn times(&self) -> Times {
        Times::new(SLICE_S, OVERHEAD_S)
    }

    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        Self::steps(subjects).len() as f64 * BOOT_S
    }

    fn steps(&self) -> Vec<String> {
        let guests = Guests::find(&self.0.kernel);
        let step = guests.map(|own| format!("a guest a CPU model: {}", own.parts.words()));
        step.into_iter().collect()
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        let guests = Guests::find(&self.0.kernel).map_err(Stopped::failed)?;
        let boot = move |step, go_on: &dyn Fn() -> bool| guests.boot(step, go_on);
        Ok(Box::new(OnGuests::new(self.clone(), host, Box::new(boot))))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![SPEED]
    }

    /// Each step over the one before, and the whole CPU over the first.
    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Algorithm, Step>> {
        let of = |own: &Subject<Algorithm, Step>| {
            let before = own.arm.before()?;
            Some(Pair::at(own.place, (own.arm, before), SPEED))
        };
        subjects.iter().filter_map(of).collect()
    }

    fn views(&self) -> Vec<View<Algorithm, Step>> {
        let note = "Measured by openssl speed in a guest for each CPU model; drivers are what the guest's kernel takes for AES-GCM and SHA-256. Medians over the rounds.";
        let rows = Rows::new(
            "What a guest computes, by the CPU it is shown",
            note,
            "speed, MB/s",
            Shown::Value(SPEED),
        );
        let columns = [
            Cells::Also("kernel_aes", "kernel's AES-GCM"),
            Cells::Also("kernel_sha256", "kernel's SHA-256"),
            Cells::of(SPEED, "speed"),
            Cells::Ratio(SPEED, Step::Baseline, "÷ qemu64"),
            Cells::Verdict,
        ];
        vec![
            rows.series("step").into(),
            Sheet::new("By the CPU that guests are shown", note, columns).into(),
        ]
    }

    /// What the steps gain the first algorithm.
    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        let first = results.experiment.0.algorithms.values().next()?;
        let told = results.told().iter();
        let own = told.filter(|own| own.ratio.is_believed && own.pair.arm.0 == first);
        let words: Vec<_> = own
            .map(|own| format!("{} {}", own.pair.arm.1.words(), own.ratio.words()))
            .collect();
        let text = format!(
            "OpenSSL's {first} in a guest, each CPU over the one before and the whole one over QEMU's default: {} ({}).",
            words.join("; "),
            results.about.words()
        );
        let remedy = match is_emulated(&results.about) {
            true => {
                "Run where a guest boots with KVM for what silicon gains; `lockgate cpu price` has it without a guest."
            }
            false => "`lockgate cpu advise` names the CPU that shows most and lets guests move.",
        };
        (!words.is_empty()).then(|| Answer::new(text, remedy))
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        let note = |words: &str| finding(Weight::Note, words.to_owned(), "");
        let left_out =
            self.0.steps.values().any(|step| step == Step::Avx512) && is_emulated(&results.about);
        let emulator = left_out.then(|| {
            note("The emulator shows no guest AVX-512: this step is not measured where KVM runs no guest.")
        });
        emulated(&results.about)
            .into_iter()
            .chain(emulator)
            .collect()
    }
}

#[cfg(test)]
mod tests;
