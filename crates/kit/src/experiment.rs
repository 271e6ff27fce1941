//! What a section is, to be measured by the kit.
//!
//! ```text
//!  Config ──▶ Experiment ──▶ subjects: places × arms, each with its spot
//!                 │               │
//!                 │           plan: within any budget
//!                 │               │
//!                 └──▶ rig ──▶ rounds: every subject once, shuffled by place
//!                                 │
//!             pairs, views ──▶ results: verdicts, ratios, points, tables,
//!                              charts, findings
//! ```

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Debug;
use std::time::Duration;

use trial::{Chart, Direction, Event, Finding, PlanError, Price, Probe, Sink, Validity, Verdict};

use crate::ConfigError;
use crate::config::keys::Keys;
use crate::evidence::Evidence;
use crate::headline::{Answer, Question};
use crate::host::Host;
use crate::load::rig::LatencyCounts;
use crate::results::Results;
use crate::spot::Spot;
use crate::told::{broken, impossible};
use crate::view::View;

/// A quantity that trials give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// With its unit last: `speed_mb_per_s`.
    pub name: &'static str,
    /// For people: `MB/s`.
    pub unit: &'static str,
    pub direction: Direction,
}

impl Measure {
    /// More is better.
    #[must_use]
    pub const fn higher(name: &'static str, unit: &'static str) -> Self {
        let direction = Direction::Higher;
        Self {
            name,
            unit,
            direction,
        }
    }

    /// Less is better.
    #[must_use]
    pub const fn lower(name: &'static str, unit: &'static str) -> Self {
        let direction = Direction::Lower;
        Self {
            name,
            unit,
            direction,
        }
    }

    /// Neither is.
    #[must_use]
    pub const fn fact(name: &'static str, unit: &'static str) -> Self {
        let direction = Direction::Neutral;
        Self {
            name,
            unit,
            direction,
        }
    }
}

/// One thing that is measured again and again: an arm at a place.
#[derive(Clone, Debug)]
pub struct Subject<P, A> {
    pub place: P,
    pub arm: A,
    /// Its identity, and its words.
    pub spot: Spot,
    /// 0 says most and is left out last.
    pub rank: u8,
    /// How much longer than others' its trials are.
    pub weight: f64,
    /// What its trials take besides, more than others', seconds.
    pub overhead_s: f64,
    /// Measured by the trial of the subject before it, whose reading has its own
    /// in [`Reading::beside`].
    pub shares_trial: bool,
    /// Whether the first round alone has it, after all others: what it rests on
    /// is known then.
    pub is_once: bool,
}

impl<P, A> Subject<P, A> {
    pub fn new(place: P, arm: A, spot: Spot) -> Self {
        Self {
            place,
            arm,
            spot,
            rank: 0,
            weight: 1.0,
            overhead_s: 0.0,
            shares_trial: false,
            is_once: false,
        }
    }

    /// The same, measured by the trial of the subject before it.
    #[must_use]
    pub fn sharing_trial(self) -> Self {
        Self {
            shares_trial: true,
            ..self
        }
    }

    #[must_use]
    pub fn ranked(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// In how many of so many rounds it is.
    pub(crate) fn rounds(&self, all: usize) -> f64 {
        if self.is_once { 1.0 } else { all as f64 }
    }
}

/// The subjects of an experiment.
pub type Subjects<E> = [Subject<<E as Experiment>::Place, <E as Experiment>::Arm>];

/// How long trials are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Less means nothing, seconds.
    pub least_s: f64,
    /// So much is worth having before more is measured.
    pub good_s: f64,
    /// More says no more than another round would.
    pub most_s: f64,
    /// What a trial takes besides: warm-up, starting and ending.
    pub overhead_s: f64,
}

