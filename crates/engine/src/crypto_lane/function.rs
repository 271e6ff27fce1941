//! A virtual function that does crypto: its sessions belong to it.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crypto::{Algorithm, KeyMaterial};

use super::lane::CryptoLane;
use super::request::CryptoRequest;
use super::session::{Issuer, OwnSession, Session};
use super::vault::{SessionError, Vault};
use crate::function::{EndError, RequestLimit, VirtualFunction};
use crate::lane::{LaneConfig, LaneError};
use crate::resident::{Resident, Tenancy};

/// One tenant's share of a [`CryptoEngine`](super::CryptoEngine): its lanes,
/// weight, quota, cap, and its keys, which no other's lanes can use. After a
/// [reset](VirtualFunction::reset) its sessions have ended: their keys are zeroised,
/// even if a client still holds them.
pub struct CryptoFunction {
    pub(super) function: VirtualFunction<CryptoRequest>,
    pub(super) issuer: Issuer,
    pub(super) request_max: RequestLimit,
    pub(super) vault: Arc<Vault>,
}

impl std::fmt::Debug for CryptoFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CryptoFunction({:?})", self.function.counters())
    }
}

impl CryptoFunction {
    /// Sets a key up for every worker; only this function's lanes take it,
    /// and it ends when the function is reset or removed.
    pub fn session(
        &self,
        algorithm: Algorithm,
        material: &KeyMaterial,
    ) -> Result<Arc<Session>, SessionError> {
        let workers = self.function.workers();
        // Before the key is made, which is what costs.
        let held = Some(self.vault.hold(material.expose().len())?);
        let session = self.issuer.session(algorithm, material, workers, held)?;
        let own = OwnSession(Arc::downgrade(&session));
        self.function.own(Arc::new(own));
        Ok(session)
    }

    /// Ends one of its sessions: it takes no more requests, and each worker zeroises its
    /// copy of the key as soon as it gets to it; requests in flight are cancelled then.
    pub fn end_session(&self, session: &Arc<Session>) {
        self.function
            .end_one(Arc::new(OwnSession(Arc::downgrade(session))));
    }

    /// Makes a lane to that worker, with a slab of `slab_bytes` as its first
    /// region and up to `segments` segments a source or destination, or as many
    /// as the function may have. Its settings are the function's.
    pub fn lane(
        &self,
        worker: usize,
        config: LaneConfig,
        slab_bytes: usize,
        segments: usize,
    ) -> Result<CryptoLane, LaneError> {
        let lane = self.function.lane(worker, config)?;
        CryptoLane::new(
            lane,
            self.issuer.seat(worker),
            slab_bytes,
            segments,
            self.request_max,
        )
    }

    /// Makes a lane to that worker whose client lives there: what `make` makes of the
    /// lane. Its slab and segments are as for [`lane`](Self::lane).
    ///
    /// # Errors
    /// As there.
    pub fn settle<T: Resident>(
        &self,
        worker: usize,
        config: LaneConfig,
        slab_bytes: usize,
        segments: usize,
        make: impl FnOnce(CryptoLane) -> T,
    ) -> Result<Tenancy<CryptoRequest, T>, LaneError> {
        let (seat, limit) = (self.issuer.seat(worker), self.request_max);
        self.function.settle(worker, config, |lane| {
            CryptoLane::new(lane, seat, slab_bytes, segments, limit).map(make)
        })
    }

    /// See [`VirtualFunction::remove`]; its sessions have ended as by a reset.
    pub fn remove(self, timeout: Duration) -> Result<(), EndError> {
        self.function.remove(timeout)
    }
}

impl Deref for CryptoFunction {
    type Target = VirtualFunction<CryptoRequest>;

    fn deref(&self) -> &Self::Target {
        &self.function
    }
}
