//! Charts as data; `report` draws them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Equal steps.
    Linear,
    /// Powers of two: block sizes.
    Log2,
    /// Powers of ten: rates.
    Log10,
}

/// One axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// What it shows, e.g. `block size`.
    pub label: String,
    /// Its unit, e.g. `bytes` or `MB/s`; empty for a ratio. `bytes` on a
    /// `log2` axis is written 64, 1 KiB, 64 KiB.
    pub unit: String,
    /// How it is divided.
    pub scale: Scale,
}

impl Axis {
    pub fn new(label: impl Into<String>, unit: &str, scale: Scale) -> Self {
        Self {
            label: label.into(),
            unit: unit.to_owned(),
            scale,
        }
    }
}

/// One mark, with an interval where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dot {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// Lower end of the interval of `y`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the interval of `y`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Whether the point's verdict was `valid`; others are drawn hollow.
    pub valid: bool,
}

impl Dot {
    /// A valid one without an interval.
    pub fn at(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            low: None,
            high: None,
            valid: true,
        }
    }
}

/// What a series is to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesKind {
    /// Something measured.
    Measured,
    /// A yardstick (a peer, a raw loop, a limit): drawn dashed.
    Reference,
}

/// One line of a chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Its name, as in the legend.
    pub name: String,
    /// What it is.
    pub kind: SeriesKind,
    /// Its marks, by rising `x`.
    pub dots: Vec<Dot>,
}

impl Series {
    /// Something measured.
    pub fn measured(name: impl Into<String>, dots: Vec<Dot>) -> Self {
        Self {
            name: name.into(),
            kind: SeriesKind::Measured,
            dots,
        }
    }
}

/// One chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// What it shows, as a sentence that can be true or false.
    pub title: String,
    /// Conditions: placement, depth, what to mind. May be empty.
    pub note: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Names of the places on the horizontal axis: its value 0 is the first.
    /// Such a chart is drawn as one row a place, values going to the right.
    /// Empty where the axis is one of numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// The lines.
    pub series: Vec<Series>,
    /// The command that measures this again.
    pub command: String,
}

impl Chart {
    pub fn dots(&self) -> impl Iterator<Item = &Dot> {
        self.series.iter().flat_map(|series| &series.dots)
    }
}
