//! A request in terms of a lane's regions and sessions, and why one is refused.

use crypto::{Algorithm, Operation};
use sys::memory::OutOfBounds;

use super::slots::Handle;
use crate::client::SubmitError;

/// Most regions of one lane.
pub const REGIONS_MAX: usize = 1024;

/// Most sessions attached to one lane.
pub const SESSIONS_MAX: usize = 16_384;

/// A region registered with a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegionId(pub(super) Handle);

impl RegionId {
    /// The lane's own slab.
    pub const SLAB: Self = Self(Handle::FIRST);
}

/// A session attached to a lane; known to that lane only, so that a mix-up is
/// an error and never another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionId {
    pub(super) lane: u64,
    pub(super) handle: Handle,
}

/// Bytes within a region. One of no bytes names none: region and offset are not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Which region.
    pub region: RegionId,
    /// First byte.
    pub offset: usize,
    /// How many.
    pub len: usize,
}

impl Span {
    /// No bytes.
    pub const EMPTY: Self = Self::slab(0, 0);

    /// Bytes of the lane's slab.
    #[must_use]
    pub const fn slab(offset: usize, len: usize) -> Self {
        Self {
            region: RegionId::SLAB,
            offset,
            len,
        }
    }
}

/// One request in terms of spans. What each kind takes: see [`crypto::Job`].
/// Requests in flight run in any order and side by side: where one writes
/// what another names, the bytes of both are undefined.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Whose key.
    pub session: SessionId,
    /// What to do.
    pub operation: Operation,
    /// Input.
    pub source: &'a [Span],
    /// Output: the same spans as the source, or disjoint from them.
    pub destination: &'a [Span],
    /// Initialisation vector, counter block or tweak.
    pub iv: [u8; 16],
    /// Additional authenticated data.
    pub aad: Span,
    /// Authenticator: tag or signature.
    pub tag: Span,
}

/// A span that does not lie in its region.
pub type Overrun = OutOfBounds;

/// Why a call was not accepted; it was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The lane refused.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// A span outside its region.
    #[error(transparent)]
    Bounds(#[from] Overrun),
    /// No such region on this lane.
    #[error("region {} is not registered with this lane, or not any more", .0.0.index)]
    UnknownRegion(RegionId),
    /// No such session on this lane.
    #[error("session {} is not attached to this lane, or not any more", .0.handle.index)]
    UnknownSession(SessionId),
    /// More segments than the lane was made for.
    #[error("{count} segments are more than the {limit} this lane was made for")]
    Segments {
        /// How many.
        count: usize,
        /// The lane's limit.
        limit: usize,
    },
    /// More bytes than the virtual function may submit at once.
    #[error(
        "a request on {bytes} bytes, additional data included, is more than the {limit} that this virtual function may submit at once; cut it, or let the owner of the function raise its largest request"
    )]
    TooLong {
        /// How many.
        bytes: usize,
        /// The function's limit.
        limit: usize,
    },
    /// The session is of another engine or virtual function.
    #[error("the session belongs to another engine or virtual function; make one with this lane's")]
    ForeignSession,
    /// The session's virtual function was reset or removed.
    #[error("the session's key is gone: its virtual function was reset; make another session")]
    SessionEnded,
    /// As many regions as a lane may have.
    #[error("the lane has {REGIONS_MAX} regions, which is the most; unregister some")]
    Regions,
    /// As many sessions as a lane may have.
    #[error("the lane has {SESSIONS_MAX} sessions attached, which is the most; detach some")]
    Sessions,
    /// It lives as long as the lane.
    #[error("the lane's own slab cannot be unregistered; drop the lane")]
    Slab,
    /// The engine has other workers for such keys.
    #[error(
        "{algorithm} would keep others waiting on worker {worker}, which takes no public keys; take a lane of one that does"
    )]
    PublicKey {
        /// Of the session.
        algorithm: Algorithm,
        /// Of the lane.
        worker: usize,
    },
}
