//! The lines of the figure: how speed rises with the block, and where it
//! falls, which the paper takes interrupts for the cause of.

use crypto::Kind;
use kit::drawing::{column, number, text};
use kit::experiment::Pair;
use kit::load::benches::{NOTIFICATIONS, SPEED};
use kit::place::Placement;
use kit::places::on;
use kit::results::Results;
use kit::words::{percent, size, speed, what};
use model::paper::published;
use policy::Policy;
use trial::stats::{PAIRS_MIN, median};
use trial::{Cell, Comparison, Table, Validity};

use super::{BlockSize, Place, price};

/// Less is no fall worth a cause.
const SHARE_MAX: f64 = 0.97;

/// One arm's line: a placement, an algorithm.
pub(super) struct Line {
    pub(super) placement: Placement,
    kind: Kind,
    /// What was measured, by rising block size; at least one.
    pub(super) dots: Vec<Dot>,
    /// Whether nothing disturbed it. That blocks do not fit the cache is part
    /// of its shape.
    pub(super) is_quiet: bool,
    /// Where it falls furthest beyond its peak.
    pub(super) fall: Option<Fall>,
}

#[derive(Clone, Copy)]
pub(super) struct Dot {
    pub(super) place: Place,
    pub(super) mb_per_s: f64,
    pub(super) notifications_per_s: f64,
}

/// A place beyond the peak that is certainly slower.
pub(super) struct Fall {
    pub(super) lowest: Dot,
    /// Its speed against the peak's, in interleaved pairs.
    pub(super) ratio: Comparison,
}

/// Every line of an arm, in the order of the subjects.
pub(super) fn lines(results: &Results<'_, BlockSize>, arm: Policy) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let usual = results.usual();
    for (subject, series) in results.measured().filter(|(subject, _)| subject.arm == arm) {
        let place @ Place {
            placement, kind, ..
        } = subject.place;
        let validity = results.verdict_of(series, &usual).validity;
        let is_quiet = matches!(validity, Validity::Valid | Validity::WorkingSet);
        let dot = (series.median(SPEED).filter(|speed| *speed > 0.0))
            .zip(series.median(NOTIFICATIONS))
            .map(|(mb_per_s, notifications_per_s)| Dot {
                place,
                mb_per_s,
                notifications_per_s,
            });
        match lines
            .iter_mut()
            .find(|line| (line.placement, line.kind) == (placement, kind))
        {
            Some(line) => {
                line.dots.extend(dot);
                line.is_quiet &= is_quiet;
            }
            None => lines.push(Line {
                placement,
                kind,
                dots: dot.into_iter().collect(),
                is_quiet,
                fall: None,
            }),
        }
    }
    lines.retain(|line| !line.dots.is_empty());
    for line in lines.iter_mut().filter(|line| line.is_quiet) {
        line.fall = fall(results, line, arm);
    }
    lines
}

fn fall(results: &Results<'_, BlockSize>, line: &Line, arm: Policy) -> Option<Fall> {
    let peak = line.peak();
    let usual = results.usual();
    let beyond = line
        .dots
        .iter()
        .filter(|dot| dot.place.block_bytes > peak.place.block_bytes);
    let fallen = beyond.filter_map(|&lowest| {
        let pair = Pair {
            arm: (lowest.place, arm),
            reference: (peak.place, arm),
            measure: SPEED,
            target: None,
        };
        let ratio = results.compare(&pair, &usual)?.comparison;
        // Not by its outcome: the cache is no reason to doubt this one.
        let is_evident = ratio.pairs.len() >= PAIRS_MIN && ratio.high < 1.0;
        (is_evident && ratio.ratio < SHARE_MAX).then_some(Fall { lowest, ratio })
    });
    fallen.min_by(|a, b| a.lowest.mb_per_s.total_cmp(&b.lowest.mb_per_s))
}

impl Line {
    /// In words.
    pub(super) fn name(&self) -> String {
        format!("{}, {}", what(self.kind), on(self.placement))
    }

    /// Whether it is the same line of another arm.
    pub(super) fn is_along(&self, other: &Self) -> bool {
        (self.placement, self.kind) == (other.placement, other.kind)
    }

    /// Where speed is greatest.
    pub(super) fn peak(&self) -> Dot {
        let peak = self
            .dots
            .iter()
            .max_by(|a, b| a.mb_per_s.total_cmp(&b.mb_per_s));
        *peak.expect("a line has a dot")
    }

