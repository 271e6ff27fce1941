//! A request in terms of a lane's regions and sessions, and why one is refused.

use crypto::{Algorithm, Operation};
use sys::memory::OutOfBounds;

use super::slots::Handle;
use crate::client::SubmitError;

pub const REGIONS_MAX: usize = 1024;

pub const SESSIONS_MAX: usize = 16_384;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegionId(pub(super) Handle);

impl RegionId {
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
    pub region: RegionId,
    pub offset: usize,
    pub len: usize,
}

impl Span {
    pub const EMPTY: Self = Self::slab(0, 0);

    pub const fn slab(offset: usize, len: usize) -> Self {
        Self {
            region: RegionId::SLAB,
            offset,
            len,
        }
    }
}

/// One request in terms of spans. What each kind takes: see [`crypto::Job`]. Requests
/// in flight run in any order and side by side: if one writes bytes that another
/// names, the result of both is undefined.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub session: SessionId,
    pub operation: Operation,
    pub source: &'a [Span],
    pub destination: &'a [Span],
    pub iv: [u8; 16],
    pub aad: Span,
    pub tag: Span,
}

/// A span that does not lie in its region.
pub type Overrun = OutOfBounds;

/// Why a call was not accepted; it was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error(transparent)]
    Submit(#[from] SubmitError),
    #[error(transparent)]
    Bounds(#[from] Overrun),
    #[error("region {} is not registered with this lane, or not any more", .0.0.index)]
    UnknownRegion(RegionId),
    #[error("session {} is not attached to this lane, or not any more", .0.handle.index)]
    UnknownSession(SessionId),
    #[error("{count} segments are more than the {limit} this lane was made for")]
    Segments { count: usize, limit: usize },
    #[error(
        "a request on {bytes} bytes, additional data included, is more than the {limit} that this virtual function may submit at once; cut it, or let the owner of the function raise its largest request"
    )]
    TooLong { bytes: usize, limit: usize },
    #[error("the session belongs to another engine or virtual function; make one with this lane's")]
    ForeignSession,
    #[error("the session's key is gone: its virtual function was reset; make another session")]
    SessionEnded,
    #[error("the lane has {REGIONS_MAX} regions, which is the most; unregister some")]
    Regions,
    #[error("the lane has {SESSIONS_MAX} sessions attached, which is the most; detach some")]
    Sessions,
    #[error("the lane's own slab cannot be unregistered; drop the lane")]
    Slab,
    #[error(
        "{algorithm} would keep others waiting on worker {worker}, which takes no public keys; take a lane of one that does"
    )]
    PublicKey { algorithm: Algorithm, worker: usize },
}
