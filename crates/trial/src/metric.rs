//! A measured quantity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Larger is better: rates.
    Higher,
    /// Smaller is better: times, costs.
    Lower,
    /// Neither: a fact about the trial.
    Neutral,
}

/// One quantity of one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Name in `snake_case` with its unit last, e.g. `speed_mb_per_s`.
    pub name: String,
    /// Unit for people: `MB/s` (10^6 bytes), `requests/s`, `µs`, `%`.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
    /// The value reported: the median where there are samples.
    pub value: f64,
    /// One value a repetition, in the order measured; empty for a single fact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
}

impl Metric {
    /// One value, of no repetition.
    pub fn new(name: &str, unit: &str, direction: Direction, value: f64) -> Self {
        Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
            direction,
            value,
            samples: Vec::new(),
        }
    }
}