/// A ratio that is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair<P, A> {
    pub arm: (P, A),
    pub reference: (P, A),
    pub measure: Measure,
    /// The bound that the ratio's interval must keep, where a claim rests on it.
    pub target: Option<f64>,
    /// What to change to get the arm in place of the reference, as an order;
    /// empty where that is no change to make.
    pub change: Cow<'static, str>,
}

impl<P, A> Pair<P, A> {
    /// A ratio of two, without a target.
    pub const fn new(arm: (P, A), reference: (P, A), measure: Measure) -> Self {
        Self {
            arm,
            reference,
            measure,
            target: None,
            change: Cow::Borrowed(""),
        }
    }

    /// With what to do about it.
    #[must_use]
    pub fn changed_by(self, change: impl Into<Cow<'static, str>>) -> Self {
        let change = change.into();
        Self { change, ..self }
    }
}

/// What one trial gave.
#[derive(Clone, Debug)]
pub struct Reading {
    pub values: Vec<(Measure, f64)>,
    /// Whether this trial alone is valid; if not, it is tried again.
    pub verdict: Verdict,
    /// What a verdict over all rounds rests on.
    pub evidence: Option<Evidence>,
    pub latency: LatencyCounts,
    /// Dimensions of the point that are known only now, and are no identity.
    pub also: Spot,
    /// Of the subjects after its own that share its trial, in their order.
    pub beside: Vec<Self>,
}

impl Reading {
    /// A trial that is valid.
    #[must_use]
    pub fn new(values: Vec<(Measure, f64)>) -> Self {
        Self {
            values,
            verdict: Verdict::valid(),
            evidence: None,
            latency: LatencyCounts::default(),
            also: Spot::new(),
            beside: Vec::new(),
        }
    }

    /// The same without values that are no number: a rate of nothing in no time
    /// is no measurement, and the trial is one of too few.
    #[must_use]
    pub fn checked(mut self) -> Self {
        let is_broken = |(_, value): &&(Measure, f64)| !value.is_finite();
        if let Some((measure, _)) = self.values.iter().find(is_broken) {
            let reason = format!("nothing was counted that gives {}", measure.name);
            let remedy = "measure on a quiet host, or longer (--seconds)";
            self.verdict = Verdict::new(Validity::TooFewSamples, reason, remedy);
        }
        self.values.retain(|(_, value)| value.is_finite());
        self.beside = self.beside.into_iter().map(Self::checked).collect();
        self
    }

    #[must_use]
    pub fn value(&self, measure: Measure) -> Option<f64> {
        let own = self.values.iter().find(|(own, _)| *own == measure);
        own.map(|(_, value)| *value)
    }
}

/// Why a trial gave nothing.
#[derive(Debug)]
pub enum Stopped {
    /// Somebody wants it to end.
    Interrupted,
    /// The host cannot do it: the subject is not tried again.
    NotSupported { what: String, remedy: String },
    /// What it rests on is not valid: neither is that subject.
    Doubted(Verdict),
    /// It broke: neither is that subject.
    Failed(Box<dyn Error + Send + Sync>),
}

impl Stopped {
    pub fn failed(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Failed(Box::new(error))
    }

    /// What to say of its subject; none where nothing is wrong with it.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Interrupted => None,
            Self::NotSupported { what, remedy } => Some(impossible(what, remedy)),
            Self::Doubted(verdict) => Some(verdict.clone()),
            Self::Failed(source) => Some(broken(source.as_ref())),
        }
    }
}

/// Does trials.
pub trait Rig<E: Experiment> {
    /// Once, before the rounds: what trials need to know. Says on `sink` how
    /// much of that it has, and asks it once a second whether to go on.
    ///
    /// # Errors
    /// [`Stopped`].
    fn prepare(&mut self, subjects: &Subjects<E>, sink: &mut dyn Sink) -> Result<(), Stopped> {
        let _ = (subjects, sink);
        Ok(())
    }

