//! How results are shown: data, from which charts and tables are made.

use trial::{Axis, Scale};

use crate::subject::Measure;

/// A chart or a table.
pub enum View<P, A> {
    Lines(Lines<P, A>),
    Rows(Rows<P, A>),
    Table(Sheet<P, A>),
}

impl<P, A> From<Lines<P, A>> for View<P, A> {
    fn from(lines: Lines<P, A>) -> Self {
        Self::Lines(lines)
    }
}

impl<P, A> From<Rows<P, A>> for View<P, A> {
    fn from(rows: Rows<P, A>) -> Self {
        Self::Rows(rows)
    }
}

impl<P, A> From<Sheet<P, A>> for View<P, A> {
    fn from(sheet: Sheet<P, A>) -> Self {
        Self::Table(sheet)
    }
}

/// Whether something is shown.
pub type Only<P, A> = fn(&P, &A) -> bool;

/// A measure over a dimension of numbers; a line for each way.
pub struct Lines<P, A> {
    /// What the words of the split follow.
    pub title: String,
    pub note: String,
    /// The dimension to the right.
    pub over: &'static str,
    pub x: Axis,
    pub y: Axis,
    /// What is drawn, how the lines of each are called (empty: by the subject
    /// alone), and how many of the axis's units one of its own is.
    pub measures: Vec<(Measure, &'static str, f64)>,
    /// A chart for each combination of these dimensions' values.
    pub split: Vec<&'static str>,
    pub only: Only<P, A>,
}

impl<P, A> Lines<P, A> {
    /// Over that dimension, of all subjects; `y` is what [`Lines::of`] adds.
    pub fn new(
        title: impl Into<String>,
        note: impl Into<String>,
        (over, x): (&'static str, Axis),
        y: Axis,
    ) -> Self {
        Self {
            title: title.into(),
            note: note.into(),
            over,
            x,
            y,
            measures: Vec::new(),
            split: Vec::new(),
            only: all,
        }
    }

    #[must_use]
    pub fn of(self, measure: Measure) -> Self {
        self.called(measure, "")
    }

    /// With lines of a measure that are called so.
    #[must_use]
    pub fn called(mut self, measure: Measure, name: &'static str) -> Self {
        self.measures.push((measure, name, 1.0));
        self
    }

    #[must_use]
    pub fn split(self, by: &[&'static str]) -> Self {
        let split = by.to_vec();
        Self { split, ..self }
    }

    #[must_use]
    pub fn only(self, only: Only<P, A>) -> Self {
        Self { only, ..self }
    }
}

/// A measure of every subject, one under the other.
pub struct Rows<P, A> {
    pub title: String,
    pub note: String,
    pub label: &'static str,
    pub scale: Scale,
    pub what: Shown<A>,
    /// Marks of one row are told apart by these dimensions.
    pub series: Vec<&'static str>,
    pub only: Only<P, A>,
}

impl<P, A> Rows<P, A> {
    /// Of all subjects, on a linear scale.
    pub fn new(
        title: impl Into<String>,
        note: impl Into<String>,
        label: &'static str,
        what: Shown<A>,
    ) -> Self {
        Self {
            title: title.into(),
            note: note.into(),
            label,
            scale: Scale::Linear,
            what,
            series: Vec::new(),
            only: all,
        }
    }

    #[must_use]
    pub fn scale(self, scale: Scale) -> Self {
        Self { scale, ..self }
    }

    #[must_use]
    pub fn series(self, dimension: &'static str) -> Self {
        let series = vec![dimension];
        Self { series, ..self }
    }

    #[must_use]
    pub fn only(self, only: Only<P, A>) -> Self {
        Self { only, ..self }
    }
}

/// What a row shows.
pub enum Shown<A> {
    Value(Measure),
    /// The ratio to that arm at the same place.
    Ratio(Measure, A),
}

/// A row for every subject.
pub struct Sheet<P, A> {
    pub title: String,
    pub note: String,
    pub columns: Vec<Cells<A>>,
    /// The values of this dimension stand side by side.
    pub across: Option<&'static str>,
    pub only: Only<P, A>,
}

impl<P, A> Sheet<P, A> {
    /// Of all subjects, each in a row of its own.
    pub fn new(
        title: impl Into<String>,
        note: impl Into<String>,
        columns: impl Into<Vec<Cells<A>>>,
    ) -> Self {
        Self {
            title: title.into(),
            note: note.into(),
            columns: columns.into(),
            across: None,
            only: all,
        }
    }

    #[must_use]
    pub fn across(self, dimension: &'static str) -> Self {
        let across = Some(dimension);
        Self { across, ..self }
    }

    #[must_use]
    pub fn only(self, only: Only<P, A>) -> Self {
        Self { only, ..self }
    }
}

/// What a column of a [`Sheet`] holds.
pub enum Cells<A> {
    /// The median, in multiples of the unit that is named.
    Value {
        measure: Measure,
        label: &'static str,
        unit: &'static str,
        scale: f64,
    },
    /// The 99th percentile of latency, µs.
    P99,
    /// A quantile of latency, µs, with its label; empty where it rests on fewer than
    /// ten values, which is chance.
    Latency(f64, &'static str),
    /// The ratio to that arm at the same place, with its interval.
    Ratio(Measure, A, &'static str),
    /// What trials say besides, by that dimension, with its label.
    Also(&'static str, &'static str),
    Verdict,
}

impl<A> Cells<A> {
    /// A number whose label says what it is of.
    #[must_use]
    pub fn bare(measure: Measure, label: &'static str) -> Self {
        Self::Value {
            measure,
            label,
            unit: "",
            scale: 1.0,
        }
    }

    /// A measure as it is.
    #[must_use]
    pub fn of(measure: Measure, label: &'static str) -> Self {
        Self::Value {
            measure,
            label,
            unit: measure.unit,
            scale: 1.0,
        }
    }
}

/// An axis.
#[must_use]
pub fn axis(label: &str, unit: &str, scale: Scale) -> Axis {
    Axis {
        label: label.to_owned(),
        unit: unit.to_owned(),
        scale,
    }
}

/// All subjects.
pub fn all<P, A>(_: &P, _: &A) -> bool {
    true
}
