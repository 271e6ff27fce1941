//! What forwards: one file a path.

#[cfg(feature = "bpf")]
pub mod af_xdp;
pub mod bridge;
pub mod kernel;
pub mod path;
pub mod planted;
pub mod ports;
pub mod testpmd;
#[cfg(feature = "bpf")]
pub mod xdp;

use std::error::Error;

use sys::failure::Failure;

use crate::topology::NetworkError;

/// What a router itself counted, for the cross-check with the tester.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub received: u64,
    pub forwarded: u64,
    /// Frames that it dropped for a known reason, e.g. a full queue.
    pub dropped: u64,
    /// Frames left to kernel routing because what the router knows of the kernel's
    /// tables might be out of date.
    pub unsure: u64,
    /// What the path's own program counts of itself; `None` where the kernel
    /// forwards.
    pub own: Option<Own>,
}

impl Counters {
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            received: self.received.saturating_sub(before.received),
            forwarded: self.forwarded.saturating_sub(before.forwarded),
            dropped: self.dropped.saturating_sub(before.dropped),
            unsure: self.unsure.saturating_sub(before.unsure),
            own: self
                .own
                .map(|own| own.since(before.own.unwrap_or_default())),
        }
    }
}

/// A router's CPU time, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// Of the kernel's threads that receive and forward for it.
    pub kernel_ns: u64,
    pub own_ns: u64,
}

impl Cpu {
    pub const fn of_kernel(kernel_ns: u64) -> Self {
        let own_ns = 0;
        Self { kernel_ns, own_ns }
    }

    pub const fn total_ns(self) -> u64 {
        self.kernel_ns + self.own_ns
    }

    /// What was added since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            kernel_ns: self.kernel_ns.saturating_sub(before.kernel_ns),
            own_ns: self.own_ns.saturating_sub(before.own_ns),
        }
    }
}

/// What a path's own program counted of itself since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    pub forwarded: u64,
    /// Time of its rounds that found frames, ns; the rest of its own CPU time went
    /// to idle polls. 0 where it never polls.
    pub busy_ns: u64,
}

impl Own {
    fn since(self, before: Self) -> Self {
        Self {
            forwarded: self.forwarded.saturating_sub(before.forwarded),
            busy_ns: self.busy_ns.saturating_sub(before.busy_ns),
        }
    }
}

/// What a path in the kernel's place does about frames that something else on this host
/// decides about: netfilter, traffic control, BPF programs of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Firewall {
    /// Those frames are the kernel's, which asks it.
    #[default]
    Obey,
    /// They are forwarded unasked; IPsec policies are obeyed all the same.
    Bypass,
}

impl Firewall {
    /// As a router file calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Obey => "obey",
            Self::Bypass => "bypass",
        }
    }
}

/// Nice value of threads that forward in user space, peers' included: a
/// comparison is one of equals.
const NICE: i32 = -10;

/// Gives a thread that forwards its nice value. The driver's thread has work as
/// long as frames come, also for frames that find no room in a socket: with
/// equal shares of a core it crowds the forwarder out (receive livelock).
/// Without `CAP_SYS_NICE` the thread stays as it is.
fn rise_above_drivers(thread: i32) {
    let thread = rustix::process::Pid::from_raw(thread);
    let _ = rustix::process::setpriority_process(thread, NICE);
}

/// Why a router could not start, or could not be asked.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct RouterError(#[from] Failure);

impl RouterError {
    pub fn new(context: impl Into<String>) -> Self {
        Self(Failure::new(context))
    }

    /// For `map_err`: what was being done, with the cause.
    pub fn of<E: Error + Send + Sync + 'static>(
        context: impl Into<String>,
    ) -> impl FnOnce(E) -> Self {
        let failure = Failure::of(context);
        move |cause| Self(failure(cause))
    }

    /// What the host lacks, if that is the cause: then no router has failed, but this
    /// kind is not available here.
    pub fn lacks(&self) -> Option<String> {
        let cause = self.0.cause()?;
        if let Some(lack) = cause.downcast_ref::<Lack>() {
            return Some(lack.to_string());
        }
        let cause = cause.downcast_ref::<NetworkError>()?;
        matches!(cause, NetworkError::NoVlan(_)).then(|| cause.to_string())
    }
}

/// Something that a host lacks, as a router's cause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {remedy}")]
pub struct Lack {
    pub what: String,
    pub remedy: String,
}

/// A task that forwards in user space, by the kernel's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    Thread(i32),
    Process(i32),
}

pub trait Router: Send {
    /// For people and for dimensions: `kernel`, `bridge`, `xdp-devmap`, ….
    fn path(&self) -> &'static str;

    /// What it counted since it started.
    fn counters(&mut self) -> Result<Counters, RouterError>;

    /// CPU time that it used since it started.
    ///
    /// # Errors
    /// [`RouterError`].
    fn cpu(&mut self) -> Result<Cpu, RouterError>;

    /// The tasks that forward for it in user space, so that they can be limited;
    /// empty where the kernel's threads do it all.
    fn tasks(&self) -> Vec<Task> {
        Vec::new()
    }
}
