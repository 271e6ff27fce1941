//! Why netlink does not do what it is asked.

use std::io;

use sys::failure::Failure;

use crate::journal::JournalError;
use crate::sysfs::SysfsError;

#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    #[error("cannot open a netlink socket; check the limit of open files (ulimit -n)")]
    Open(#[source] io::Error),
    #[error("cannot open a netlink socket in a namespace")]
    Namespace(
        #[source]
        #[from]
        Box<Failure>,
    ),
    #[error("cannot {what}: {reason}{}", remedy(source))]
    Refused {
        what: String,
        reason: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot {what}: the netlink socket failed")]
    Socket {
        what: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot {what}: the kernel did not answer within {seconds} s")]
    NoAnswer { what: String, seconds: u64 },
    #[error("cannot {what}: the kernel's answer is not understood ({reason})")]
    Malformed { what: String, reason: String },
    #[error("cannot {what}: the list changes faster than it can be read; try again later")]
    Changed { what: String },
    #[error("there is no link '{name}' in this namespace; 'ip link' shows the existing ones")]
    NoLink { name: String },
    #[error(
        "{what} is not in use after {seconds} s; set the link and its other end up, and look whether the machine is overloaded"
    )]
    NotReady { what: String, seconds: u64 },
    #[error("{argument} {value} is not valid: {allowed}")]
    Argument {
        argument: &'static str,
        value: String,
        allowed: &'static str,
    },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("cannot {what}: this kernel has no {lacking}")]
    Unsupported { what: String, lacking: &'static str },
}

impl NetlinkError {
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Refused { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }

    /// Whether the thing that the request named does not exist.
    pub fn is_absent(&self) -> bool {
        use rustix::io::Errno;
        let absent = [Errno::NODEV, Errno::NOENT, Errno::SRCH].map(Errno::raw_os_error);
        matches!(self, Self::NoLink { .. })
            || self.errno().is_some_and(|errno| absent.contains(&errno))
    }

    /// Whether this kernel lacks what the request needs, e.g. a kind of link.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Self::Unsupported { .. })
            || self.errno() == Some(rustix::io::Errno::OPNOTSUPP.raw_os_error())
    }
}

impl From<Failure> for NetlinkError {
    fn from(error: Failure) -> Self {
        Self::Namespace(Box::new(error))
    }
}

impl From<NetlinkError> for Failure {
    fn from(error: NetlinkError) -> Self {
        Self::as_is(error)
    }
}

impl From<SysfsError> for Failure {
    fn from(error: SysfsError) -> Self {
        Self::as_is(error)
    }
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => "; run as root (CAP_NET_ADMIN)",
        io::ErrorKind::AlreadyExists => "; there is one already: take another name, or remove it",
        _ => "",
    }
}
