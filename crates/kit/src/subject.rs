//! What is measured, and what one trial of it gives.

use std::borrow::Cow;
use std::error::Error;

use trial::{Direction, Validity, Verdict};

use crate::evidence::Evidence;
use crate::load::rig::LatencyCounts;
use crate::spot::Spot;
use crate::told::{broken, impossible};

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
        Self::new(name, unit, Direction::Higher)
    }

    /// Less is better.
    #[must_use]
    pub const fn lower(name: &'static str, unit: &'static str) -> Self {
        Self::new(name, unit, Direction::Lower)
    }

    /// Neither is.
    #[must_use]
    pub const fn fact(name: &'static str, unit: &'static str) -> Self {
        Self::new(name, unit, Direction::Neutral)
    }

    const fn new(name: &'static str, unit: &'static str, direction: Direction) -> Self {
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

    /// All of them by one trial, that of the first.
    pub fn by_one_trial(all: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let all = all.into_iter().enumerate();
        let shared = all.map(|(index, subject)| match index {
            0 => subject,
            _ => subject.sharing_trial(),
        });
        shared.collect()
    }

    #[must_use]
    pub fn ranked(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// The same with trials that are longer, and take more besides.
    #[must_use]
    pub fn weighing(self, weight: f64, overhead_s: f64) -> Self {
        Self {
            weight,
            overhead_s,
            ..self
        }
    }

    /// In how many of this many rounds it is.
    pub(crate) fn rounds(&self, all: usize) -> f64 {
        if self.is_once { 1.0 } else { all as f64 }
    }
}

/// How long trials are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Less means nothing, seconds.
    pub least_s: f64,
    /// This is worth having before more is measured.
    pub good_s: f64,
    /// More says no more than another round would.
    pub most_s: f64,
    /// What a trial takes besides: warm-up, starting and ending.
    pub overhead_s: f64,
}

impl Times {
    /// Trials of that many seconds, of which the least is worth having.
    #[must_use]
    pub const fn new((least_s, most_s): (f64, f64), overhead_s: f64) -> Self {
        Self {
            least_s,
            good_s: least_s,
            most_s,
            overhead_s,
        }
    }
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

    /// A ratio of two arms at one place.
    pub fn at(place: P, (arm, reference): (A, A), measure: Measure) -> Self
    where
        P: Clone,
    {
        Self::new((place.clone(), arm), (place, reference), measure)
    }

    /// With the bound that a claim rests on, if one does.
    #[must_use]
    pub fn wanting(self, target: impl Into<Option<f64>>) -> Self {
        let target = target.into();
        Self { target, ..self }
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

    /// Of a trial of several subjects, in their order; `None` of none.
    pub fn of_one_trial(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut all = all.into_iter();
        let first = all.next()?;
        Some(Self {
            beside: all.collect(),
            ..first
        })
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
    /// The user, or a signal.
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
