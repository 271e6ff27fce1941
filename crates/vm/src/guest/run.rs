//! What is to be run in a guest, and what came of it.

use std::borrow::Cow;
use std::time::Duration;

/// A script and its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// For busybox's shell, unless its first line (`#!`) names another
    /// interpreter.
    pub script: String,
    /// It is killed after this time.
    pub limit: Duration,
    /// It is killed once it has printed more, bytes.
    pub output_bytes_max: u64,
}

impl Run {
    /// `script` within 30 s and 1 MiB of output.
    #[must_use]
    pub fn new(script: impl Into<String>) -> Self {
        Self {
            script: script.into(),
            limit: Duration::from_secs(30),
            output_bytes_max: 1 << 20,
        }
    }

    /// The same with another time limit.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }
}

/// A script that ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its exit status; 128 + n if signal n ended it.
    pub status: i32,
    /// Standard output and error, as they came.
    pub output: Vec<u8>,
}

impl Outcome {
    /// Whether the status is 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status == 0
    }

    /// The output, with what is not UTF-8 replaced.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.output)
    }
}
