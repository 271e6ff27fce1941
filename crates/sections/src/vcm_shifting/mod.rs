//! The section `vcm-shifting`: a load that changes. What every controller
//! keeps of each phase's best, and how soon it is there.
//!
//! A trial is a whole course. A controller's is one continuous run through all
//! phases: its state, its lanes and all threads carry over. Under fixed settings
//! (the oracle, no moderation, `armed`) it is a short trial in each phase. A
//! course is the place *all phases*, whose speed is the geometric mean; each
//! phase shares its trial.

mod findings;
mod phase;
mod recovery;
mod rig;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crypto::{Algorithm, Kind};
use kit::config::checks::{check_blocks, check_kind, check_sized, check_slots, within};
use kit::controllers::contender::{Contender, ControllerName};
use kit::controllers::{departures, parameters};
use kit::load::benches::{
    ALONE, CAP, CLIENT_CPU, HELD, NOTIFICATIONS, REQUESTS, SPEED, WORKER_CPU,
};
use kit::place::Placement;
use kit::places::Places;
use kit::prelude::*;
use policy::controllers::{NAMES, Parameters};

use phase::Phase;
use recovery::{RECOVERED, STAYS_S};

/// Shorter phases end before a recovery within 300 ms shows; longer ones say no
/// more.
const PHASE_S: (f64, f64) = (0.5, 1.0);
/// A trial of fixed settings is this much shorter than a phase of a controller.
const FIXED: f64 = 0.1;
/// `adaptive` reaches this many times the speed of the paper's monitor.
const OF_PROSE: f64 = 1.25;

const SETTLED: Measure = Measure::higher("settled_mb_per_s", "MB/s");
const RECOVERY: Measure = Measure::lower("recovery_ms", "ms");
const TO_ORACLE: Measure = Measure::lower("to_oracle_ms", "ms");

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Algorithm of every request
        algorithm: Name<Algorithm> = "aes-128-cbc",
        /// The course: 2 to 64 phases, each of this many bytes a request, requests in flight a tenant, and tenants
        phases: Several<Phase> = ["1024x32x1", "64x64x1", "65536x8x1", "1024x1x1", "4096x16x2", "256x8x4", "16384x32x1", "64x4x1", "4096x1x4", "1024x64x1"],
        /// Seconds of each phase; auto: 0.5 to 1 by the budget
        phase_seconds: Auto<Real<1, 60_000>> = None,
        /// Milliseconds of the windows into which a phase is cut, to see when its speed stays
        window_ms: Real<1000, 1_000_000> = 20.0,
        /// Whether the client shares the worker's core
        placement: Name<Placement> = "shared",
        /// Controllers that are compared with the best fixed setting
        controllers: List<Name<ControllerName>> = NAMES,
        /// Milliseconds between two looks of the controllers whose sources have 1 s; auto: as those
        interval_ms: Auto<Real<1000, 10_000_000>> = Some(100.0.into()),
        /// Library that computes
        backend: BackendName = BackendName::default(),
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct Shifting {
    config: Config,
    kind: Kind,
    parameters: Parameters,
}

/// A part of the course, or all of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    All,
    /// By its index.
    Phase(usize),
}

/// What a controller says of itself, and in how many of its courses.
type Remarks = BTreeMap<(&'static str, &'static str), usize>;

impl Shifting {
    fn phases(&self) -> impl Iterator<Item = Place> {
        (0..self.config.phases.len()).map(Place::Phase)
    }

    /// What takes least first, then ours: a plan lets go of them last.
    fn contenders(&self) -> Vec<Contender> {
        let mut all = Contender::all(&self.config.controllers);
        all[1..].sort_by_key(|arm| *arm != Contender::ADAPTIVE);
        all
    }

    /// The most of all phases.
    fn most(&self, of: impl Fn(&Phase) -> usize) -> usize {
        self.config.phases.iter().map(of).max().unwrap_or(1)
    }

