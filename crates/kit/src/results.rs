//! What the rounds gave, and whether to believe it.

use std::collections::BTreeMap;

use trial::stats::{Arms, ERROR, compare_at, median};
use trial::{Cell, Event, Sink, Table, Verdict};

use crate::config::keys::Keys;
use crate::derived::points;
use crate::drawing::column;
use crate::evidence::{self, Usual};
use crate::experiment::{Experiment, Measure, Pair, Reading, Subject};
use crate::host::Host;
use crate::judged::{over_rounds, spread};
use crate::load::rig::LatencyCounts;
use crate::ratio::Ratio;
use crate::spot::Spot;
use crate::told::Tried;

/// What one subject gave, by round.
#[derive(Clone, Debug, Default)]
pub struct Series {
    pub rounds: BTreeMap<usize, Reading>,
    /// Why there is nothing: once it is known, it is not tried again.
    pub failure: Option<Verdict>,
}

impl Series {
    /// Whether there is anything to tell of it.
    pub fn is_tried(&self) -> bool {
        !self.rounds.is_empty() || self.failure.is_some()
    }

    fn valid(&self) -> impl Iterator<Item = (usize, &Reading)> {
        let rounds = self.rounds.iter().map(|(round, reading)| (*round, reading));
        rounds.filter(|(_, reading)| reading.verdict.is_valid())
    }

    pub fn is_ever_believed(&self) -> bool {
        self.valid().next().is_some()
    }

    /// One value a believable round; all rounds where none is, so that a point
    /// shows what its verdict is about.
    pub fn values(&self, measure: Measure) -> Vec<f64> {
        let valid = self
            .valid()
            .filter_map(|(_, reading)| reading.value(measure));
        let valid: Vec<_> = valid.collect();
        if !valid.is_empty() {
            return valid;
        }
        let all = self.rounds.values();
        all.filter_map(|reading| reading.value(measure)).collect()
    }

    pub fn median(&self, measure: Measure) -> Option<f64> {
        median(&self.values(measure))
    }

    /// Latencies of all rounds.
    pub fn latency(&self) -> LatencyCounts {
        let mut all = LatencyCounts::default();
        self.rounds
            .values()
            .for_each(|reading| all.add(&reading.latency));
        all
    }

    /// Both series' values of the rounds in which both are valid.
    fn pairs(&self, reference: &Self, measure: Measure) -> Vec<(f64, f64)> {
        let pair = |(round, reading): (usize, &Reading)| {
            let other = reference.rounds.get(&round);
            let other = other.filter(|other| other.verdict.is_valid())?;
            Some((reading.value(measure)?, other.value(measure)?))
        };
        let is_rate = |(a, b): &(f64, f64)| *a > 0.0 && *b > 0.0;
        self.valid().filter_map(pair).filter(is_rate).collect()
    }
}

/// A ratio with what it is of.
#[derive(Clone, Debug)]
pub struct Told<P, A> {
    pub pair: Pair<P, A>,
    pub ratio: Ratio,
}

/// Everything that was measured, with its conditions.
pub struct Results<'a, E: Experiment> {
    pub experiment: &'a E,
    pub host: &'a Host,
    pub subjects: &'a [Subject<E::Place, E::Arm>],
    /// One a subject.
    pub series: Vec<Series>,
    pub notes: E::Notes,
    /// What the rig says of every subject.
    pub about: Spot,
    /// Seconds of a trial.
    pub slice_s: f64,
    /// The command that measures it again.
    pub command: &'a str,
    /// How often a ratio's interval may miss.
    pub(crate) error: f64,
    told: Vec<Told<E::Place, E::Arm>>,
}

