//! What can go wrong with wires, homes and limits.

use net::TagError;
use net::journal::JournalError;
use net::namespace::NamespaceError;
use net::napi::NapiError;
use net::netlink::NetlinkError;
use net::sysctl::SysctlError;
use net::sysfs::SysfsError;

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
