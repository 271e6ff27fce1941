//! Words that every section uses: figures with their units, findings.

use crypto::Kind;
use trial::{Finding, Weight};

/// What to change where notifications cost most: in the words of every section.
pub const NOTIFY_SLEEPERS: &str = "Notify only clients that sleep (policy armed)";

pub fn finding(weight: Weight, text: String, remedy: impl Into<String>) -> Finding {
    Finding {
        weight,
        text,
        remedy: remedy.into(),
    }
}

/// The first of them, and how many more there are.
pub fn listed<S: AsRef<str>>(all: &[S], most: usize) -> String {
    let mut named: Vec<_> = all
        .iter()
        .take(most)
        .map(|one| one.as_ref().to_owned())
        .collect();
    if all.len() > most {
        named.push(format!("and {} more", all.len() - most));
    }
    named.join("; ")
}

/// The parts that are not empty, with that between them.
pub fn joined<'a>(words: impl IntoIterator<Item = &'a str>, separator: &str) -> String {
    let said = words.into_iter().filter(|words| !words.is_empty());
    said.collect::<Vec<_>>().join(separator)
}

/// Block sizes as people write them.
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1024) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

/// `5 MB`: bytes of a file, in powers of ten.
#[must_use]
pub fn file_size(bytes: usize) -> String {
    match bytes {
        bytes if bytes >= 1_000_000_000 => format!("{} GB", bytes as f64 / 1e9),
        bytes if bytes >= 100_000 => format!("{} MB", bytes as f64 / 1e6),
        bytes => format!("{} kB", bytes as f64 / 1e3),
    }
}

/// A speed with a unit that leaves three digits.
pub fn speed(mb_per_s: f64) -> String {
    match mb_per_s {
        speed if speed >= 10_000.0 => format!("{:.1} GB/s", speed / 1e3),
        speed if speed >= 1000.0 => format!("{:.2} GB/s", speed / 1e3),
        speed if speed >= 100.0 => format!("{speed:.0} MB/s"),
        speed => format!("{speed:.1} MB/s"),
    }
}

pub fn percent(share: f64) -> String {
    if share < 0.1 {
        format!("{:.1}%", share * 100.0)
    } else {
        format!("{:.0}%", share * 100.0)
    }
}

/// An algorithm, with the operation where it is not its first.
pub fn what(kind: Kind) -> String {
    if kind.algorithm.operations()[0] == kind.operation {
        kind.algorithm.to_string()
    } else {
        format!("{} {}", kind.algorithm, kind.operation)
    }
}

/// A time with a unit that leaves three digits.
pub fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns => (ns / 1e6, "ms"),
    };
    let decimals = match value {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}
