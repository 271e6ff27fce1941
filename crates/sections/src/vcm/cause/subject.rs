//! Whose fall of speed is examined: a load on this host, or a planted device.

use std::time::Duration;

use policy::Moderation;

use crate::vcm::cause::setting::{Reading, Setting};
use kit::place::Placement;

/// Something that runs loads of several block sizes. What makes it slow is
/// nobody's business but its own.
pub(super) trait Subject {
    /// What it is, in words: `aes-128-gcm on one shared core`.
    fn name(&self) -> String;

    /// Block sizes at which the load may run, rising.
    fn sizes_bytes(&self) -> &[usize];

    /// Requests that the load keeps in flight at that size.
    fn depth(&self, block_bytes: usize) -> usize;

    /// Where the load runs.
    fn placement(&self) -> Placement;

    /// Whether the other placement can be tried.
    fn can_move(&self) -> bool;

    /// The policy of the load.
    fn moderation(&self) -> Moderation;

    /// Runs the load for about `length`.
    ///
    /// # Errors
    /// [`SubjectError`].
    fn run(&mut self, setting: &Setting, length: Duration) -> Result<Reading, SubjectError>;

    /// The speed of the client alone, which makes requests of that size and
    /// takes completions, but waits for no device, 10^6 bytes a second. Takes
    /// about `length`.
    ///
    /// # Errors
    /// [`SubjectError`].
    fn generate(&mut self, setting: &Setting, length: Duration) -> Result<f64, SubjectError>;

    /// The load as it is, at that size.
    fn plain(&self, block_bytes: usize) -> Setting {
        Setting {
            block_bytes,
            depth: self.depth(block_bytes),
            is_polled: false,
            placement: self.placement(),
        }
    }
}

/// Why a trial gave nothing.
#[derive(Debug, thiserror::Error)]
#[error("a trial of {block_bytes}-byte requests, {depth} in flight, failed")]
pub(super) struct SubjectError {
    /// Of the setting.
    pub(super) block_bytes: usize,
    /// Of the setting.
    pub(super) depth: usize,
    /// The cause.
    #[source]
    pub(super) source: Box<dyn std::error::Error + Send + Sync>,
}

impl SubjectError {
    /// Of that setting.
    pub(super) fn of(
        setting: &Setting,
    ) -> impl Fn(Box<dyn std::error::Error + Send + Sync>) -> Self + use<> {
        let Setting {
            block_bytes, depth, ..
        } = *setting;
        move |source| Self {
            block_bytes,
            depth,
            source,
        }
    }
}