impl<'a, E: Experiment> Results<'a, E> {
    /// Before the first round.
    pub fn new(
        experiment: &'a E,
        host: &'a Host,
        subjects: &'a [Subject<E::Place, E::Arm>],
        (slice_s, command): (f64, &'a str),
    ) -> Self {
        Self {
            experiment,
            host,
            subjects,
            series: vec![Series::default(); subjects.len()],
            notes: E::Notes::default(),
            about: Spot::new(),
            slice_s,
            command,
            error: ERROR,
            told: Vec::new(),
        }
    }

    pub fn seed(&self) -> u64 {
        self.experiment.config().common().seed
    }

    fn index(&self, place: &E::Place, arm: &E::Arm) -> Option<usize> {
        let own =
            |subject: &Subject<E::Place, E::Arm>| subject.place == *place && subject.arm == *arm;
        self.subjects.iter().position(own)
    }

    /// Subjects of which something was measured, with it.
    pub fn measured(&self) -> impl Iterator<Item = (&'a Subject<E::Place, E::Arm>, &Series)> {
        let pairs = self.subjects.iter().zip(&self.series);
        pairs.filter(|(_, series)| !series.rounds.is_empty())
    }

    pub fn subject(&self, place: &E::Place, arm: &E::Arm) -> Option<&'a Subject<E::Place, E::Arm>> {
        self.index(place, arm).map(|index| &self.subjects[index])
    }

    /// What an arm gave at a place, if it was measured.
    pub fn series(&self, place: &E::Place, arm: &E::Arm) -> Option<&Series> {
        let series = &self.series[self.index(place, arm)?];
        (!series.rounds.is_empty()).then_some(series)
    }

    pub fn median(&self, place: &E::Place, arm: &E::Arm, measure: Measure) -> Option<f64> {
        self.series(place, arm)?.median(measure)
    }

    /// How fast each worker's core was in this run.
    pub fn usual(&self) -> Usual {
        let all = self.series.iter().flat_map(|series| series.rounds.values());
        Usual::of(all.filter_map(|reading| reading.evidence.as_ref()))
    }

    /// Whether a series is valid, rounds far apart aside: they spoil no
    /// ratio, since what both sides share cancels out in a pair, and what they
    /// do not share makes its interval wide.
    pub fn of_rounds(&self, series: &Series, usual: &Usual) -> Verdict {
        if let Some(failure) = &series.failure {
            return failure.clone();
        }
        let rounds = series
            .rounds
            .values()
            .map(|reading| reading.verdict.clone());
        let verdict = over_rounds(&rounds.collect::<Vec<_>>());
        if !verdict.is_valid() {
            return verdict;
        }
        let evidence = series
            .rounds
            .values()
            .filter_map(|one| one.evidence.as_ref());
        evidence::verdict(&evidence.collect::<Vec<_>>(), usual, self.host.l2_bytes)
    }

    /// Whether a series is valid.
    pub fn verdict_of(&self, series: &Series, usual: &Usual) -> Verdict {
        let verdict = self.of_rounds(series, usual);
        let steady = E::STEADY.filter(|_| verdict.is_valid());
        let apart = steady.and_then(|measure| spread(&series.values(measure)));
        apart.unwrap_or(verdict)
    }

    /// None where it was not measured.
    pub fn verdict(&self, place: &E::Place, arm: &E::Arm) -> Option<Verdict> {
        Some(self.verdict_of(self.series(place, arm)?, &self.usual()))
    }

    pub fn is_valid(&self, place: &E::Place, arm: &E::Arm) -> bool {
        self.verdict(place, arm)
            .is_some_and(|verdict| verdict.is_valid())
    }

    /// What was tried, and whether it is valid; what shares a trial only where
    /// it is not as valid as that.
    pub fn tried(&self) -> Vec<Tried> {
        let usual = self.usual();
        let pairs = self.subjects.iter().zip(&self.series);
        let (mut tried, mut of_trial) = (Vec::new(), None);
        for (subject, series) in pairs.filter(|(_, series)| series.is_tried()) {
            let verdict = self.verdict_of(series, &usual);
            if !subject.shares_trial {
                of_trial = Some(verdict.clone());
            } else if of_trial.as_ref() == Some(&verdict) {
                continue;
            }
            tried.push(Tried {
                name: subject.spot.words(),
                label: subject.spot.words(),
                is_measured: !series.rounds.is_empty(),
                verdict,
            });
        }
        tried
    }

