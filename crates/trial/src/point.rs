//! One place in the space of a scenario, and what was measured there.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Metric, Verdict};

/// A coordinate: text (`mode = "async"`) or a number (`block_bytes = 4096`).
#[derive(Clone, Debug, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Dimension {
    /// A count or size.
    Number(i64),
    /// A choice.
    Text(String),
}

impl std::fmt::Display for Dimension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl From<&str> for Dimension {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for Dimension {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// One measured point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Where: dimension name to coordinate, e.g. `algorithm`, `block_bytes`,
    /// `mode`, `depth`, `placement`, `policy`.
    pub dimensions: BTreeMap<String, Dimension>,
    /// What was measured.
    pub metrics: Vec<Metric>,
    /// Whether to believe it.
    pub verdict: Verdict,
    /// The command that measures this point again.
    pub command: String,
    /// Latency histogram in HdrHistogram V2 interval-log form (base64), values
    /// in nanoseconds; empty when the point has no latency.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub histogram: String,
}

impl Point {
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }
}
