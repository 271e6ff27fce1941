//! How the program ends.

use std::process::ExitCode;

/// The exit codes, as documented in `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Ok = 0,
    Regression = 1,
    /// The command line, a scenario or a file given is wrong.
    Usage = 2,
    Failed = 3,
    Missing = 4,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error with the code it ends with.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub error: anyhow::Error,
}

impl Failure {
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            error: anyhow::Error::msg(message.into()),
        }
    }
}

pub trait OrExit<T> {
    fn or_usage(self) -> Result<T, Failure>;

    fn or_failed(self) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrExit<T> for Result<T, E> {
    fn or_usage(self) -> Result<T, Failure> {
        self.map_err(|error| Failure {
            exit: Exit::Usage,
            error: error.into(),
        })
    }

    fn or_failed(self) -> Result<T, Failure> {
        self.map_err(|error| Failure {
            exit: Exit::Failed,
            error: error.into(),
        })
    }
}
