//! How the program ends.

use std::process::ExitCode;

/// The exit codes, as documented in `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All went well.
    Ok = 0,
    /// A threshold was missed, or something got slower.
    Regression = 1,
    /// The command line, a scenario or a file given is wrong.
    Usage = 2,
    /// Something failed while running.
    Failed = 3,
    /// The host lacks what was asked for.
    Missing = 4,
    /// Interrupted; partial results are saved.
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
    /// The code.
    pub exit: Exit,
    /// What to say.
    pub error: anyhow::Error,
}

impl Failure {
    /// A failure with that code and message.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            error: anyhow::Error::msg(message.into()),
        }
    }
}

/// Gives an error its exit code.
pub trait OrExit<T> {
    /// The caller gave something wrong: 2.
    fn or_usage(self) -> Result<T, Failure>;

    /// Something failed while running: 3.
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
