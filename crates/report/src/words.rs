//! The words that reports for people share.

use trial::{
    Cell, Chart, Column, Comparison, Dimension, Outcome, Point, Run, SectionResult, SectionState,
    State, Weight,
};

use crate::number::{bytes, number};

/// Texts that were shown already, so that they are not repeated.
#[derive(Default)]
pub(crate) struct Said<'a>(Vec<&'a str>);

impl<'a> Said<'a> {
    /// The words, or nothing where an earlier text begins with them.
    pub(crate) fn fresh(&mut self, words: &'a str) -> &'a str {
        if self.0.iter().any(|earlier| earlier.starts_with(words)) {
            return "";
        }
        self.0.push(words);
        words
    }
}

/// The same section without repeated notes, and without commands that equal the one
/// at its head.
pub(crate) fn said_once(section: &SectionResult) -> SectionResult {
    let mut said = Said::default();
    let mut once = section.clone();
    let charts = (section.charts.iter().zip(&mut once.charts))
        .map(|(chart, once)| (&chart.note, &mut once.note, &mut once.command));
    let tables = (section.tables.iter().zip(&mut once.tables))
        .map(|(table, once)| (&table.note, &mut once.note, &mut once.command));
    let mut commands = Vec::new();
    for (note, once, command) in charts.chain(tables) {
        said.fresh(note).clone_into(once);
        commands.push(command);
    }
    commands.extend(once.comparisons.iter_mut().map(|it| &mut it.command));
    for command in commands {
        if *command == section.command {
            command.clear();
        }
    }
    once
}

pub(crate) fn host(run: &Run) -> Vec<String> {
    let probe = &run.probe;
    let allowed = probe.fact("cpu.allowed").map(|fact| &fact.value);
    let cpus = allowed.and_then(|value| Some(value.as_array()?.len()));
    let guest = probe
        .text("cpu.hypervisor")
        .map(|it| format!("guest of {it}"));
    let kernel = probe.text("host.kernel").map(|it| format!("Linux {it}"));
    let tier = tier(run).map(|it| format!("measured as tier {it}"));
    let mut parts = vec![run.host.clone()];
    parts.extend(probe.text("cpu.model").map(str::to_owned));
    parts.extend(cpus.map(|cpus| plural(cpus, "CPU")));
    parts.extend([guest, kernel, tier].into_iter().flatten());
    parts.push(moment(&run.started_utc));
    parts.push(duration(run.seconds));
    parts
}

/// `2026-11-21T21:15:22Z` as `2026-11-21 21:15 UTC`; other forms as they are.
pub(crate) fn moment(rfc3339: &str) -> String {
    let parts = rfc3339
        .split_once('T')
        .filter(|(_, time)| time.ends_with('Z'));
    match parts.and_then(|(day, time)| Some((day, time.get(..5)?))) {
        Some((day, minute)) => format!("{day} {minute} UTC"),
        None => rfc3339.to_owned(),
    }
}

/// Seconds as people say them.
pub(crate) fn duration(seconds: f64) -> String {
    if !(100.0..1e9).contains(&seconds) {
        return format!("{} s", number(seconds));
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match hours {
        0 => format!("{minutes} min {rest} s"),
        _ => format!("{} h {minutes} min", number(hours as f64)),
    }
}

/// The tier that a run was measured under, if not all of the CPU was used.
pub(crate) fn tier(run: &Run) -> Option<&str> {
    run.probe.text("tier")
}

pub(crate) fn weight(weight: Weight) -> &'static str {
    match weight {
        Weight::Headline => "Verdict",
        Weight::Advice => "Advice",
        Weight::Warning => "Warning",
        Weight::Note => "Note",
    }
}

pub(crate) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Faster => "faster",
        Outcome::Slower => "slower",
        Outcome::NoEvidence => "no evidence",
    }
}

/// How many points are not valid, before a list of them.
pub(crate) fn invalid(count: usize, of: usize) -> String {
    format!(
        "{} of {} not valid, and counted neither as a pass nor as a loss:",
        number(count as f64),
        plural(of, "point")
    )
}

pub(crate) fn state(state: State) -> &'static str {
    match state {
        State::Ok => "ok",
        State::Degraded => "degraded",
        State::Absent => "absent",
    }
}

/// How a section that did not end as planned ended: in a word, why, and the remedy
/// (may be empty).
pub(crate) fn ending(state: &SectionState) -> Option<(&'static str, &str, &str)> {
    match state {
        SectionState::Complete => None,
        SectionState::Partial { reason } => Some(("partial", reason, "")),
        SectionState::NotSupported { reason, remedy } => {
            Some(("not supported here", reason, remedy))
        }
        SectionState::Failed { reason } => Some(("failed", reason, "")),
    }
}