    pub(super) fn ends(&self) -> (Dot, Dot) {
        (self.dots[0], self.dots[self.dots.len() - 1])
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

pub(super) fn tables(results: &Results<'_, BlockSize>) -> Vec<Table> {
    let lines = lines(results, Policy::EACH);
    if lines.is_empty() {
        return Vec::new();
    }
    [Some(beside(results, &lines)), prices(results, &lines)]
        .into_iter()
        .flatten()
        .collect()
}

/// The paper's figure 2 beside this host's.
fn beside(results: &Results<'_, BlockSize>, lines: &[Line]) -> Table {
    let paper = published::AES_128;
    let peak_bytes = paper.peak_block_bytes.unwrap_or_default() as usize;
    let best = paper.best_interrupts_per_s.unwrap_or_default();
    let row = |name: &str, theirs: String, say: &dyn Fn(&Line) -> String| -> Vec<Cell> {
        let ours = lines.iter().map(|line| text(say(line)));
        [text(name), text(theirs)].into_iter().chain(ours).collect()
    };
    let share = |line: &Line| line.ends().1.mb_per_s / line.peak().mb_per_s;
    let rates = |line: &Line| {
        let (first, last) = line.ends();
        let (first, last) = (first.notifications_per_s, last.notifications_per_s);
        let way = if last < first { "falls" } else { "rises" };
        format!("{way}: {} to {}", rate(first), rate(last))
    };
    let title = |line: &Line| match line.is_quiet {
        true => column(line.name(), ""),
        false => column(format!("{}: disturbed", line.name()), ""),
    };
    let columns = [column("", ""), column("paper: AES-128, QAT", "")];
    Table {
        title: "The paper's figure 2 beside this host, a notification for every completion"
            .to_owned(),
        note: format!("The paper: {}.", published::TEST_BED),
        columns: columns.into_iter().chain(lines.iter().map(title)).collect(),
        rows: vec![
            row("speed is greatest at", size(peak_bytes), &|line| {
                size(line.peak().place.block_bytes)
            }),
            row(
                "greatest speed",
                "below 0.7 GB/s (axis)".to_owned(),
                &|line| speed(line.peak().mb_per_s),
            ),
            row(
                "speed of the largest block, as a share of that",
                "below 100%".to_owned(),
                &|line| percent(share(line)),
            ),
            row("notifications there", rate(best), &|line| {
                rate(line.peak().notifications_per_s)
            }),
            row(
                "notification rate as blocks grow",
                "rises".to_owned(),
                &rates,
            ),
        ],
        command: results.command.to_owned(),
    }
}

/// What a notification costs at each block size.
fn prices(results: &Results<'_, BlockSize>, lines: &[Line]) -> Option<Table> {
    let mut sizes: Vec<_> = (lines.iter().flat_map(|line| &line.dots))
        .map(|dot| dot.place.block_bytes)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let price = |line: &Line, bytes: usize| {
        let dot = line.dots.iter().find(|dot| dot.place.block_bytes == bytes);
        dot.and_then(|dot| median(&price::elapsed_ns(results, &dot.place)))
    };
    let prices = |bytes: usize| lines.iter().map(move |line| price(line, bytes));
    sizes.retain(|&bytes| prices(bytes).any(|price| price.is_some()));
    let row = |&bytes: &usize| {
        let prices = prices(bytes).map(number);
        std::iter::once(text(size(bytes))).chain(prices).collect()
    };
    let columns = lines.iter().map(|line| column(line.name(), "ns"));
    (!sizes.is_empty()).then(|| Table {
        title: "The price of a notification by block size".to_owned(),
        note: "How much later everything is for each notification that `each` sends and `armed` does not; medians over the rounds.".to_owned(),
        columns: std::iter::once(column("block", "")).chain(columns).collect(),
        rows: sizes.iter().map(row).collect(),
        command: results.command.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use kit::experiment::{Experiment, Reading};
    use kit::host::Host;

    use super::*;

    /// The fall of a line whose speeds are planted, with so much noise.
    fn planted(speeds: &[f64], noise: f64) -> Option<(usize, usize, f64)> {
        let sizes: Vec<_> = (0..speeds.len())
            .map(|index| (512 << index).to_string())
            .collect();
        let table = format!(
            "algorithms = ['aes-128-cbc']\nplacements = ['shared']\npolicies = ['each']\nsizes_bytes = [{}]",
            sizes.join(", ")
        );
        let config = kit::config::keys::parse(&table.parse().unwrap()).unwrap();
        let experiment = BlockSize::new(config).unwrap();
        let host = Host {
            cpus: vec![0],
            l2_bytes: 0,
            has_openssl: false,
        };
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
        let Fall { lowest, ratio } = line.fall?;
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
