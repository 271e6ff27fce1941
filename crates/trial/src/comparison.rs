//! Two arms measured interleaved in one run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Dimension;
use crate::stats::PAIRS_MIN;

/// What the interval of a ratio allows one to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[must_use = "it says what the ratio shows"]
pub enum Outcome {
    /// The whole interval is on the good side of 1.
    Faster,
    /// The whole interval is on the bad side of 1.
    Slower,
    /// The interval contains 1, or there are too few pairs.
    NoEvidence,
}

/// A threshold on a ratio's interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The lower bound of the ratio must be at least this.
    pub at_least: f64,
    /// Whether it is.
    pub met: bool,
}

/// The ratio of an arm to a reference arm: median of paired ratios, with its
/// confidence interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// What is compared, in words: `AES-128-GCM, 16 KiB`.
    pub subject: String,
    /// The arm above the line, in words.
    pub arm: String,
    /// The arm below the line, in words.
    pub reference: String,
    /// The metric compared, by name.
    pub metric: String,
    /// Median of the paired ratios, arm / reference (1 is equal).
    pub ratio: f64,
    /// Lower bound of the interval.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
    /// How often such an interval holds the true ratio: at least 0.95 where
    /// pairs are enough, 0.9375 of five.
    pub confidence: f64,
    /// The raw pairs (arm, reference), in the order measured.
    pub pairs: Vec<(f64, f64)>,
    /// What may be said.
    pub outcome: Outcome,
    /// Whether both sides are valid: a ratio of which one is not is no
    /// evidence, and meets no target.
    #[serde(default = "believed", skip_serializing_if = "is_believed")]
    pub believed: bool,
    /// The point of the arm above the line, by its dimensions; empty where the
    /// section tells it in words alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arm_point: BTreeMap<String, Dimension>,
    /// The point of the arm below the line.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reference_point: BTreeMap<String, Dimension>,
    /// What to change to get the arm in place of the reference, as an order:
    /// `Keep 16 requests in flight`; empty where it is no change to make.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub change: String,
    /// The threshold, if a claim rests on this ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// The command that measures this ratio again.
    pub command: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Met,
    NotMet,
    /// The interval has the target inside, the pairs are too few, or a side is
    /// not valid.
    Undecided,
}

impl Standing {
    pub fn words(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not met",
            Self::Undecided => "undecided",
        }
    }
}

impl Comparison {
    /// How it stands against its target; none without one.
    pub fn standing(&self) -> Option<Standing> {
        let target = self.target?;
        let is_enough = self.believed && self.pairs.len() >= PAIRS_MIN;
        Some(match (target.met, self.high < target.at_least) {
            (true, _) => Standing::Met,
            (false, true) if is_enough => Standing::NotMet,
            (false, _) => Standing::Undecided,
        })
    }

    /// As a scenario lists it: `aes-128-gcm, 64 B: async ÷ sync`.
    pub fn name(&self) -> String {
        let arms = format!("{} ÷ {}", self.arm, self.reference);
        match self.subject.as_str() {
            "" => arms,
            subject => format!("{subject}: {arms}"),
        }
    }
}

fn believed() -> bool {
    true
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands a reference over"
)]
fn is_believed(believed: &bool) -> bool {
    *believed
}
