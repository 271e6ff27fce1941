//! What the requests of a section's trials are.

use std::sync::Arc;

use crypto::{Algorithm, KeyMaterial, Kind, Workload, WorkloadError};

use crate::config::choices::BackendName;
use crate::subject::Stopped;

/// A workload for each kind and block size.
pub struct Workloads(Vec<Arc<Workload>>);

impl Workloads {
    pub fn new(
        backend: &BackendName,
        asked: impl IntoIterator<Item = (Kind, usize)>,
    ) -> Result<Self, Stopped> {
        let mut own = Self(Vec::new());
        for (kind, block_bytes) in asked {
            if own.index(kind, block_bytes).is_none() {
                let workload = own.make(backend, kind, block_bytes);
                own.0.push(Arc::new(workload.map_err(Stopped::failed)?));
            }
        }
        Ok(own)
    }

    /// All of RSA with one length share a key: a new one takes up to seconds.
    fn make(
        &self,
        backend: &BackendName,
        kind: Kind,
        block_bytes: usize,
    ) -> Result<Workload, WorkloadError> {
        let same_keys = |own: &&Arc<Workload>| {
            let pair = (own.kind.algorithm, kind.algorithm);
            matches!(pair, (Algorithm::Rsa(own, _), Algorithm::Rsa(wanted, _)) if own == wanted)
        };
        match self.0.iter().find(same_keys) {
            Some(own) => {
                let key = KeyMaterial::take(&mut own.material.expose().to_vec());
                Workload::with_key(backend.get(), kind, block_bytes, key)
            }
            None => Workload::new(backend.get(), kind, block_bytes),
        }
    }

    /// The place of one in [`Self::all`]; public keys have a size of their own.
    fn index(&self, kind: Kind, block_bytes: usize) -> Option<usize> {
        let asked = (kind, Workload::input_bytes(kind, block_bytes));
        let mut all = self.0.iter();
        all.position(|own| (own.kind, own.block_bytes) == asked)
    }

    /// One with its place in [`Self::all`].
    ///
    /// # Panics
    /// Where it was not asked for from the start.
    pub fn get(&self, kind: Kind, block_bytes: usize) -> (usize, &Arc<Workload>) {
        let index = self.index(kind, block_bytes);
        let index = index.expect("it was asked for from the start");
        (index, &self.0[index])
    }

    pub fn all(&self) -> &[Arc<Workload>] {
        &self.0
    }
}
