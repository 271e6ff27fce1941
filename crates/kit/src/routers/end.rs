//! How the measuring ended, and what to tell of it.

use forward::bench::BenchError;
use trial::{Finding, RunError, Weight};

use crate::words::finding;

/// How it ended.
#[derive(Debug)]
pub enum End {
    Complete,
    /// It took too long; so many rounds are whole.
    Late(usize),
    Interrupted,
    Failed {
        /// What was measured.
        label: String,
        error: Box<BenchError>,
    },
}

impl End {
    /// By something that went wrong with what was measured.
    pub fn failed(label: String, error: BenchError) -> Self {
        let error = Box::new(error);
        Self::Failed { label, error }
    }

    /// The same, unless something went wrong before: the first is told.
    pub fn or_failed(self, label: String, error: BenchError) -> Self {
        match self {
            Self::Failed { .. } => self,
            _ => Self::failed(label, error),
        }
    }

    /// What to tell of it.
    pub fn finding(&self) -> Option<Finding> {
        let text = match self {
            Self::Complete => return None,
            Self::Late(1) => {
                "The host was so slow that only one round was measured in the time planned."
                    .to_owned()
            }
            Self::Late(rounds) => format!(
                "The host was so slow that only {rounds} rounds were measured in the time planned."
            ),
            Self::Interrupted => {
                "Interrupted: what is here stands on the rounds that were measured.".to_owned()
            }
            Self::Failed { label, error } => {
                format!("A trial failed ({label}: {error}). What else was measured stands.")
            }
        };
        let remedy = "Measure on a quiet host, or with a larger --budget.";
        Some(finding(Weight::Warning, text, remedy))
    }

    /// As a section's end.
    pub fn result(self) -> Result<(), RunError> {
        match self {
            Self::Complete | Self::Late(_) => Ok(()),
            Self::Interrupted => Err(RunError::Interrupted),
            Self::Failed { label, error } => Err(RunError::Failed {
                context: format!("a trial failed: {label}"),
                source: Some(error),
            }),
        }
    }
}
