//! What can go wrong with wires, homes and limits.

use net::TagError;
use net::device::DeviceError;
use net::journal::JournalError;
use net::namespace::NamespaceError;
use net::napi::NapiError;
use net::netlink::NetlinkError;
use net::sysctl::SysctlError;
use net::sysfs::SysfsError;
use net::tap::TapError;

/// Why the network of a bench could not be made. The messages are [`net`]'s.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// Nothing is made that cannot be written down.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A name.
    #[error(transparent)]
    Tag(#[from] TagError),
    /// A namespace.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A link, an address, a route or a neighbour.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// No VLANs.
    #[error(
        "this kernel has no VLAN links (CONFIG_VLAN_8021Q): load the module 8021q, or take a bridge"
    )]
    NoVlan(#[source] NetlinkError),
    /// No stack.
    #[error(
        "the tester's ports are taps, which have no network stack at its end; take veth pairs, or devices"
    )]
    TapHasNoStack,
    /// A tap.
    #[error(transparent)]
    Tap(#[from] TapError),
    /// A device of the host.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Fewer queues than the topology wants.
    #[error(
        "the device {name} has {queues} queues, and the topology wants {wanted}; ask for fewer"
    )]
    Queues {
        /// Its name.
        name: String,
        /// What it has.
        queues: u32,
        /// What was asked.
        wanted: u32,
    },
    /// A setting.
    #[error(transparent)]
    Sysctl(#[from] SysctlError),
    /// A setting of a link.
    #[error(transparent)]
    Sysfs(#[from] SysfsError),
    /// The kernel's threads.
    #[error(transparent)]
    Napi(#[from] NapiError),
}
