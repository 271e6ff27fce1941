//! The rounds: every subject once, in shuffled order, so that any two are
//! interleaved pairs.

use std::time::{Duration, Instant};

use forward::bench::{BenchError, Setup};
use trial::stats::Random;
use trial::{Event, Sink};

use crate::routers::end::End;
use crate::routers::rig::{Build, Rig};
use crate::routers::series::{Measured, Series};
use crate::routers::way::Way;
use crate::schedule::Schedule;
use crate::told::{broken, impossible};

/// A run that takes so much longer than planned ends after the round in hand.
const LATE: f64 = 1.25;
/// Start-up that no plan counts, seconds.
const START_S: f64 = 2.0;

/// What is not valid is measured again: a disturbance may pass. So many
/// times in all, of an arm of which a round was believed, and of one of which
/// none was: what is wrong with a host does not pass.
const TRIES: (usize, usize) = (8, 2);

/// Routers that stay up between trials: those that cost nothing while no frame
/// comes.
pub struct Rigs<'a> {
    build: Build<'a>,
    up: Vec<(Vec<Setup>, Box<dyn Rig>)>,
}

impl<'a> Rigs<'a> {
    pub fn new(build: Build<'a>) -> Self {
        let up = Vec::new();
        Self { build, up }
    }

    /// Does something with routers of those setups; those that would keep a
    /// CPU busy afterwards are taken down again.
    pub fn with<T>(
        &mut self,
        setups: &[Setup],
        act: impl FnOnce(&mut dyn Rig) -> Result<T, BenchError>,
    ) -> Result<T, BenchError> {
        let standing = self.up.iter().position(|(own, _)| own == setups);
        let mut rig = match standing {
            Some(index) => self.up.swap_remove(index).1,
            None => (self.build)(setups)?,
        };
        // What failed is not used again.
        let result = act(rig.as_mut())?;
        let spins = setups.iter().any(|setup| Way::of(setup.path).spins());
        if !spins {
            self.up.push((setups.to_vec(), rig));
        }
        Ok(result)
    }
}

/// What the rounds measure, one after the other.
pub trait Arm {
    /// What one round gives.
    type Round: Measured;

    /// The routers that it needs, side by side.
    fn setups(&self) -> &[Setup];

    /// In words, for whoever waits.
    fn label(&self) -> String;

    /// What the rounds gave.
    fn series(&mut self) -> &mut Series<Self::Round>;

