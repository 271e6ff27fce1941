//! What can go wrong with wires, homes and limits.

use net::TagError;
use net::device::DeviceError;
use net::journal::JournalError;
use net::netlink::NetlinkError;
use net::sysctl::SysctlError;
use net::sysfs::SysfsError;
use sys::failure::Failure;

#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Tag(#[from] TagError),
    #[error(transparent)]
    Failed(#[from] Failure),
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    #[error(
        "this kernel has no VLAN links (CONFIG_VLAN_8021Q): load the module 8021q, or take a bridge"
    )]
    NoVlan(#[source] NetlinkError),
    #[error(
        "the tester's ports are taps, which have no network stack at its end; take veth pairs, or devices"
    )]
    TapHasNoStack,
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(
        "the device {name} has {queues} queues, and the topology wants {wanted}; ask for fewer"
    )]
    Queues {
        name: String,
        queues: u32,
        wanted: u32,
    },
    #[error(transparent)]
    Sysctl(#[from] SysctlError),
    #[error(transparent)]
    Sysfs(#[from] SysfsError),
}

impl From<NetworkError> for Failure {
    fn from(error: NetworkError) -> Self {
        Self::as_is(error)
    }
}
