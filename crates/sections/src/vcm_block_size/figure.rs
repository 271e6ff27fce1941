//! The lines of the figure: how speed rises with the block, and where it
//! falls, which the paper takes interrupts for the cause of.

use std::collections::BTreeSet;

use kit::drawing::text;
use kit::experiment::Results;
use kit::load::benches::{Ask, NOTIFICATIONS, SPEED};
use kit::series::Series;
use kit::subject::{Pair, Subject};
use kit::words::{percent, size, speed};
use model::paper::published;
use policy::Policy;
use trial::stats::PAIRS_MIN;
use trial::{Cell, Comparison, Table, Validity};

use super::{BlockSize, are_along, price};

/// Where the paper's speed is greatest, and interrupts/s there.
pub(super) const PEAK_BYTES: usize = published::AES_128.peak_block_bytes.unwrap() as usize;
pub(super) const BEST_PER_S: f64 = published::AES_128.best_interrupts_per_s.unwrap();
/// Less is no fall worth a cause.
const SHARE_MAX: f64 = 0.97;

/// One arm's line: a placement, an algorithm.
pub(super) struct Line {
    pub(super) name: String,
    /// What was measured, by rising block size; at least one.
    pub(super) dots: Vec<Dot>,
    /// Whether nothing disturbed it. That blocks do not fit the cache is part
    /// of its shape.
    pub(super) is_quiet: bool,
    /// Where it is lowest beyond its peak, and the ratio to that; nothing is
    /// known of a line that was disturbed.
    pub(super) fall: Option<(Dot, Comparison)>,
}

#[derive(Clone, Copy)]
pub(super) struct Dot {
    pub(super) place: Ask,
    pub(super) mb_per_s: f64,
    pub(super) notifications_per_s: f64,
}

/// Every line of an arm.
pub(super) fn lines(results: &Results<'_, BlockSize>, arm: Policy) -> Vec<Line> {
    let usual = results.usual();
    let own: Vec<_> = (results.measured())
        .filter(|(subject, _)| subject.arm == arm)
        .collect();
    let lines = own.chunk_by(|(one, _), (next, _)| are_along(&one.place, &next.place));
    let line = |own: &[(&Subject<Ask, Policy>, &Series)]| {
        let dots = own.iter().filter_map(|(subject, series)| {
            Some(Dot {
                place: subject.place,
                mb_per_s: series.median(SPEED).filter(|speed| *speed > 0.0)?,
                notifications_per_s: series.median(NOTIFICATIONS)?,
            })
        });
        let validity = |series| results.verdict_of(series, &usual).validity;
        let is_quiet = |series| matches!(validity(series), Validity::Valid | Validity::WorkingSet);
        let spot = &own[0].0.spot;
        let mut line = Line {
            name: spot
                .only(|name| ["algorithm", "placement"].contains(&name))
                .words(),
            dots: dots.collect(),
            is_quiet: own.iter().all(|(_, series)| is_quiet(series)),
            fall: None,
        };
        if line.dots.is_empty() {
            return None;
        }
        line.fall = line.fall(results, arm).filter(|_| line.is_quiet);
        Some(line)
    };
    lines.filter_map(line).collect()
}

impl Line {
    /// Whether it is the same line of another arm.
    pub(super) fn is_along(&self, other: &Self) -> bool {
        are_along(&self.dots[0].place, &other.dots[0].place)
    }

    /// Where speed is greatest.
    pub(super) fn peak(&self) -> Dot {
        let by_speed = |a: &&Dot, b: &&Dot| a.mb_per_s.total_cmp(&b.mb_per_s);
        *self.dots.iter().max_by(by_speed).expect("a line has a dot")
    }

    pub(super) fn ends(&self) -> (Dot, Dot) {
        (self.dots[0], self.dots[self.dots.len() - 1])
    }

    fn fall(&self, results: &Results<'_, BlockSize>, arm: Policy) -> Option<(Dot, Comparison)> {
        let (peak, usual) = (self.peak(), results.usual());
        let is_beyond = |dot: &&Dot| dot.place.block_bytes > peak.place.block_bytes;
        let fallen = self.dots.iter().filter(is_beyond).filter_map(|&dot| {
            let pair = Pair::new((dot.place, arm), (peak.place, arm), SPEED);
            let ratio = results.compare(&pair, &usual)?.comparison;
            // Not by its outcome: the cache is no reason to doubt this one.
            let is_evident = ratio.pairs.len() >= PAIRS_MIN && ratio.high < 1.0;
            (is_evident && ratio.ratio < SHARE_MAX).then_some((dot, ratio))
        });
        fallen.min_by(|(a, _), (b, _)| a.mb_per_s.total_cmp(&b.mb_per_s))
    }
}

/// A rate as people write it.
pub(super) fn rate(per_s: f64) -> String {
    match per_s {
        rate if rate >= 1e6 => format!("{:.2} M/s", rate / 1e6),
        rate if rate >= 1e4 => format!("{:.0} k/s", rate / 1e3),
        rate => format!("{rate:.0}/s"),
    }
}

