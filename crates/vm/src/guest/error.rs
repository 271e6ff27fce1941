//! What can go wrong with a guest.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use sys::affinity::PinError;

use super::accelerator::AcceleratorError;
use super::node::NodeError;
use super::qmp::QmpError;
use crate::protocol::ChannelError;
use crate::{ShapeError, VfioError};

#[derive(Debug, thiserror::Error)]
pub enum BootError {
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error(transparent)]
    Accelerator(#[from] AcceleratorError),
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Vfio(#[from] VfioError),
    #[error("cannot pin the guest's vCPUs: {0}")]
    Pin(#[from] PinError),
    #[error("cannot read the guest's kernel {}; `make setup-guests` brings one", path.display())]
    Kernel {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot start {}", program.display())]
    Start {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} ended ({status}) before the guest's first instruction: {stderr}", program.display())]
    Refused {
        program: PathBuf,
        status: ExitStatus,
        stderr: String,
    },
    #[error(
        "the guest was not ready within {} s; its console ends:\n{console}\nGive it fewer vCPUs or a quieter host: under emulation all of them share its cores", limit.as_secs()
    )]
    NotReady { limit: Duration, console: String },
    #[error(transparent)]
    Guest(#[from] GuestError),
}

#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    #[error(
        "QEMU ended ({status}) under its guest; it said {stderr:?}; the console ends:\n{console}"
    )]
    Died {
        status: ExitStatus,
        stderr: String,
        console: String,
    },
    #[error("the guest's kernel panicked: {line}; the console ends:\n{console}")]
    Panicked { line: String, console: String },
    #[error(
        "the guest was killed at its time limit of {} s; ask less of it or raise `Shape::time_limit`; the console ends:\n{console}", limit.as_secs_f64()
    )]
    TimeLimit { limit: Duration, console: String },
    #[error(transparent)]
    Channel(#[from] ChannelError),
    #[error(transparent)]
    Qmp(#[from] QmpError),
    #[error("the script that should print JSON ended with status {status}: {output}")]
    Script { status: i32, output: String },
    #[error("the script's output is not the JSON expected: {output}")]
    Json {
        output: String,
        #[source]
        source: serde_json::Error,
    },
}
