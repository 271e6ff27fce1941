//! What is shown: a table for BENCHMARKING.md, and which targets are met.

use std::fmt::Write;

use trial::stats::{median, median_interval};

/// Targets of the table.
const RATIO_MIN: f64 = 0.95;
const FIRST_MS_MAX: f64 = 10.0;
const LATER_MS_MAX: f64 = 1.0;
const RESIDENT_BYTES_MAX: u64 = 64 << 20;
const LINES_MAX: f64 = 1.0;
/// The allocator keeps stacks and arenas of threads that have ended; of a mapping that is
/// forgotten with each attack there are more.
const MAPPINGS_KEPT: i64 = 64;

/// What it asks, in words, and whether an attack is as it asks.
type Target<'a> = (String, &'a dyn Fn(&Row) -> bool);

/// One attack.
#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    /// The victim's rate beside it, over that beside a fair neighbour, by pair.
    pub ratios: Vec<f64>,
    /// Longest wait beside it, beyond that beside a fair neighbour: by daemon for the first
    /// pair, then by pair.
    pub first_ms: Vec<f64>,
    pub later_ms: Vec<f64>,
    pub resident_bytes: u64,
    pub descriptors: Option<i64>,
    pub mappings: Option<i64>,
    /// What the daemon said: that a guest comes or leaves, and all else.
    pub comings: usize,
    pub lines: usize,
    pub attacks: usize,
    pub answers: u64,
    pub wrong: u64,
    pub deaths: u64,
}

impl Row {
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            ratios: Vec::new(),
            first_ms: Vec::new(),
            later_ms: Vec::new(),
            resident_bytes: 0,
            descriptors: None,
            mappings: None,
            comings: 0,
            lines: 0,
            attacks: 0,
            answers: 0,
            wrong: 0,
            deaths: 0,
        }
    }

    fn ratio(&self) -> String {
        match median_interval(&self.ratios) {
            Ok(interval) => format!(
                "{:.2} ({:.2}–{:.2})",
                interval.estimate, interval.low, interval.high
            ),
            Err(error) => error.to_string(),
        }
    }

    /// Counts what the daemon said during a round.
    pub fn say(&mut self, lines: &[String]) {
        // It may say how many lines before it were left out.
        let is_coming = |line: &&String| {
            line.contains(": a guest connects") || line.contains(": its guest leaves")
        };
        let comings = lines.iter().filter(is_coming).count();
        self.comings += comings;
        self.lines += lines.len() - comings;
        self.attacks += 1;
    }

    fn each(&self, count: usize) -> f64 {
        count as f64 / self.attacks.max(1) as f64
    }

    pub fn in_words(&self) -> String {
        let Self { name, wrong, .. } = self;
        let (ratio, first, later) = (self.ratio(), waits(&self.first_ms), waits(&self.later_ms));
        format!(
            "| {name} | {ratio} | {first} | {later} | {:.1} | {} | {} | {:.1} + {:.1} | {wrong} |",
            self.resident_bytes as f64 / 1e6,
            more(self.descriptors),
            more(self.mappings),
            self.each(self.lines),
            self.each(self.comings),
        )
    }

    /// Whether what no busy host excuses is as it has to be.
    pub fn is_sound(&self) -> bool {
        self.wrong == 0
            && self.deaths == 0
            && self.answers > 0
            && self.descriptors.is_none_or(|more| more <= 0)
            && self.mappings.is_none_or(|more| more <= MAPPINGS_KEPT)
    }
}

/// The median, and the largest.
fn waits(all_ms: &[f64]) -> String {
    let largest = all_ms.iter().copied().fold(f64::MIN, f64::max);
    match median(all_ms) {
        Some(median) => format!("{median:.1} ({largest:.1})"),
        None => "-".to_owned(),
    }
}

fn more(count: Option<i64>) -> String {
    count.map_or("not seen".to_owned(), |count| format!("{count:+}"))
}

pub fn render(rows: &[Row]) -> String {
    let mut text = "
| attack | rate ÷ share (low–high) | first offence: longest wait beyond, ms (worst) | later, ms (worst) | RSS above idle, MB | fds | maps | log lines an attack + comings and goings | wrong |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"
    .to_owned();
    for row in rows {
        let _ = writeln!(text, "{}", row.in_words());
    }
    text.push('\n');
    let at_most = |all: &[f64], limit| median(all).is_none_or(|median| median <= limit);
    let targets: [Target<'_>; 8] = [
        (format!("rate ÷ share at least {RATIO_MIN}"), &|row| {
            median(&row.ratios).is_none_or(|ratio| ratio >= RATIO_MIN)
        }),
        (
            format!("first offence: at most {FIRST_MS_MAX} ms beyond"),
            &|row| at_most(&row.first_ms, FIRST_MS_MAX),
        ),
        (format!("later: at most {LATER_MS_MAX} ms beyond"), &|row| {
            at_most(&row.later_ms, LATER_MS_MAX)
        }),
        (
            format!("RSS at most {} MiB above idle", RESIDENT_BYTES_MAX >> 20),
            &|row| row.resident_bytes <= RESIDENT_BYTES_MAX,
        ),
        ("descriptors as before".to_owned(), &|row| {
            row.descriptors.is_none_or(|more| more <= 0)
        }),
        (
            format!("mappings as before, but for {MAPPINGS_KEPT} that an allocator keeps"),
            &|row| row.mappings.is_none_or(|more| more <= MAPPINGS_KEPT),
        ),
        (
            format!("log lines an attack, comings and goings aside: at most {LINES_MAX}"),
            &|row| row.each(row.lines) <= LINES_MAX,
        ),
        ("no wrong answer, the daemon alive".to_owned(), &|row| {
            row.wrong == 0 && row.deaths == 0 && row.answers > 0
        }),
    ];
    for (words, is_met) in targets {
        let missed: Vec<_> = rows.iter().filter(|row| !is_met(row)).collect();
        let names: Vec<_> = missed.iter().map(|row| row.name).collect();
        let _ = match names.is_empty() {
            true => writeln!(text, "- {words}: met"),
            false => writeln!(text, "- {words}: NOT MET by {}", names.join(", ")),
        };
    }
    text
}