    /// Measures once, for so long.
    ///
    /// # Errors
    /// [`BenchError`].
    fn measure(
        &self,
        rig: &mut dyn Rig,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Self::Round, BenchError>;
}

/// Measures all rounds of a schedule; `keep` is called after each, so that
/// nothing is lost whatever ends the run. An arm that fails is left out from
/// then on, and the first such failure is the run's end once all is measured.
pub fn measure<A: Arm>(
    rigs: &mut Rigs<'_>,
    arms: &mut [A],
    schedule: &Schedule,
    seed: u64,
    sink: &mut dyn Sink,
    keep: impl Fn(&[A], &mut dyn Sink),
) -> End {
    let (mut random, begin) = (Random::new(seed), Instant::now());
    let is_late = || begin.elapsed().as_secs_f64() > schedule.seconds() * LATE + START_S;
    let mut end = End::Complete;
    for round in 0..schedule.rounds {
        if is_late() {
            return End::Late(round);
        }
        let mut order: Vec<_> = (0..arms.len()).collect();
        random.shuffle(&mut order);
        for (done, &index) in order.iter().enumerate() {
            let arm = &mut arms[index];
            let share = (round as f64 + done as f64 / order.len() as f64) / schedule.rounds as f64;
            let label = arm.label();
            let now = format!("round {} of {}: {label}", round + 1, schedule.rounds);
            sink.emit(Event::Progress(share, now));
            let go_on = || !sink.is_interrupted();
            match one(rigs, arm, (round, schedule.slice), &go_on, &is_late) {
                Ok(()) => {}
                Err(BenchError::Interrupted) => return End::Interrupted,
                Err(error) => end = end.or_failed(label, error),
            }
        }
        keep(arms, sink);
    }
    end
}

/// One round of one arm. What a host cannot do, and what breaks, spoils that
/// arm alone.
fn one<A: Arm>(
    rigs: &mut Rigs<'_>,
    arm: &mut A,
    (round, slice): (usize, Duration),
    go_on: &dyn Fn() -> bool,
    is_late: &dyn Fn() -> bool,
) -> Result<(), BenchError> {
    if !go_on() {
        return Err(BenchError::Interrupted);
    }
    if arm.series().failure.is_some() {
        return Ok(());
    }
    let tries = match arm.series().is_ever_believed() {
        true => TRIES.0,
        false => TRIES.1,
    };
    let measured = rigs.with(arm.setups(), |rig| {
        let mut measured = arm.measure(rig, slice, go_on)?;
        for _ in 1..tries {
            if measured.verdict().is_valid() || is_late() {
                break;
            }
            measured = arm.measure(rig, slice, go_on)?;
        }
        Ok(measured)
    });
    let series = arm.series();
    match measured {
        Ok(measured) => {
            series.trials.insert(round, measured);
            Ok(())
        }
        Err(BenchError::Interrupted) => Err(BenchError::Interrupted),
        Err(BenchError::NotSupported { what, remedy }) => {
            series.failure = Some(impossible(&what, &remedy));
            Ok(())
        }
        Err(error) => {
            series.failure = Some(broken(&error));
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routers::subject::Subject;
    use crate::routers::testing::{Collector, Fake};
    use crate::schedule::Wishes;
    use forward::bench::Offer;
    use forward::router::path::{Path, Poll};
    use forward::topology::Cpus;

    fn subjects() -> Vec<Subject> {
        let paths = [
            Path::Kernel,
            Path::Testpmd,
            Way::af_xdp(Poll::Polled, 32).path,
        ];
        let of = |path| {
            let mut setup = Setup::new(Cpus::among(&[0, 1]));
            setup.path = path;
            Subject::one(setup, Offer::default())
        };
        paths.map(of).to_vec()
    }

    fn schedule() -> Schedule {
        let wishes = Wishes {
            trials: 3,
            slice_s: (0.1, 0.1),
            pairs: Some(3),
            seconds: None,
            start_s: 0.0,
            overhead_s: 0.0,
        };
        wishes.schedule(Duration::from_secs(60)).expect("it fits")
    }

    fn measured(host: &Fake, sink: &mut Collector) -> (Vec<Subject>, End, usize) {
        let mut subjects = subjects();
        let build = |setups: &[Setup]| host.build(setups);
        let mut rigs = Rigs::new(&build);
        let end = measure(&mut rigs, &mut subjects, &schedule(), 1, sink, |_, _| ());
        let up = rigs.up.len();
        (subjects, end, up)
    }

    #[test]
    fn all_rounds_are_measured_and_what_spins_is_taken_down() {
        let (subjects, end, up) = measured(&Fake::default(), &mut Collector::default());
        assert!(matches!(end, End::Complete));
        assert_eq!(up, 1, "the kernel alone stays up");
        assert!(subjects.iter().all(|one| one.series.trials.len() == 3));
    }

    #[test]
    fn what_was_once_believed_is_tried_until_it_is_again() {
        let trials = |noisy: fn(usize) -> bool| {
            let host = Fake {
                noisy_trials: Some(noisy),
                ..Fake::default()
            };
            let (subjects, end, _) = measured(&host, &mut Collector::default());
            assert!(matches!(end, End::Complete));
            let valid = subjects.iter().filter(|one| one.series.is_valid()).count();
            (host.trials.get(), valid)
        };
        assert_eq!(trials(|_| false), (9, 3));
        assert_eq!(trials(|_| true), (9 * TRIES.1, 0));
        // After the first round each is disturbed six times.
        assert_eq!(trials(|trial| trial > 2 && trial % 7 != 2), (3 + 6 * 7, 3));
        assert_eq!(trials(|trial| trial > 2), (3 + 6 * TRIES.0, 0));
    }

    #[test]
    fn what_is_missing_spoils_itself_alone() {
        let host = Fake {
            missing: vec!["testpmd"],
            ..Fake::default()
        };
        let (subjects, end, _) = measured(&host, &mut Collector::default());
        assert!(matches!(end, End::Complete));
        let failure = subjects[1].series.failure.as_ref().expect("it is missing");
        assert_eq!(failure.remedy, "install testpmd");
        assert_eq!(subjects[0].series.trials.len(), 3);
    }

    #[test]
    fn an_interrupt_keeps_what_was_measured_and_a_failure_spoils_one() {
        let mut sink = Collector {
            interrupt_after: Some(4),
            ..Collector::default()
        };
        let (subjects, end, _) = measured(&Fake::default(), &mut sink);
        assert!(matches!(end, End::Interrupted));
        let trials: usize = subjects.iter().map(|one| one.series.trials.len()).sum();
        assert_eq!(trials, 3);
        let host = Fake {
            breaks_at: Some(5),
            ..Fake::default()
        };
        let (subjects, end, _) = measured(&host, &mut Collector::default());
        assert!(matches!(&end, End::Failed { error, .. } if error.to_string().contains("port")));
        let whole = |one: &&Subject| one.series.trials.len() == 3;
        assert_eq!(subjects.iter().filter(whole).count(), 2, "the others go on");
        let broken = subjects.iter().find(|one| one.series.failure.is_some());
        let failure = broken.and_then(|one| one.series.failure.as_ref());
        assert!(failure.is_some_and(|failure| failure.reason.contains("a port is gone")));
        assert!(end.result().is_err());
    }
}
