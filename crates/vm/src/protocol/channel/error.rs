//! Why a request was not done.

use std::time::Duration;

use super::PATH_BYTES_MAX;
use crate::protocol::frame::{FrameError, Kind};

/// Why a request was not done.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The script, or reading a file, took longer than allowed and was ended
    /// by the guest. The channel can be used further.
    #[error("not done within {limit:?}, and ended: raise the limit, or let it do less")]
    Timeout {
        /// The time it was given.
        limit: Duration,
    },
    /// The guest did not answer. The channel is of no more use.
    #[error("the guest did not answer within {limit:?}: its console says what it does")]
    Silent {
        /// The time it was given.
        limit: Duration,
    },
    /// The guest ended the stream. The channel is of no more use.
    #[error("the guest closed the channel: its console says why it ended")]
    Closed,
    /// The stream failed. The channel is of no more use.
    #[error("the channel to the guest failed")]
    Stream(#[source] std::io::Error),
    /// The guest does not keep to the protocol. The channel is of no more use.
    #[error("the guest broke the protocol, and must be started again")]
    Protocol(#[from] FrameError),
    /// The hello is not what a hello is. The channel is of no more use.
    #[error("the guest's hello is not understood: {text:?}")]
    Hello {
        /// What it said.
        text: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// More bytes than wanted; a script was ended because of it. The channel
    /// can be used further.
    #[error(
        "{bytes} bytes or more came where {limit} were allowed: raise the limit, or ask for less"
    )]
    TooLarge {
        /// Bytes allowed.
        limit: u64,
        /// Bytes that were there, at least.
        bytes: u64,
    },
    /// The guest could not do it. The channel can be used further.
    #[error("the guest could not {request} {what}: {why}")]
    Failed {
        /// The request.
        request: Kind,
        /// A path, or "the script".
        what: String,
        /// In the guest's words.
        why: String,
    },
    /// A path that cannot be sent. The channel can be used further.
    #[error(
        "{path:?} is no path in a guest: it must begin with /, have no NUL and at most {PATH_BYTES_MAX} bytes"
    )]
    BadPath {
        /// As given.
        path: String,
    },
    /// An earlier error has ended the channel.
    #[error("the channel was broken by an earlier error: start the guest again")]
    Broken,
}

impl ChannelError {
    /// Whether further requests make sense after this.
    #[must_use]
    pub const fn is_recoverable(&self) -> bool {
        matches!(
            self,
            Self::Timeout { .. }
                | Self::TooLarge { .. }
                | Self::Failed { .. }
                | Self::BadPath { .. }
        )
    }
}