    /// One trial of that length. Asks `go_on` once a second.
    ///
    /// # Errors
    /// [`Stopped`].
    fn trial(
        &mut self,
        subject: &Subject<E::Place, E::Arm>,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped>;

    /// What of every subject is known only after [`Rig::prepare`]: dimensions of
    /// all points; the words stand in every ratio.
    fn about(&self) -> Spot {
        Spot::new()
    }

    /// What it found out besides, for [`Experiment::more`].
    fn notes(&self) -> E::Notes {
        E::Notes::default()
    }
}

/// A section of the kit: the value is its checked configuration.
pub trait Experiment: Clone + 'static {
    /// The section's name, also its table in a scenario.
    const NAME: &'static str;
    /// Its heading.
    const TITLE: &'static str;
    /// Privileges it needs, in words; empty for none.
    const PRIVILEGES: &'static [&'static str] = &[];
    /// What it creates on the host, in words.
    const CREATES: &'static [&'static str] = &[];
    /// Where the rounds of a subject must lie close together, by what; none:
    /// rounds far apart only widen intervals.
    const STEADY: Option<Measure> = None;
    /// The dimension whose change takes time: in a round, what shares its value
    /// is measured together.
    const TOGETHER: &'static str = "";
    /// Whether trials often take less than planned, as a search does: what is left
    /// of the budget is for more rounds, up to those that a claim needs.
    const SEARCHES: bool = false;
    /// What it answers.
    const QUESTION: Question;

    /// Its options.
    type Config: Keys;
    /// Where something is measured; what is compared at one place is measured
    /// close together.
    type Place: Clone + PartialEq + Debug;
    /// In which way.
    type Arm: Clone + PartialEq + Debug;
    /// What its rig finds out besides.
    type Notes: Default;

    /// Checks what no option can see alone.
    ///
    /// # Errors
    /// [`ConfigError`] naming the key.
    fn new(config: Self::Config) -> Result<Self, ConfigError>;

    fn config(&self) -> &Self::Config;

    /// What the host lacks for any of it.
    ///
    /// # Errors
    /// [`PlanError::NotSupported`] with the remedy.
    fn needs(&self, probe: &Probe) -> Result<(), PlanError> {
        let _ = probe;
        Ok(())
    }

    /// Everything that could be measured on a host, in the order of reports.
    /// Where time is short, those of the highest ranks are left out.
    fn subjects(&self, host: &Host) -> Vec<Subject<Self::Place, Self::Arm>>;

    /// What the host has too little for, in words.
    fn left_out(&self, host: &Host) -> Option<String> {
        let _ = host;
        None
    }

    fn times(&self) -> Times;

    /// Seconds before the first round.
    fn start_s(&self, subjects: &Subjects<Self>) -> f64;

    /// More lines of the plan.
    fn steps(&self) -> Vec<String> {
        Vec::new()
    }

    /// What does the trials.
    ///
    /// # Errors
    /// [`Stopped`].
    fn rig(&self, host: &Host, subjects: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped>;

    /// What trials give, in the order of reports.
    fn measures(&self) -> Vec<Measure>;

    /// Its lines of the price list.
    fn prices(&self, results: &Results<'_, Self>) -> Vec<Price> {
        let _ = results;
        Vec::new()
    }

    /// Which ratios are told, the most telling first.
    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Self::Place, Self::Arm>>;

    /// Charts and tables.
    fn views(&self) -> Vec<View<Self>>;

    /// A yardstick in a chart that a view gave; `spot` is what the view was
    /// split by.
    fn finish(&self, results: &Results<'_, Self>, spot: &Spot, chart: &mut Chart) {
        let _ = (results, spot, chart);
    }

    /// The answer, if what is valid gives one.
    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer>;

    /// What else the numbers mean.
    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        let _ = results;
        Vec::new()
    }

    /// Points and tables of its own.
    fn more(&self, results: &Results<'_, Self>) -> Vec<Event> {
        let _ = results;
        Vec::new()
    }
}
