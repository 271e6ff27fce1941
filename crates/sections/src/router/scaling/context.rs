//! What everything that is said of the results rests on.

use std::time::Duration;

use trial::Point;
use trial::stats::Arms;

use crate::router::scaling::case::{Case, each_pps, others_delivered};
use crate::router::scaling::config::Config;
use kit::metric::metric;
use kit::ratio::Ratio;
use kit::routers::metrics::{dimensions, of_series};
use kit::routers::series::Series;
use kit::routers::subject::Subject;
use kit::routers::trial::{Trial, size_name};

/// The results with their conditions.
pub(super) struct Context<'a> {
    pub(super) config: &'a Config,
    /// One trial.
    pub(super) slice: Duration,
    pub(super) cases: &'a [Case],
    pub(super) subjects: &'a [Subject],
    pub(super) command: &'a str,
}

impl<'a> Context<'a> {
    /// What was measured of a case.
    pub(super) fn series(&self, case: Case) -> Option<&'a Series> {
        let index = self.cases.iter().position(|own| *own == case)?;
        let series = &self.subjects[index].series;
        (!series.trials.is_empty()).then_some(series)
    }

    /// Conditions in words: under tables and charts.
    pub(super) fn note(&self) -> String {
        format!(
            "{} each, {}, one way, trials of {:.2} s over veth pairs. All routers share the CPUs that one has: what more of them cost is seen, not what more CPUs give.",
            self.config.way.what(),
            size_name(self.config.frame),
            self.slice.as_secs_f64()
        )
    }

    /// Everything that was tried.
    pub(super) fn points(&self) -> Vec<Point> {
        let both = self.cases.iter().zip(self.subjects);
        let tried = both.filter(|(_, subject)| subject.series.is_tried());
        tried
            .map(|(case, subject)| self.point(*case, subject))
            .collect()
    }

    fn point(&self, case: Case, subject: &Subject) -> Point {
        let series = &subject.series;
        let setup = &subject.setups[0];
        let mut dimensions = dimensions(setup, subject.offer(), case.procedure());
        let count = subject.setups.len() as u64;
        dimensions.insert("routers".to_owned(), count.into());
        let percent = |share: f64| share * 100.0;
        let each = |pick: fn((f64, f64)) -> f64| {
            series.values(move |trial: &Trial| each_pps(trial).map(pick))
        };
        let higher = trial::Direction::Higher;
        let own = [
            metric("least_pps", "frames/s", higher, each(|(least, _)| least)),
            metric("most_pps", "frames/s", higher, each(|(_, most)| most)),
            metric(
                "others_delivered_percent",
                "%",
                higher,
                series.values(|trial| others_delivered(trial).map(percent)),
            ),
        ];
        let mut metrics = of_series(series);
        metrics.extend(own.into_iter().flatten());
        Point {
            dimensions,
            metrics,
            verdict: series.verdict(),
            command: self.command.to_owned(),
            histogram: String::new(),
        }
    }

    /// The total of many against one; what the others keep, with and without
    /// limits.
    pub(super) fn ratios(&self) -> Vec<Ratio> {
        let counts = self.config.routers.iter().filter(|count| **count > 1);
        let totals = counts.filter_map(|&count| {
            let arms = self.arms(format!("{count} routers"), "one router", "received_pps");
            let total = |trial: &Trial| Some(trial.received_pps());
            self.ratio((Case::SideBySide(count), Case::SideBySide(1)), arms, total)
        });
        let mut ratios: Vec<_> = totals.collect();
        let metric = "others_delivered_percent";
        let with = || "beside an overloaded router".to_owned();
        let hurt = self.arms(with(), "beside none", metric);
        let helped = self.arms(
            "beside an overloaded router, with limits".to_owned(),
            "without limits",
            metric,
        );
        let pairs = [
            ((Case::Overloaded, Case::Peace), hurt),
            ((Case::Limited, Case::Overloaded), helped),
        ];
        let beside = pairs
            .into_iter()
            .filter_map(|(cases, arms)| self.ratio(cases, arms, others_delivered));
        ratios.extend(beside);
        ratios
    }

    fn arms(&self, arm: String, reference: &str, metric: &str) -> Arms {
        Arms {
            subject: format!(
                "{}, {}",
                self.config.way.what(),
                size_name(self.config.frame)
            ),
            arm,
            reference: reference.to_owned(),
            metric: metric.to_owned(),
            command: self.command.to_owned(),
        }
    }

    fn ratio(
        &self,
        (arm, reference): (Case, Case),
        arms: Arms,
        value: impl Fn(&Trial) -> Option<f64>,
    ) -> Option<Ratio> {
        let both = (self.series(arm)?, self.series(reference)?);
        Ratio::of(both, arms, value, self.config.seed)
    }
}
