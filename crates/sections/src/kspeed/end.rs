//! How the rounds ended, and what to tell of it.

use trial::{Finding, RunError, Weight};

use crate::kspeed::shell::Lost;
use crate::kspeed::watched::Unfinished;
use kit::words::finding;

/// How the rounds ended.
#[derive(Debug)]
pub(super) enum End {
    Complete,
    /// It took too long; so many rounds are whole.
    Late(usize),
    Interrupted,
    Failed(Lost),
}

impl End {
    /// What to tell of it.
    pub(super) fn finding(&self) -> Option<Finding> {
        let text = match self {
            Self::Complete => return None,
            Self::Late(rounds) => format!(
                "The host was so slow that only {} measured in the time planned.",
                match rounds {
                    1 => "one round was".to_owned(),
                    rounds => format!("{rounds} rounds were"),
                }
            ),
            Self::Interrupted => {
                "Interrupted: what is here stands on the rounds that were measured.".to_owned()
            }
            Self::Failed(lost) => {
                format!("The guest ended early ({lost}). What was measured before stands.")
            }
        };
        let remedy = "Measure on a quiet host, or with a larger --budget.";
        Some(finding(Weight::Warning, text, remedy))
    }

    /// As a section's end.
    pub(super) fn result(self) -> Result<(), RunError> {
        match self {
            Self::Complete | Self::Late(_) => Ok(()),
            Self::Interrupted => Err(RunError::Interrupted),
            Self::Failed(lost) => Err(RunError::Failed {
                context: "the guest ended".to_owned(),
                source: Some(Box::new(lost)),
            }),
        }
    }
}

impl From<Unfinished> for End {
    fn from(unfinished: Unfinished) -> Self {
        match unfinished {
            Unfinished::Interrupted => Self::Interrupted,
            Unfinished::Lost(lost) => Self::Failed(lost),
        }
    }
}
