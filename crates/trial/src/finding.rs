//! What the numbers mean, in plain words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a finding matters; reports show them in this order.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    Headline,
    Advice,
    Warning,
    Note,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// How much it matters.
    pub weight: Weight,
    /// One or two plain sentences with the figures in them.
    pub text: String,
    /// What to do; empty when there is nothing to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}
