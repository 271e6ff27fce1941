//! What can go wrong with a device that is not ours.

use std::net::IpAddr;

use net::device::DeviceError;
use net::journal::JournalError;

use crate::tester::port::PortError;
use crate::tester::trial::TrialError;
use crate::topology::NetworkError;

#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    #[error("{0}")]
    Setup(String),
    #[error("{what} is not possible here: {remedy}")]
    NotSupported { what: String, remedy: String },
    #[error("no port was touched")]
    Journal(#[from] JournalError),
    #[error("a port cannot be taken")]
    Network(#[source] NetworkError),
    #[error("{port} has no carrier after {seconds} s: connect its cable, and set the other end up")]
    NoCarrier { port: String, seconds: u64 },
    #[error(
        "{address} does not answer on {port}: give the device this address there, another one by --device, or test it as a bridge (--layer 2)"
    )]
    NoNeighbour { address: IpAddr, port: String },
    #[error("{0}")]
    NothingPasses(String),
    #[error("a port of the tester failed")]
    Port(#[from] PortError),
    #[error("the trial failed")]
    Trial(#[source] TrialError),
    #[error("interrupted")]
    Interrupted,
}

impl From<NetworkError> for ExternalError {
    fn from(error: NetworkError) -> Self {
        match &error {
            NetworkError::Device(DeviceError::Absent { .. } | DeviceError::InUse { .. }) => {
                Self::Setup(error.to_string())
            }
            _ => Self::Network(error),
        }
    }
}

impl From<TrialError> for ExternalError {
    fn from(error: TrialError) -> Self {
        match error {
            TrialError::Interrupted => Self::Interrupted,
            error => Self::Trial(error),
        }
    }
}
