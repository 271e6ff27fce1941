//! Why netlink does not do what it is asked.

use std::io;

use crate::journal::JournalError;
use crate::namespace::NamespaceError;

/// Why a request over netlink failed.
#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    /// No socket.
    #[error("cannot open a netlink socket; check the limit of open files (ulimit -n)")]
    Open(#[source] io::Error),
    /// The namespace in which it was to be opened cannot be entered.
    #[error("cannot open a netlink socket in a namespace")]
    Namespace(
        #[source]
        #[from]
        Box<NamespaceError>,
    ),
    /// The kernel refused; `reason` is its own word, where it gives one.
    #[error("cannot {what}: {reason}{}", remedy(source))]
    Refused {
        /// What was asked.
        what: String,
        /// The kernel's extended acknowledgement, or the error's text.
        reason: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The socket failed.
    #[error("cannot {what}: the netlink socket failed")]
    Socket {
        /// What was asked.
        what: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// No answer came.
    #[error("cannot {what}: the kernel did not answer within {seconds} s")]
    NoAnswer {
        /// What was asked.
        what: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The answer makes no sense to us.
    #[error("cannot {what}: the kernel's answer is not understood ({reason})")]
    Malformed {
        /// What was asked.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The list changed each time it was read.
    #[error("cannot {what}: the list changes faster than it can be read; try again later")]
    Changed {
        /// What was asked.
        what: String,
    },
    /// There is no link of that name.
    #[error("there is no link '{name}' in this namespace; 'ip link' shows those there are")]
    NoLink {
        /// What was asked.
        name: String,
    },
    /// A link or an address does not come into use.
    #[error(
        "{what} is not in use after {seconds} s; set the link and its other end up, and look whether the machine is overloaded"
    )]
    NotReady {
        /// Which.
        what: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// An argument is out of its range.
    #[error("{argument} cannot be {value}: {allowed}")]
    Argument {
        /// Which.
        argument: &'static str,
        /// What it was.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// What is changed of a lent device cannot be written down.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The kernel lacks something.
    #[error("cannot {what}: this kernel has no {lacking}")]
    Unsupported {
        /// What was asked.
        what: String,
        /// What it would take.
        lacking: &'static str,
    },
}

impl NetlinkError {
    /// What the kernel said, if it refused.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Refused { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }

    /// Whether the thing it was about is not there.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        use rustix::io::Errno;
        let absent = [Errno::NODEV, Errno::NOENT, Errno::SRCH].map(Errno::raw_os_error);
        matches!(self, Self::NoLink { .. })
            || self.errno().is_some_and(|errno| absent.contains(&errno))
    }

    /// Whether this kernel lacks what was asked for, e.g. a kind of link.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Self::Unsupported { .. })
            || self.errno() == Some(rustix::io::Errno::OPNOTSUPP.raw_os_error())
    }
}

impl From<NamespaceError> for NetlinkError {
    fn from(error: NamespaceError) -> Self {
        Self::Namespace(Box::new(error))
    }
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => "; run as root (CAP_NET_ADMIN)",
        io::ErrorKind::AlreadyExists => "; there is one already: take another name, or remove it",
        _ => "",
    }
}
