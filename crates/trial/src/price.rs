//! What a crossing costs: a line of the price list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats::median_interval;

/// The price of one crossing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The crossing: `eventfd wake-up, other core`.
    pub crossing: String,
    /// Median over the rounds, ns.
    pub ns: f64,
    /// Lower bound of the median's interval, ns.
    pub low_ns: f64,
    /// Upper bound, ns.
    pub high_ns: f64,
    /// Rounds that it rests on.
    pub rounds: usize,
}

impl Price {
    /// From one value a valid round; none without a usable value.
    pub fn of_rounds(crossing: impl Into<String>, rounds_ns: &[f64]) -> Option<Self> {
        let interval = median_interval(rounds_ns).ok()?;
        Some(Self {
            crossing: crossing.into(),
            ns: interval.estimate,
            low_ns: interval.low,
            high_ns: interval.high,
            rounds: rounds_ns.len(),
        })
    }
}
