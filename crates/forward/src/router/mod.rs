//! What forwards: one file a path.

pub mod path;

/// What a router counted itself, for the cross-check with the tester.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that came in on all ports.
    pub received: u64,
    /// Frames that it sent on.
    pub forwarded: u64,
    /// Frames that it dropped for a reason it knows, e.g. a full queue.
    pub dropped: u64,
}

/// Why a router could not start, or could not be asked.
#[derive(Debug, thiserror::Error)]
#[error("{context}")]
pub struct RouterError {
    /// What was being done, with the values, and the remedy.
    pub context: String,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// A router that forwards. It stops, and leaves nothing, when dropped.
pub trait Router: Send {
    /// For people and for dimensions: `kernel`, `bridge`, `xdp-devmap`, ….
    fn path(&self) -> &'static str;

    /// What it counted since it started.
    ///
    /// # Errors
    /// [`RouterError`].
    fn counters(&mut self) -> Result<Counters, RouterError>;

    /// CPU time that it used since it started, ns: its threads', or its NAPI
    /// threads' where the kernel forwards.
    ///
    /// # Errors
    /// [`RouterError`].
    fn cpu_ns(&mut self) -> Result<u64, RouterError>;
}
