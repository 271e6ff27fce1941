//! Whether a number is valid.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kinds of validity a trial can have.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Validity {
    Valid,
    /// The load generator, not the thing under test, set the rate.
    GeneratorBound,
    Noisy,
    TooFewSamples,
    /// The bytes in flight exceed the L2 cache: the cache is measured too.
    WorkingSet,
    /// The host cannot run this trial; the remedy says what would change that.
    NotSupported,
}

impl Validity {
    /// As it is stored: `too-few-samples`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::GeneratorBound => "generator-bound",
            Self::Noisy => "noisy",
            Self::TooFewSamples => "too-few-samples",
            Self::WorkingSet => "working-set",
            Self::NotSupported => "not-supported",
        }
    }
}

/// A validity with its reason in words and, where there is one, the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The kind.
    pub validity: Validity,
    /// Why, in one sentence with the values that decided it; empty when valid.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the user can do about it; empty when nothing need be done.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

impl Verdict {
    pub fn valid() -> Self {
        Self::new(Validity::Valid, "", "")
    }

    pub fn new(validity: Validity, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            validity,
            reason: reason.into(),
            remedy: remedy.into(),
        }
    }

    /// Whether the number may pass, lose or enter a fit.
    pub fn is_valid(&self) -> bool {
        self.validity == Validity::Valid
    }
}
