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