    /// Every block size, once.
    fn sizes_bytes(&self) -> BTreeSet<usize> {
        let phases = self.config.phases.iter();
        phases.map(|phase| phase.block_bytes).collect()
    }

    /// Controllers that no headline is about come last, unless the user
    /// chose them.
    fn rank(&self, arm: Contender) -> u8 {
        let is_usual = self.config.controllers == Config::default().controllers;
        u8::from(is_usual && arm.is_other())
    }

    fn spot(&self, place: Place, arm: Contender) -> Spot {
        let spot = Spot::new()
            .also("algorithm", self.kind.algorithm.name())
            .also("operation", self.kind.operation.name());
        let spot = match place {
            Place::All => spot.with("phase", "all", "all phases"),
            Place::Phase(index) => {
                let phase = &self.config.phases[index];
                let words = format!("phase {}, {}", index + 1, phase.label());
                spot.with("phase", index as u64 + 1, words)
                    .following("block_bytes", phase.block_bytes as u64, "")
                    .following("depth", phase.depth as u64, "")
                    .following("tenants", phase.tenants as u64, "")
            }
        };
        spot.also("placement", self.config.placement.name())
            .also("backend", self.config.backend.name())
            .named("arm", arm)
    }
}

impl Experiment for Shifting {
    const NAME: &'static str = "vcm-shifting";
    const TITLE: &'static str = "A load that changes: what each controller keeps of the best";
    const QUESTION: Question = Question {
        what: "What a controller keeps of a load that changes",
        against: "the best fixed setting of each phase (the VCM paper has no such figure; it claims that speed stays at its highest)",
    };

    type Config = Config;
    type Place = Place;
    type Arm = Contender;
    type Notes = Remarks;

    fn new(config: Config) -> Result<Self, ConfigError> {
        let kind = Kind::from(config.algorithm.0);
        check_sized("algorithm", kind)?;
        check_kind("algorithm", &config.backend, kind)?;
        within("phases", &[config.phases.len()], 2, 64)?;
        check_blocks(
            "phases",
            kind,
            config.phases.iter().map(|phase| phase.block_bytes),
        )?;
        if config.phase_seconds.0.is_some() && config.common.seconds.0.is_some() {
            let reason = "both it and seconds say how long a phase is; name one of them";
            return Err(ConfigError::value("phase_seconds", reason));
        }
        let own = Self {
            kind,
            parameters: parameters(config.interval_ms.0.map_or(0.0, Real::get))?,
            config,
        };
        // Every tenant has slots of every size, as deep as the deepest phase.
        let slots = own.most(|phase| phase.depth) * own.most(|phase| phase.tenants);
        let all = (slots, own.sizes_bytes().iter().sum());
        check_slots("phases", all, "lower the depth, the tenants or the sizes")?;
        Ok(own)
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn subjects(&self, host: &Host) -> Vec<Subject<Place, Contender>> {
        if self.places(host).kept.is_empty() {
            return Vec::new();
        }
        let trials_s = self.config.phases.len() as f64 * rig::TRIAL_S;
        let of = |arm| {
            let (weight, overhead_s) = match arm {
                Contender::Controlled(_) => (1.0, rig::COURSE_S),
                _ => (FIXED, trials_s),
            };
            let one = move |place| {
                Subject::new(place, arm, self.spot(place, arm))
                    .ranked(self.rank(arm))
                    .weighing(weight, overhead_s)
            };
            let phases = self.phases().map(move |place| one(place).sharing_trial());
            std::iter::once(one(Place::All)).chain(phases)
        };
        self.contenders().into_iter().flat_map(of).collect()
    }

    fn places(&self, host: &Host) -> Places {
        Places::of(&[self.config.placement.0], &host.cpus)
    }

    /// Of a controller's course.
    fn times(&self) -> Times {
        let own = self.config.phase_seconds.0.map(Real::get);
        let (least_s, most_s) = own.map_or(PHASE_S, |own| (own, own));
        let count = self.config.phases.len() as f64;
        Times::new((count * least_s, count * most_s), 0.0)
    }

    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        rig::start_s(&self.config.phases, subjects)
    }

