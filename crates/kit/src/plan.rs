//! What will be measured within a budget: the broadest choice of subjects that
//! it holds with rounds enough for a claim, else fewer; never nothing while
//! there is time for one trial.

use std::collections::BTreeSet;
use std::time::Duration;

use trial::PlanError;
use trial::stats::PAIRS_FOR_A_CLAIM;

use crate::config::keys::{Common, Keys};
use crate::experiment::{Experiment, Subjects};
use crate::host::Host;
use crate::stopping::Limits;
use crate::subject::{Subject, Times};

/// Nine pairs are a claim; fewer than three rounds are no interval.
const ROUNDS: [usize; 6] = [PAIRS_FOR_A_CLAIM, 7, 5, 3, 2, 1];
/// Most rounds where the user names a precision.
const ROUNDS_MAX: usize = 99;
/// A plan's seconds are no more than the budget, however they are rounded.
const ROUNDING_S: f64 = 1e-6;

/// What will be measured, and how often.
pub struct Job<E: Experiment> {
    pub subjects: Vec<Subject<E::Place, E::Arm>>,
    pub rounds: usize,
    pub slice_s: f64,
    pub limits: Limits,
    /// What there is no time for, in words.
    pub left_out: Option<String>,
    /// Before the rounds.
    pub start_s: f64,
}

impl<E: Experiment> Job<E> {
    /// How long it may take, seconds.
    pub fn seconds(&self) -> f64 {
        self.start_s + self.limits.seconds
    }

    /// How much of it is before the rounds.
    pub fn start_share(&self) -> f64 {
        self.start_s / self.seconds().max(1e-9)
    }

    /// One trial of a subject.
    pub fn slice(&self, subject: &Subject<E::Place, E::Arm>) -> Duration {
        Duration::from_secs_f64(self.slice_s * subject.weight)
    }

    /// In words.
    pub fn step(&self) -> String {
        let rounds = match self.rounds {
            1 => "1 round".to_owned(),
            rounds => format!("{rounds} rounds"),
        };
        let what = match listed(&values(trials(&self.subjects)), 2) {
            none if none.is_empty() => none,
            some => format!(": {some}"),
        };
        format!(
            "{rounds} of {} trials of {:.0} ms, every arm of every place once a round in shuffled order{what}",
            trials(&self.subjects).count(),
            self.slice_s * 1e3
        )
    }
}

/// Those that have a trial of their own.
pub fn trials<'a, P: 'a, A: 'a>(
    subjects: impl IntoIterator<Item = &'a Subject<P, A>>,
) -> impl Iterator<Item = &'a Subject<P, A>> {
    subjects.into_iter().filter(|subject| !subject.shares_trial)
}

/// Whether there is anything to measure on a host.
pub fn any<E: Experiment>(
    experiment: &E,
    host: &Host,
    subjects: &Subjects<E>,
) -> Result<(), PlanError> {
    if !subjects.is_empty() {
        return Ok(());
    }
    Err(PlanError::NotSupported {
        reason: experiment.left_out(host).unwrap_or_default(),
        remedy: "allow more CPUs (taskset, cpuset), or choose what needs one".to_owned(),
    })
}

/// What a budget is divided by.
struct Wishes<'a, E: Experiment> {
    experiment: &'a E,
    times: Times,
    common: Common,
    all: &'a [Subject<E::Place, E::Arm>],
}

/// A choice with the slice that fills a budget.
struct Filled<'a, P, A> {
    subjects: Vec<&'a Subject<P, A>>,
    rounds: usize,
    slice_s: f64,
    start_s: f64,
    round_s: f64,
}

/// The least that gives an answer, the least that carries a claim, and the most
/// that can be used.
pub fn appetite<E: Experiment>(
    experiment: &E,
    all: &Subjects<E>,
) -> (Duration, Duration, Duration) {
    let wishes = Wishes::new(experiment, all);
    let time = |filled: Filled<'_, E::Place, E::Arm>| {
        Duration::from_secs_f64(filled.start_s + filled.round_s + 0.001)
    };
    let (least_s, _, most_s) = wishes.slices();
    let rounds = wishes.rounds()[0];
    let most_rounds = match (wishes.fixed_rounds(), wishes.common.precision.0) {
        (None, Some(_)) => ROUNDS_MAX,
        _ => rounds,
    };
    let narrowest = wishes.up_to(wishes.ranks().first().copied().unwrap_or(0));
    let one = narrowest.first().into_iter().copied().collect();
    let minimum = time(wishes.at(one, 1, least_s));
    let least = time(wishes.at(narrowest, rounds, least_s));
    let most = time(wishes.at(wishes.all.iter().collect(), most_rounds, most_s));
    (minimum, least, most.max(least))
}

