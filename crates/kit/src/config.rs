//! A table of a scenario, turned into its configuration.

pub mod checks;
pub mod choices;
pub mod keys;
pub mod value;

/// Why a table is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A key that the table does not have.
    #[error("unknown key '{key}'{}; allowed: {}", near.map_or_else(String::new, |near| format!(" (did you mean '{near}'?)")), if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") })]
    UnknownKey {
        /// What was given.
        key: String,
        /// What may have been meant.
        near: Option<&'static str>,
        /// What the table has.
        allowed: Vec<&'static str>,
    },
    /// A value that is not valid.
    #[error("{key}: {reason}")]
    Value {
        /// The key whose value it is.
        key: String,
        /// The value, what is allowed, and the remedy.
        reason: String,
    },
}

impl ConfigError {
    /// A value that is not valid; `reason` names the value and what is allowed.
    #[must_use]
    pub fn value(key: &str, reason: impl std::fmt::Display) -> Self {
        Self::Value {
            key: key.to_owned(),
            reason: reason.to_string(),
        }
    }

    /// The key at fault.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::UnknownKey { key, .. } | Self::Value { key, .. } => key,
        }
    }
}
