//! What can go wrong with a bench.

use net::cgroup::CgroupError;
use net::device::DeviceError;
use net::journal::JournalError;

use super::tcp::TcpError;
use crate::home::HomeError;
use crate::router::RouterError;
use crate::tester::port::PortError;
use crate::tester::trial::TrialError;
use crate::topology::{NetworkError, SpecError};

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error("{what} is not possible here: {remedy}")]
    NotSupported { what: String, remedy: String },
    #[error("this topology is not valid")]
    Spec(#[from] SpecError),
    #[error("{0}")]
    Offer(String),
    #[error("the trial was interrupted")]
    Interrupted,
    #[error("nothing was made")]
    Journal(#[from] JournalError),
    #[error("the network of the bench could not be made")]
    Network(#[source] NetworkError),
    #[error("the router's home could not be made")]
    Home(#[source] HomeError),
    #[error("the router cannot be limited")]
    Limit(#[source] CgroupError),
    #[error("the router failed")]
    Router(#[source] RouterError),
    #[error("a port of the tester failed")]
    Port(#[from] PortError),
    #[error("the trial failed")]
    Trial(#[source] TrialError),
    #[error("TCP through the router failed")]
    Tcp(#[source] TcpError),
    #[error(
        "no frame passed the {path} router within {} s: it received {received} and sent on {forwarded}; look at its table and its neighbours", waited.as_secs()
    )]
    NothingPasses {
        path: &'static str,
        waited: std::time::Duration,
        received: u64,
        forwarded: u64,
    },
}

fn not_supported(what: &str, remedy: impl std::fmt::Display) -> BenchError {
    BenchError::NotSupported {
        what: what.to_owned(),
        remedy: remedy.to_string(),
    }
}

impl From<NetworkError> for BenchError {
    fn from(error: NetworkError) -> Self {
        match &error {
            NetworkError::NoVlan(_) => not_supported("a router on a VLAN", error),
            NetworkError::TapHasNoStack => not_supported("TCP through a router", error),
            NetworkError::Device(DeviceError::Absent { .. }) => {
                not_supported("a router on this device", error)
            }
            _ => Self::Network(error),
        }
    }
}

impl From<HomeError> for BenchError {
    fn from(error: HomeError) -> Self {
        match &error {
            HomeError::NotSupported { .. } | HomeError::Untrusted(_) => {
                not_supported("a container", error)
            }
            _ => Self::Home(error),
        }
    }
}

impl From<CgroupError> for BenchError {
    fn from(error: CgroupError) -> Self {
        match &error {
            CgroupError::Missing { .. }
            | CgroupError::SingleThread { .. }
            | CgroupError::KernelThreads
            | CgroupError::RealTimeShare { .. } => not_supported("a limit of CPU time", error),
            // EINVAL: a thread that is bound to its CPU, as those of a CPU map.
            CgroupError::System { source, .. }
                if source.kind() == std::io::ErrorKind::InvalidInput =>
            {
                let remedy = "the kernel keeps one of this router's threads outside control groups; limit a router on another path";
                not_supported("a limit of CPU time", remedy)
            }
            _ => Self::Limit(error),
        }
    }
}

impl From<RouterError> for BenchError {
    fn from(error: RouterError) -> Self {
        match error.lacks() {
            Some(lacking) => not_supported("this router", lacking),
            None => Self::Router(error),
        }
    }
}

impl From<TrialError> for BenchError {
    fn from(error: TrialError) -> Self {
        match error {
            TrialError::Interrupted => Self::Interrupted,
            error => Self::Trial(error),
        }
    }
}

impl From<TcpError> for BenchError {
    fn from(error: TcpError) -> Self {
        match &error {
            TcpError::Absent | TcpError::Untrusted(_) => {
                not_supported("TCP through a router", error)
            }
            TcpError::Interrupted => Self::Interrupted,
            _ => Self::Tcp(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_no_failure() {
        let error = BenchError::from(HomeError::NotSupported {
            program: "runc",
            package: "runc",
        });
        let text = error.to_string();
        assert!(matches!(error, BenchError::NotSupported { .. }));
        assert!(text.contains("apt-get install runc"), "{text}");
        assert!(matches!(
            BenchError::from(TcpError::Absent),
            BenchError::NotSupported { .. }
        ));
    }
}
