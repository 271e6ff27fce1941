//! Finds where the speed falls, and runs the experiments there.

use std::time::Duration;

use model::cause::Cause;
use trial::stats::{Random, median};

use crate::vcm::cause::diagnosis;
use crate::vcm::cause::experiment::Experiment;
use crate::vcm::cause::setting::{Reading, Setting};
use crate::vcm::cause::subject::{Subject, SubjectError};

/// How long and how often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    /// Of one trial.
    pub(super) slice: Duration,
    /// Rounds over the sizes, to find the fall.
    pub(super) scans: usize,
    /// Rounds of the experiments.
    pub(super) rounds: usize,
    /// The most, as long as nothing can be named.
    pub(super) rounds_max: usize,
}

/// What was measured of a subject.
#[derive(Clone, Debug)]
pub(super) struct Examination {
    pub(super) name: String,
    /// The load as it is at each size, and what each round gave.
    pub(super) scan: Vec<(Setting, Vec<Reading>)>,
    /// None where the speed is highest at the largest size, or where there
    /// was no time for it.
    pub(super) fall: Option<Fall>,
}

/// A fall from the peak, and the experiments there.
#[derive(Clone, Debug)]
pub(super) struct Fall {
    pub(super) peak: Setting,
    pub(super) fallen: Setting,
    pub(super) series: Vec<Series>,
}

/// What an experiment gave, a reading a round.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) experiment: Experiment,
    pub(super) setting: Setting,
    pub(super) readings: Vec<Reading>,
}

impl Examination {
    /// Whether every size was measured.
    pub(super) fn is_scanned(&self) -> bool {
        self.scan.iter().all(|(_, readings)| !readings.is_empty())
    }
}

impl Fall {
    /// Whole rounds of the experiments.
    pub(super) fn rounds(&self) -> usize {
        let all = self.series.iter().map(|series| series.readings.len());
        all.min().unwrap_or(0)
    }

    pub(super) fn series(&self, experiment: Experiment) -> Option<&Series> {
        let mut all = self.series.iter();
        all.find(|series| series.experiment == experiment)
    }
}

impl Series {
    /// One value a round.
    pub(super) fn values(&self, value: impl Fn(&Reading) -> f64) -> Vec<f64> {
        self.readings.iter().map(value).collect()
    }

    /// Median speed, 10^6 bytes a second; none without a reading.
    pub(super) fn mb_per_s(&self) -> Option<f64> {
        speed(&self.readings)
    }
}

/// Median speed of readings, 10^6 bytes a second.
pub(super) fn speed(readings: &[Reading]) -> Option<f64> {
    let speeds: Vec<_> = readings.iter().map(|reading| reading.mb_per_s).collect();
    median(&speeds)
}

/// Why an examination ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stopped {
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    Failed(#[from] SubjectError),
}

/// Examines a subject; what was measured before it was stopped stands.
pub(super) fn examine(
    subject: &mut dyn Subject,
    pace: &Pace,
    seed: u64,
    is_interrupted: &dyn Fn() -> bool,
) -> (Examination, Result<(), Stopped>) {
    let mut bench = Bench {
        subject,
        pace,
        random: Random::new(seed),
        is_interrupted,
    };
    let sizes = bench.subject.sizes_bytes().to_vec();
    let plain = |block_bytes| (bench.subject.plain(block_bytes), Vec::new());
    let mut examination = Examination {
        name: bench.subject.name(),
        scan: sizes.into_iter().map(plain).collect(),
        fall: None,
    };
    let result = bench.run(&mut examination);
    (examination, result)
}

struct Bench<'a> {
    subject: &'a mut dyn Subject,
    pace: &'a Pace,
    random: Random,
    is_interrupted: &'a dyn Fn() -> bool,
}

