//! What is to be run in a guest, and what came of it.

use std::borrow::Cow;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// For busybox's shell, unless its first line (`#!`) names another
    /// interpreter.
    pub script: String,
    pub limit: Duration,
    pub output_bytes_max: u64,
}

impl Run {
    /// `script` within 30 s and 1 MiB of output.
    pub fn new(script: impl Into<String>) -> Self {
        Self {
            script: script.into(),
            limit: Duration::from_secs(30),
            output_bytes_max: 1 << 20,
        }
    }

    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it says how the script ended"]
pub struct Outcome {
    /// Its exit status; 128 + n if signal n ended it.
    pub status: i32,
    pub output: Vec<u8>,
}

impl Outcome {
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.output)
    }
}
