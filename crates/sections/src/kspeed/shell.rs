//! The guest as the section sees it: something that runs scripts.

use std::time::Duration;

use crate::kspeed::cell::Failure;

/// What a script did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Output {
    /// Its exit status; 0 is success.
    pub(super) status: i32,
    /// What it printed, both streams.
    pub(super) text: String,
}

/// A guest that is gone: nothing more can be measured.
#[derive(Debug, thiserror::Error)]
#[error("the guest no longer answers: {during}")]
pub(super) struct Lost {
    /// What it was doing.
    pub(super) during: String,
    /// What the machine says.
    #[source]
    pub(super) source: Box<dyn std::error::Error + Send + Sync>,
}

/// Ends a guest from another thread than the one that waits for it.
pub(super) type Stop = Box<dyn Fn() + Send>;

/// Runs scripts, one at a time.
pub(super) trait Shell: Send {
    /// Runs one and waits for its end.
    ///
    /// # Errors
    /// [`Lost`] where there is no guest left that could.
    fn run(&mut self, script: &str, limit: Duration) -> Result<Output, Lost>;

    /// What ends the guest, and with it a script that runs.
    fn stop(&self) -> Stop;

    /// CPU time that the guest has used so far on the host, seconds.
    fn cpu_s(&self) -> f64;
}

impl Output {
    /// Its end as the reason why something cannot be measured.
    pub(super) fn failure(&self, what: &str, remedy: &str) -> Failure {
        let said = self.text.lines().rev().find(|line| !line.trim().is_empty());
        let said: String = said
            .unwrap_or("it printed nothing")
            .chars()
            .take(200)
            .collect();
        Failure {
            reason: format!("{what} ended with {}: {}", self.status, said.trim()),
            remedy: remedy.to_owned(),
        }
    }
}