impl Bench<'_> {
    fn run(&mut self, examination: &mut Examination) -> Result<(), Stopped> {
        for _ in 0..self.pace.scans {
            for index in self.shuffled(examination.scan.len()) {
                let (setting, readings) = &mut examination.scan[index];
                readings.push(self.trial(setting)?);
            }
        }
        let Some(places) = fall(&examination.scan) else {
            return Ok(());
        };
        let (peak, fallen) = places;
        let fall = examination.fall.insert(Fall {
            peak,
            fallen,
            series: self.series(places),
        });
        let mut left = 2 * self.pace.rounds_max;
        while left > 0 && (fall.rounds() < self.pace.rounds || self.goes_on(fall)) {
            left -= 1;
            let round = self.round(&fall.series)?;
            // On a crowded host a short trial may pass without a request.
            if round.iter().any(|reading| reading.mb_per_s <= 0.0) {
                continue;
            }
            let pairs = fall.series.iter_mut().zip(round);
            pairs.for_each(|(series, reading)| series.readings.push(reading));
        }
        Ok(())
    }

    /// Whether more rounds are allowed and could tell what these do not.
    fn goes_on(&self, fall: &Fall) -> bool {
        let is_unknown = || {
            let named = diagnosis::of(fall).map(|diagnosis| diagnosis.cause);
            matches!(named, Ok(Cause::Unknown))
        };
        fall.rounds() < self.pace.rounds_max && is_unknown()
    }

    fn series(&self, places: (Setting, Setting)) -> Vec<Series> {
        let series = |experiment: Experiment| {
            Some(Series {
                experiment,
                setting: experiment.setting(self.subject, places)?,
                readings: Vec::new(),
            })
        };
        Experiment::ALL.into_iter().filter_map(series).collect()
    }

    /// One reading of each; only whole rounds count, so that all are paired.
    fn round(&mut self, series: &[Series]) -> Result<Vec<Reading>, Stopped> {
        let mut round = vec![Reading::default(); series.len()];
        for index in self.shuffled(series.len()) {
            let Series {
                experiment,
                setting,
                ..
            } = &series[index];
            round[index] = if experiment.is_generator() {
                self.check()?;
                let mb_per_s = self.subject.generate(setting, self.pace.slice / 2)?;
                Reading {
                    mb_per_s,
                    ..Reading::default()
                }
            } else {
                self.trial(setting)?
            };
        }
        Ok(round)
    }

    fn trial(&mut self, setting: &Setting) -> Result<Reading, Stopped> {
        self.check()?;
        Ok(self.subject.run(setting, self.pace.slice)?)
    }

    fn check(&self) -> Result<(), Stopped> {
        if (self.is_interrupted)() {
            return Err(Stopped::Interrupted);
        }
        Ok(())
    }

    fn shuffled(&mut self, len: usize) -> Vec<usize> {
        let mut order: Vec<_> = (0..len).collect();
        self.random.shuffle(&mut order);
        order
    }
}

/// Where the speed is highest, and where beyond that it is lowest.
fn fall(scan: &[(Setting, Vec<Reading>)]) -> Option<(Setting, Setting)> {
    let speeds = scan.iter().map(|(_, readings)| speed(readings));
    let speeds: Vec<f64> = speeds.collect::<Option<_>>()?;
    let by_speed = |a: &usize, b: &usize| speeds[*a].total_cmp(&speeds[*b]);
    let peak = (0..scan.len()).max_by(by_speed)?;
    let fallen = (peak + 1..scan.len()).min_by(by_speed)?;
    Some((scan[peak].0, scan[fallen].0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::place::Placement;

    fn scan(speeds: &[f64]) -> Vec<(Setting, Vec<Reading>)> {
        let one = |(index, &mb_per_s): (usize, &f64)| {
            let setting = Setting {
                block_bytes: 512 << index,
                depth: 8,
                is_polled: false,
                placement: Placement::Shared,
            };
            let reading = Reading {
                mb_per_s,
                ..Reading::default()
            };
            (setting, vec![reading])
        };
        speeds.iter().enumerate().map(one).collect()
    }

    #[test]
    fn a_fall_is_from_the_peak_to_the_lowest_beyond() {
        let sizes = |speeds: &[f64]| {
            let (peak, fallen) = fall(&scan(speeds))?;
            Some((peak.block_bytes, fallen.block_bytes))
        };
        assert_eq!(sizes(&[1.0, 5.0, 2.0, 3.0]), Some((1024, 2048)));
        assert_eq!(sizes(&[1.0, 2.0, 3.0]), None);
        assert_eq!(sizes(&[9.0, 2.0]), Some((512, 1024)));
        assert_eq!(sizes(&[]), None);
    }
}