/// `≥ 0.90 met`, `≥ 0.90 not met`, `≥ 0.90 undecided`; empty without a target.
pub(crate) fn target(comparison: &Comparison) -> String {
    match (comparison.target, comparison.standing()) {
        (Some(target), Some(standing)) => {
            format!("≥ {} {}", number(target.at_least), standing.words())
        }
        _ => String::new(),
    }
}

/// `0.96 [0.92, 1.01]`.
pub(crate) fn interval(ratio: f64, low: f64, high: f64) -> String {
    let [ratio, low, high] = [ratio, low, high].map(self::ratio);
    format!("{ratio} [{low}, {high}]")
}

/// A ratio: `1.00` also where it is whole, since it was measured.
pub(crate) fn ratio(ratio: f64) -> String {
    let whole = ratio.fract() == 0.0 && ratio.abs() < 100.0;
    if whole {
        format!("{ratio:.2}")
    } else {
        number(ratio)
    }
}

pub(crate) fn plural(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", number(count as f64))
}

/// A column's or an axis's name with its unit, which sizes in bytes carry themselves.
pub(crate) fn heading(label: &str, unit: &str) -> String {
    match unit {
        "" | "bytes" => label.to_owned(),
        unit => format!("{label}, {unit}"),
    }
}

/// A value in a column or on an axis of that unit.
pub(crate) fn value(value: f64, unit: &str) -> String {
    match unit {
        "bytes" if value.is_finite() => bytes(value),
        _ => number(value),
    }
}

pub(crate) fn cell(cell: &Cell, column: Option<&Column>) -> String {
    match cell {
        Cell::Number(number) => value(*number, column.map_or("", |column| &column.unit)),
        Cell::Text(text) => text.clone(),
        Cell::Empty => String::new(),
    }
}

/// The name of the place at `x`, in a chart over named places.
pub(crate) fn place_name(chart: &Chart, x: f64) -> Option<&str> {
    let is_whole = x >= 0.0 && x.fract() == 0.0;
    let place = is_whole.then_some(x as usize)?;
    chart.places.get(place).map(String::as_str)
}

/// A chart's marks as a grid: the horizontal value, then one column a series;
/// marks that were not valid stand in brackets.
pub(crate) fn chart_rows(chart: &Chart) -> (Vec<String>, Vec<Vec<String>>) {
    let mut head = vec![heading(&chart.x.label, &chart.x.unit)];
    let names = chart.series.iter().map(|series| &series.name);
    head.extend(names.map(|name| heading(name, &chart.y.unit)));
    let mut places: Vec<f64> = chart.dots().map(|dot| dot.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let rows = places.into_iter().map(|x| {
        let marks = chart.series.iter().map(|series| {
            let dot = series.dots.iter().find(|dot| dot.x == x)?;
            let text = value(dot.y, &chart.y.unit);
            Some(if dot.valid { text } else { format!("({text})") })
        });
        let place = place_name(chart, x).map_or_else(|| value(x, &chart.x.unit), str::to_owned);
        std::iter::once(place)
            .chain(marks.map(Option::unwrap_or_default))
            .collect()
    });
    (head, rows.collect())
}

/// Where a point is: `block 64 B, mode sync`.
pub(crate) fn place(point: &Point) -> String {
    let coordinates = point
        .dimensions
        .iter()
        .map(|(name, value)| coordinate(name, value));
    coordinates.collect::<Vec<_>>().join(", ")
}

/// One coordinate: `block 64 B`, `mode sync`.
pub(crate) fn coordinate(name: &str, value: &Dimension) -> String {
    format!("{} {}", dimension(name), coordinate_value(name, value))
}

pub(crate) fn dimension(name: &str) -> &str {
    name.strip_suffix("_bytes").unwrap_or(name)
}

pub(crate) fn coordinate_value(name: &str, value: &Dimension) -> String {
    match value {
        Dimension::Number(size) if name.ends_with("_bytes") => bytes(*size as f64),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{duration, moment};

    #[test]
    fn moments_are_short_and_never_lost() {
        assert_eq!(moment("2026-11-21T21:15:22Z"), "2026-11-21 21:15 UTC");
        for other in ["2026-11-21T21:15:22+01:00", "TéZ"] {
            assert_eq!(moment(other), other);
        }
    }

    #[test]
    fn durations_read_aloud() {
        let seconds = [9.96, 192.4, 7384.0, f64::NAN];
        let words = ["9.96 s", "3 min 12 s", "2 h 3 min", "– s"];
        assert_eq!(seconds.map(duration), words);
    }
}