    fn steps(&self) -> Vec<String> {
        let phases: Vec<_> = self.config.phases.iter().map(Phase::label).collect();
        vec![format!(
            "a trial goes through {} phases: {}; {FIXED} as long under the oracle, uncapped and armed, which is short trials in each phase",
            phases.len(),
            phases.join("; ")
        )]
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        Ok(Box::new(rig::OnBench::start(self, host)?))
    }

    fn measures(&self) -> Vec<Measure> {
        let of_changes = [HELD, ALONE, CAP, SETTLED, RECOVERY, TO_ORACLE];
        let of_loads = [REQUESTS, SPEED, NOTIFICATIONS, CLIENT_CPU, WORKER_CPU];
        [&of_loads[..], &of_changes].concat()
    }

    /// Over all phases first. Of these only the gain over the paper's controller is a
    /// target; of each phase it is none.
    fn pairs(&self, _: &Subjects<Self>) -> Vec<Pair<Place, Contender>> {
        let of = |place: Place| {
            let arms = (Contender::ADAPTIVE, Contender::PROSE);
            let over_prose = Pair::at(place, arms, SPEED).wanting(OF_PROSE);
            let contenders = self.contenders().into_iter();
            let all = contenders.flat_map(move |arm| arm.pairs(&place, SPEED));
            all.chain([over_prose]).map(move |pair| {
                let is_over_prose = pair.reference.1 == Contender::PROSE;
                let is_asked = is_over_prose == (place == Place::All);
                let target = pair.target.filter(|_| is_asked);
                pair.wanting(target)
            })
        };
        [Place::All]
            .into_iter()
            .chain(self.phases())
            .flat_map(of)
            .collect()
    }

    fn views(&self) -> Vec<View<Self::Place, Self::Arm>> {
        let departures = departures(self.config.controllers.iter().map(|name| name.0.0));
        let note = format!(
            "Settled: the later half of a phase. Recovered: the first window ({} ms) from which on the speed stays for {:.0} ms at {RECOVERED} of that, a single window aside; or of the oracle's speed as it was measured last, where a run came to that.{departures}",
            self.config.window_ms.get(),
            STAYS_S * 1e3
        );
        let shares = format!(
            "1 is the phase's oracle, measured again beside the others. Whiskers: 95% interval of the median of paired ratios.{departures}"
        );
        let of_oracle = Shown::Ratio(SPEED, Contender::Oracle);
        let everyone = "Everyone's share of each phase's best fixed setting";
        let soon = "How soon after each change";
        let recovery = Shown::Value(RECOVERY);
        let columns = [
            Cells::Also("oracle", "setting"),
            Cells::of(SPEED, "speed"),
            Cells::Ratio(SPEED, Contender::Oracle, "of the oracle"),
            Cells::Ratio(SPEED, Contender::Uncapped, "of uncapped"),
            Cells::of(SETTLED, "settled at"),
            Cells::of(RECOVERY, "recovered after"),
            Cells::of(TO_ORACLE, "at the oracle's after"),
            Cells::of(NOTIFICATIONS, "notifications"),
            Cells::of(HELD, "held back"),
            Cells::of(CAP, "cap at the end"),
            Cells::P99,
            Cells::Verdict,
        ];
        vec![
            Rows::new(everyone, shares, "share of the oracle", of_oracle)
                .series("arm")
                .into(),
            Rows::new(soon, &*note, "recovered after", recovery)
                .series("arm")
                .only(|place, arm| *place != Place::All && matches!(arm, Contender::Controlled(_)))
                .into(),
            Sheet::new(
                "What everyone keeps of each phase, and how soon",
                format!("Medians over the rounds. {note}"),
                columns,
            )
            .into(),
        ]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::findings(results)
    }
}