/// The job for a budget.
///
/// # Errors
/// [`PlanError::Budget`] where not even one trial fits.
pub fn job<E: Experiment>(
    experiment: &E,
    all: &Subjects<E>,
    budget: Duration,
) -> Result<Job<E>, PlanError> {
    let wishes = Wishes::new(experiment, all);
    let budget_s = budget.as_secs_f64();
    let filled = wishes.choose(budget_s).ok_or_else(|| PlanError::Budget {
        needed_s: appetite(experiment, all).0.as_secs_f64(),
        budget_s,
    })?;
    Ok(wishes.job(filled, budget_s))
}

impl<'a, E: Experiment> Wishes<'a, E> {
    fn new(experiment: &'a E, all: &'a Subjects<E>) -> Self {
        Self {
            experiment,
            times: experiment.times(),
            common: experiment.config().common(),
            all,
        }
    }

    /// The least, a good and the longest slice.
    fn slices(&self) -> (f64, f64, f64) {
        let Times {
            least_s,
            good_s,
            most_s,
            ..
        } = self.times;
        let fixed = self.common.seconds.0.map(|seconds| seconds.get());
        fixed.map_or((least_s, good_s, most_s), |fixed| (fixed, fixed, fixed))
    }

    fn fixed_rounds(&self) -> Option<usize> {
        self.common.pairs.0.map(|pairs| pairs.get())
    }

    /// How many rounds are wanted, most first.
    fn rounds(&self) -> Vec<usize> {
        let most = self.fixed_rounds().unwrap_or(ROUNDS[0]);
        let fewer = ROUNDS.into_iter().filter(|rounds| *rounds < most);
        std::iter::once(most).chain(fewer).collect()
    }

    fn ranks(&self) -> Vec<u8> {
        let ranks: BTreeSet<_> = self.all.iter().map(|subject| subject.rank).collect();
        ranks.into_iter().collect()
    }