    /// Every ratio that is told, once all is measured.
    pub fn told(&self) -> &[Told<E::Place, E::Arm>] {
        &self.told
    }

    /// That of an arm over another, if it is told.
    pub fn ratio(
        &self,
        arm: (&E::Place, &E::Arm),
        reference: (&E::Place, &E::Arm),
        measure: Measure,
    ) -> Option<&Ratio> {
        let same = |own: &(E::Place, E::Arm), (place, arm): (&E::Place, &E::Arm)| {
            own.0 == *place && own.1 == *arm
        };
        let own = self.told.iter().find(|told| {
            let pair = &told.pair;
            pair.measure == measure && same(&pair.arm, arm) && same(&pair.reference, reference)
        });
        own.map(|told| &told.ratio)
    }

    /// Every ratio that is told, as the rounds so far have it, with intervals
    /// that miss no more often than `error`.
    pub fn ratios(&self, error: f64) -> Vec<Ratio> {
        let told = self.compared(error).into_iter();
        told.map(|told| told.ratio).collect()
    }

    /// Compares once and for all.
    pub fn conclude(&mut self) {
        self.told = self.compared(self.error);
    }

    fn compared(&self, error: f64) -> Vec<Told<E::Place, E::Arm>> {
        let usual = self.usual();
        let pairs = self.experiment.pairs(self.subjects).into_iter();
        pairs
            .filter_map(|pair| {
                let ratio = self.compare_at(&pair, &usual, error)?;
                Some(Told { pair, ratio })
            })
            .collect()
    }

    /// A ratio that may not be among those told.
    pub fn compare(&self, pair: &Pair<E::Place, E::Arm>, usual: &Usual) -> Option<Ratio> {
        self.compare_at(pair, usual, self.error)
    }

    fn compare_at(
        &self,
        pair: &Pair<E::Place, E::Arm>,
        usual: &Usual,
        error: f64,
    ) -> Option<Ratio> {
        let of = |(place, arm): &(E::Place, E::Arm)| {
            let index = self.index(place, arm)?;
            Some((&self.subjects[index].spot, &self.series[index]))
        };
        let ((own, above), (others, below)) = (of(&pair.arm)?, of(&pair.reference)?);
        let (subject, arm, reference) = own.apart(others);
        let said = [subject, self.about.words()];
        let said = said.into_iter().filter(|words| !words.is_empty());
        let subject = said.collect::<Vec<_>>().join(", ");
        let arms = Arms {
            subject,
            arm,
            reference,
            metric: pair.measure.name.to_owned(),
            command: self.command.to_owned(),
        };
        let pairs = above.pairs(below, pair.measure);
        let mut comparison = compare_at(arms, pair.measure.direction, pairs, error).ok()?;
        comparison.change = pair.change.clone().into_owned();
        comparison.arm_point = own.dimensions();
        comparison.reference_point = others.dimensions();
        let is_believed = [above, below]
            .into_iter()
            .all(|series| self.of_rounds(series, usual).is_valid());
        Some(Ratio::judged(comparison, is_believed).wanting(pair.target))
    }

    /// A table of its own, each column with its unit; none without a row.
    pub fn table<L: Into<String>>(
        &self,
        title: impl Into<String>,
        note: impl Into<String>,
        columns: impl IntoIterator<Item = (L, &'static str)>,
        rows: Vec<Vec<Cell>>,
    ) -> Option<Table> {
        let columns = columns.into_iter();
        (!rows.is_empty()).then(|| Table {
            title: title.into(),
            note: note.into(),
            columns: columns.map(|(label, unit)| column(label, unit)).collect(),
            rows,
            command: self.command.to_owned(),
        })
    }

    /// Points of all that was tried; with their latencies, which take long to
    /// write, where the rounds are over.
    pub fn emit_points(&self, are_final: bool, sink: &mut dyn Sink) {
        let points = points::points(self, are_final).into_iter();
        points.for_each(|point| sink.emit(Event::Point(point)));
    }
}
