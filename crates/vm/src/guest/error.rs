//! What can go wrong with a guest.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use sys::affinity::PinError;

use super::accelerator::AcceleratorError;
use super::node::NodeError;
use super::qmp::QmpError;
use crate::ShapeError;
use crate::protocol::ChannelError;

/// A guest that did not come up.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// A shape no guest can have.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// KVM was demanded and is not usable.
    #[error(transparent)]
    Accelerator(#[from] AcceleratorError),
    /// A NUMA node that this host does not have.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// A host CPU that the guest's vCPUs cannot have.
    #[error("cannot pin the guest's vCPUs: {0}")]
    Pin(#[from] PinError),
    /// The kernel cannot be read.
    #[error("cannot read the guest's kernel {}; `make setup-guests` brings one", path.display())]
    Kernel {
        /// Where it should be.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// QEMU could not be started.
    #[error("cannot start {}", program.display())]
    Start {
        /// QEMU.
        program: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// QEMU would not have these arguments.
    #[error("{} ended ({status}) before the guest's first instruction: {stderr}", program.display())]
    Refused {
        /// QEMU.
        program: PathBuf,
        /// How it ended.
        status: ExitStatus,
        /// Its words, at most 2 KiB.
        stderr: String,
    },
    /// No word from the guest in time.
    #[error(
        "the guest was not ready within {} s; its console ends:\n{console}\nGive it fewer vCPUs or a quieter host: under emulation all of them share its cores", limit.as_secs()
    )]
    NotReady {
        /// The limit.
        limit: Duration,
        /// The console's end, at most 2 KiB.
        console: String,
    },
    /// It came to an end, or broke the protocol, before it was ready.
    #[error(transparent)]
    Guest(#[from] GuestError),
}

/// What a guest that was up did not do.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// QEMU ended.
    #[error(
        "QEMU ended ({status}) under its guest; it said {stderr:?}; the console ends:\n{console}"
    )]
    Died {
        /// How it ended.
        status: ExitStatus,
        /// QEMU's words, at most 2 KiB.
        stderr: String,
        /// The console's end, at most 2 KiB.
        console: String,
    },
    /// The guest's kernel panicked.
    #[error("the guest's kernel panicked: {line}; the console ends:\n{console}")]
    Panicked {
        /// The kernel's line, from `Kernel panic` on.
        line: String,
        /// The console's end, at most 2 KiB.
        console: String,
    },
    /// The guest's whole time is over.
    #[error(
        "the guest was killed at its time limit of {} s; ask less of it or raise `Shape::time_limit`; the console ends:\n{console}", limit.as_secs_f64()
    )]
    TimeLimit {
        /// The limit.
        limit: Duration,
        /// The console's end, at most 2 KiB.
        console: String,
    },
    /// The conversation with the agent failed, or it refused.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// QEMU's own control channel.
    #[error(transparent)]
    Qmp(#[from] QmpError),
    /// A script whose output should be JSON ended with another status than 0.
    #[error("the script that should print JSON ended with status {status}: {output}")]
    Script {
        /// Its exit status.
        status: i32,
        /// Its output's first 2 KiB.
        output: String,
    },
    /// A script's output is not the JSON that was expected.
    #[error("the script's output is not the JSON expected: {output}")]
    Json {
        /// Its first 2 KiB.
        output: String,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
}