    fn up_to(&self, rank: u8) -> Vec<&'a Subject<E::Place, E::Arm>> {
        self.all
            .iter()
            .filter(|subject| subject.rank <= rank)
            .collect()
    }

    fn choose(&self, budget_s: f64) -> Option<Filled<'a, E::Place, E::Arm>> {
        let (least_s, good_s, _) = self.slices();
        let (ranks, rounds) = (self.ranks(), self.rounds());
        let lowest = *ranks.first()?;
        // Pairs before breadth: a claim rests on them.
        let broad = ranks.iter().rev().map(|&rank| (rank, rounds[0], good_s));
        let poor = rounds.iter().map(|&rounds| (lowest, rounds, least_s));
        for (rank, rounds, wanted_s) in broad.chain(poor) {
            let filled = self.filling(self.up_to(rank), rounds, budget_s);
            if filled.slice_s >= wanted_s - ROUNDING_S {
                return Some(filled);
            }
        }
        let mut few = self.up_to(lowest);
        loop {
            while few.pop().is_some_and(|last| last.shares_trial) {}
            if few.is_empty() {
                return None;
            }
            let filled = self.filling(few.clone(), 1, budget_s);
            if filled.slice_s >= least_s - ROUNDING_S {
                return Some(filled);
            }
        }
    }

    fn at(
        &self,
        subjects: Vec<&'a Subject<E::Place, E::Arm>>,
        rounds: usize,
        slice_s: f64,
    ) -> Filled<'a, E::Place, E::Arm> {
        let owned: Vec<_> = subjects.iter().map(|&subject| subject.clone()).collect();
        let all_s = |subject: &Subject<E::Place, E::Arm>| {
            let trial_s = slice_s * subject.weight + self.times.overhead_s + subject.overhead_s;
            trial_s * subject.rounds(rounds)
        };
        Filled {
            rounds,
            slice_s,
            start_s: self.experiment.start_s(&owned),
            round_s: trials(subjects.iter().copied()).map(all_s).sum(),
            subjects,
        }
    }

    /// With the slice that fills the budget, below 0 where there is none.
    fn filling(
        &self,
        subjects: Vec<&'a Subject<E::Place, E::Arm>>,
        rounds: usize,
        budget_s: f64,
    ) -> Filled<'a, E::Place, E::Arm> {
        let weight = |subject: &Subject<_, _>| subject.weight * subject.rounds(rounds);
        let weights: f64 = trials(subjects.iter().copied()).map(weight).sum();
        let empty = self.at(subjects, rounds, 0.0);
        let free_s = budget_s - empty.start_s - empty.round_s - ROUNDING_S;
        let slice_s = free_s / weights.max(1e-9);
        let (_, _, most_s) = self.slices();
        if slice_s < 0.0 {
            return Filled { slice_s, ..empty };
        }
        self.at(empty.subjects, rounds, slice_s.min(most_s))
    }

    /// What the rounds may take: more than planned only where the user wants a
    /// precision, fewer once all is narrow.
    fn job(&self, filled: Filled<'a, E::Place, E::Arm>, budget_s: f64) -> Job<E> {
        let Filled {
            subjects,
            rounds,
            slice_s,
            start_s,
            round_s,
        } = filled;
        let precision = self.common.precision.0.map(|precision| precision.get());
        let is_open = (precision.is_some() || E::SEARCHES) && self.fixed_rounds().is_none();
        let rounds_max = match precision {
            Some(_) if is_open => ROUNDS_MAX,
            None if is_open => rounds.max(ROUNDS[0]),
            _ => rounds,
        };
        let limits = Limits {
            rounds,
            rounds_max,
            seconds: if is_open { budget_s - start_s } else { round_s },
            precision,
        };
        Job {
            left_out: self.left_out(&subjects, rounds),
            subjects: subjects.into_iter().cloned().collect(),
            rounds,
            slice_s,
            limits,
            start_s,
        }
    }

    /// What is not measured, by what is missing altogether.
    fn left_out(&self, kept: &[&Subject<E::Place, E::Arm>], rounds: usize) -> Option<String> {
        let fewer = self.fixed_rounds().filter(|wanted| *wanted > rounds);
        let fewer =
            fewer.map(|wanted| format!("{rounds} rounds of the {wanted} that were asked for"));
        if kept.len() == self.all.len() {
            return fewer.map(|fewer| format!("time for {fewer} only"));
        }
        let kept: Vec<_> = trials(kept.iter().copied()).collect();
        let mut missing = values(trials(self.all));
        for (name, kept) in values(kept.iter().copied()) {
            let all = missing.iter_mut().filter(|(own, _)| *own == name);
            all.for_each(|(_, words)| words.retain(|words| !kept.contains(words)));
        }
        let missing = listed(&missing, 1);
        let all = trials(self.all).count();
        let count = format!("{} of {all} combinations", kept.len());
        let what = match missing.is_empty() {
            false => format!("no time for {missing} ({count} fit)"),
            true => format!("time for {count} only"),
        };
        let rest = fewer.map_or_else(String::new, |fewer| format!("; {fewer}"));
        Some(format!("{what}{rest}"))
    }
}

/// By dimension, what is said of it, each once.
type Values<'a> = Vec<(&'static str, Vec<&'a str>)>;

/// What subjects are, but for what follows from the rest.
fn values<'a, P: 'a, A: 'a>(subjects: impl Iterator<Item = &'a Subject<P, A>>) -> Values<'a> {
    let mut values: Values<'_> = Vec::new();
    for part in subjects.flat_map(|subject| subject.spot.parts()) {
        if part.words.is_empty() || part.follows {
            continue;
        }
        let words = part.words.as_str();
        match values.iter_mut().find(|(own, _)| *own == part.name) {
            Some((_, own)) if own.contains(&words) => {}
            Some((_, own)) => own.push(words),
            None => values.push((part.name, vec![words])),
        }
    }
    values
}

/// Those of dimensions that have this many.
fn listed(values: &Values<'_>, least: usize) -> String {
    let some = values.iter().filter(|(_, words)| words.len() >= least);
    let has_comma = |words: &[&str]| words.iter().any(|one| one.contains(", "));
    let joined = |(_, words): &(_, Vec<&str>)| match has_comma(words) {
        true => words.join("; "),
        false => words.join(", "),
    };
    let some: Vec<_> = some.map(joined).collect();
    some.join("; ")
}