/// What a row is about, what the paper has, and what a line of ours has.
type Row = (&'static str, String, fn(&Line) -> String);

/// The paper's figure 2 beside this host's.
pub(super) fn beside(results: &Results<'_, BlockSize>) -> Option<Table> {
    let lines = lines(results, Policy::EACH);
    let said: [Row; 5] = [
        ("speed is greatest at", size(PEAK_BYTES), |line| {
            size(line.peak().place.block_bytes)
        }),
        (
            "greatest speed",
            "below 0.7 GB/s (axis)".to_owned(),
            |line| speed(line.peak().mb_per_s),
        ),
        (
            "speed of the largest block, as a share of that",
            "below 100%".to_owned(),
            |line| percent(line.ends().1.mb_per_s / line.peak().mb_per_s),
        ),
        (
            "notifications at the greatest speed",
            rate(BEST_PER_S),
            |line| rate(line.peak().notifications_per_s),
        ),
        (
            "notification rate as blocks grow",
            "rises".to_owned(),
            |line| {
                let (first, last) = line.ends();
                let (first, last) = (first.notifications_per_s, last.notifications_per_s);
                let way = if last < first { "falls" } else { "rises" };
                format!("{way}: {} to {}", rate(first), rate(last))
            },
        ),
    ];
    let row = |name: &str, theirs: &str, ours: &dyn Fn(&Line) -> Cell| -> Vec<Cell> {
        let ours = lines.iter().map(ours);
        [text(name), text(theirs)].into_iter().chain(ours).collect()
    };
    let said = said.iter();
    let said = said.map(|(name, theirs, ours)| row(name, theirs, &|line| text(ours(line))));
    let mut rows: Vec<_> = said.collect();
    let dots = lines.iter().flat_map(|line| &line.dots);
    let sizes: BTreeSet<_> = dots.map(|dot| dot.place.block_bytes).collect();
    for bytes in sizes {
        let price = |line: &Line| {
            let dot = line.dots.iter().find(|dot| dot.place.block_bytes == bytes);
            let values = dot.map(|dot| price::elapsed_ns(results, &[dot.place]));
            let told = values.and_then(|values| price::spread(&values));
            told.map_or(Cell::Empty, text)
        };
        let name = format!("a notification costs, at {}", size(bytes));
        rows.push(row(&name, "", &price));
    }
    let ours = lines.iter().map(|line| match line.is_quiet {
        true => line.name.clone(),
        false => format!("{}: disturbed", line.name),
    });
    let columns = ["", "paper: AES-128, QAT"].map(str::to_owned);
    let columns = columns.into_iter().chain(ours).map(|label| (label, ""));
    let title = "The paper's figure 2 beside this host, a notification for every completion";
    let note = format!(
        "The paper: {}. What a notification costs: how much later everything is for each that `each` sends and `armed` does not.",
        published::TEST_BED
    );
    let table = results.table(title, note, columns, rows);
    table.filter(|_| !lines.is_empty())
}

#[cfg(test)]
mod tests {
    use kit::experiment::Experiment;
    use kit::host::Host;
    use kit::subject::Reading;

    use super::*;

    /// The fall of a line whose speeds are planted, with that noise.
    fn planted(speeds: &[f64], noise: f64) -> Option<(usize, usize, f64)> {
        let sizes: Vec<_> = (0..speeds.len())
            .map(|index| (512 << index).to_string())
            .collect();
        let table = format!(
            "algorithms = ['aes-128-cbc']\nplacements = ['shared']\npolicies = ['each']\nsizes_bytes = [{}]",
            sizes.join(", ")
        );
        let experiment: BlockSize = kit::testing::section(&table).unwrap();
        let host = Host::with_cpus([0]);
        let subjects = experiment.subjects(&host);
        let mut results = Results::new(&experiment, &host, &subjects, (0.01, ""));
        for (series, &speed) in results.series.iter_mut().zip(speeds) {
            let reading = |round: usize| {
                let wave = 1.0 + noise * ((round % 3) as f64 - 1.0);
                Reading::new(vec![(SPEED, speed * wave), (NOTIFICATIONS, 1.0)])
            };
            series.rounds = (0..9).map(|round| (round, reading(round))).collect();
        }
        let line = lines(&results, Policy::EACH).pop()?;
        let peak_bytes = line.peak().place.block_bytes;
        let (lowest, ratio) = line.fall?;
        Some((peak_bytes, lowest.place.block_bytes, ratio.ratio))
    }

    #[test]
    fn a_planted_fall_is_found_with_its_peak() {
        let (peak, lowest, ratio) = planted(&[100.0, 200.0, 400.0, 380.0, 300.0], 0.01).unwrap();
        assert_eq!((peak, lowest), (2048, 8192));
        assert!((ratio - 0.75).abs() < 0.03, "{ratio}");
    }

    #[test]
    fn rising_flat_and_noisy_lines_do_not_fall() {
        assert_eq!(planted(&[100.0, 200.0, 300.0], 0.01), None);
        assert_eq!(planted(&[100.0, 200.0, 198.0], 0.001), None);
        assert_eq!(planted(&[100.0], 0.0), None);
    }
}
