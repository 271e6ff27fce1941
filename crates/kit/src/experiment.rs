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

use std::fmt::Debug;
use std::time::Duration;

use probe::tier::{Unmaskable, cannot_mask};
use trial::stats::{Arms, ERROR, compare_at};
use trial::{Cell, Chart, Event, Finding, PlanError, Price, Probe, Sink, Table, Verdict};

use crate::ConfigError;
use crate::config::keys::{Keys, Table as _};
use crate::drawing::column;
use crate::evidence::{self, Usual};
use crate::headline::{Answer, Question};
use crate::host::Host;
use crate::judged::{over_rounds, spread};
use crate::places::Places;
use crate::ratio::Ratio;
use crate::series::{Series, Told};
use crate::spot::Spot;
use crate::subject::{Measure, Pair, Reading, Stopped, Subject, Times};
use crate::told::Tried;
use crate::view::{Only, View};
use crate::words::joined;

/// The subjects of an experiment.
pub type Subjects<E> = [Subject<<E as Experiment>::Place, <E as Experiment>::Arm>];

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

/// A rig that is nothing but its trials.
pub fn trials<E: Experiment>(
    trial: impl FnMut(
        &Subject<E::Place, E::Arm>,
        Duration,
        &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped>
    + 'static,
) -> Box<dyn Rig<E>> {
    Box::new(Trials(trial))
}

struct Trials<T>(T);

impl<E: Experiment, T> Rig<E> for Trials<T>
where
    T: FnMut(&Subject<E::Place, E::Arm>, Duration, &dyn Fn() -> bool) -> Result<Reading, Stopped>,
{
    fn trial(
        &mut self,
        subject: &Subject<E::Place, E::Arm>,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        (self.0)(subject, slice, go_on)
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

    /// What the host lacks for any of it: the tier in force for the option
    /// `backend`, where there is one.
    ///
    /// # Errors
    /// [`PlanError::NotSupported`] with the remedy.
    fn needs(&self, _: &Probe) -> Result<(), PlanError> {
        let written = self.config().written();
        let backend = written.get("backend").and_then(toml::Value::as_str);
        match backend.and_then(cannot_mask) {
            Some(Unmaskable { reason, remedy }) => Err(PlanError::NotSupported { reason, remedy }),
            None => Ok(()),
        }
    }

    /// Everything that could be measured on a host, in the order of reports.
    /// Where time is short, those of the highest ranks are left out.
    fn subjects(&self, host: &Host) -> Vec<Subject<Self::Place, Self::Arm>>;

    /// Placements that it measures on a host, where it has a choice.
    fn places(&self, _: &Host) -> Places {
        Places::default()
    }

    /// What the host has too little for, in words.
    fn left_out(&self, host: &Host) -> Option<String> {
        self.places(host).left_out()
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

    /// Which ratios are reported, the most telling first.
    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Self::Place, Self::Arm>>;

    /// Charts and tables.
    fn views(&self) -> Vec<View<Self::Place, Self::Arm>>;

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

    /// Those of which something was measured, that a view shows.
    pub(crate) fn shown(&self, only: Only<E::Place, E::Arm>) -> Vec<&'a Subject<E::Place, E::Arm>> {
        let measured = self.measured().map(|(subject, _)| subject);
        let own = measured.filter(|subject| only(&subject.place, &subject.arm));
        own.collect()
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

    /// The median of what is valid.
    pub fn valid_median(&self, place: &E::Place, arm: &E::Arm, measure: Measure) -> Option<f64> {
        let is_valid = self.is_valid(place, arm);
        self.median(place, arm, measure).filter(|_| is_valid)
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
                is_measured: !series.rounds.is_empty(),
                verdict,
            });
        }
        tried
    }

    /// Every ratio that is reported, once all is measured.
    pub fn told(&self) -> &[Told<E::Place, E::Arm>] {
        &self.told
    }

    /// Those of which that holds, the least first.
    pub fn told_by(
        &self,
        holds: impl Fn(&Told<E::Place, E::Arm>) -> bool,
    ) -> Vec<&Told<E::Place, E::Arm>> {
        let mut all: Vec<_> = self.told.iter().filter(|told| holds(told)).collect();
        all.sort_by(|a, b| a.ratio.value().total_cmp(&b.ratio.value()));
        all
    }

    /// That of an arm over another, if it is reported.
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

    /// Every ratio that is reported, from the rounds so far, with intervals that
    /// miss no more often than `error`.
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

    /// A ratio that may not be among those reported.
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
        let arms = Arms {
            subject: joined([subject.as_str(), &self.about.words()], ", "),
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
}
