//! Why a request was not done.

use std::time::Duration;

use super::PATH_BYTES_MAX;
use crate::protocol::frame::{FrameError, Kind};

#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The script, or reading a file, took longer than allowed and was ended
    /// by the guest. The channel can be used further.
    #[error("not done within {limit:?}, and ended: raise the limit, or let it do less")]
    Timeout { limit: Duration },
    #[error("the guest did not answer within {limit:?}: its console says what it does")]
    Silent { limit: Duration },
    #[error("the guest closed the channel: its console says why it ended")]
    Closed,
    #[error("the channel to the guest failed")]
    Stream(#[source] std::io::Error),
    #[error("the guest broke the protocol, and must be started again")]
    Protocol(#[from] FrameError),
    #[error("the guest's hello is not understood: {text:?}")]
    Hello {
        text: String,
        #[source]
        source: serde_json::Error,
    },
    /// More bytes than wanted; a script was ended because of it. The channel
    /// can be used further.
    #[error(
        "{bytes} bytes or more came where {limit} were allowed: raise the limit, or ask for less"
    )]
    TooLarge { limit: u64, bytes: u64 },
    #[error("the guest could not {request} {what}: {why}")]
    Failed {
        request: Kind,
        what: String,
        why: String,
    },
    #[error(
        "{path:?} is not a valid path in a guest: it must begin with /, have no NUL and at most {PATH_BYTES_MAX} bytes"
    )]
    BadPath { path: String },
    #[error("the channel was broken by an earlier error: start the guest again")]
    Broken,
}

impl ChannelError {
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
