//! The tenants of the bench: polite ones, then one for each hostile kind.

use std::sync::Arc;

use crypto::{Algorithm, Kind, Operation, RsaBits, RsaScheme, Workload, WorkloadError};

use crate::vcm::tenants::case::{Hostile, VICTIM_WEIGHTS};
use crate::vcm::tenants::config::Config;
use kit::load::rig::{Cores, Load, Setup, Tenant};

/// What is taken for L2 where the host does not say.
const L2_BYTES_USUAL: usize = 1 << 20;
/// Shallower lanes run dry.
const DEPTH_MIN: usize = 4;
/// What floods.
const HUGE_BYTES: usize = 1 << 20;
const FLOOD_DEPTH: usize = 64;
const SIGNER: Kind = Kind {
    algorithm: Algorithm::Rsa(RsaBits::B2048, RsaScheme::Pkcs1),
    operation: Operation::Sign,
};
const SIGNER_DEPTH: usize = 16;

/// Where everyone sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seats {
    /// Polite ones; they come first.
    pub(super) polite: usize,
}

impl Seats {
    /// As many as the largest case needs.
    pub(super) fn of_config(config: &Config) -> Self {
        let most = config.tenants.iter().copied().max().unwrap_or(0);
        let polite = most.max(config.weights.len()).max(VICTIM_WEIGHTS.len() + 1);
        Self { polite }
    }

    /// A hostile one's seat.
    pub(super) fn of(self, hostile: Hostile) -> usize {
        let place = Hostile::ALL.iter().position(|own| *own == hostile);
        self.polite + place.expect("all are in the list")
    }

    /// All seats.
    pub(super) fn len(self) -> usize {
        self.polite + Hostile::ALL.len()
    }

    /// What the tenant of a seat does when it is at work, polite ones at that
    /// depth. The mute one has no thread at work: its lane is filled by hand.
    pub(super) fn load(self, seat: usize, depth: usize) -> Load {
        match seat
            .checked_sub(self.polite)
            .map(|place| Hostile::ALL[place])
        {
            None => Load::closed(0, depth),
            Some(Hostile::Flood) => Load::closed(0, FLOOD_DEPTH),
            Some(Hostile::Signer) => Load::closed(0, SIGNER_DEPTH),
            Some(Hostile::Mute) => Load::closed(0, 1).with_tasks(0),
        }
    }
}

/// Requests that each of so many tenants keeps in flight: as wished, fewer
/// where three quarters of L2 would not hold them all.
pub(super) fn depth(wished: usize, tenants: usize, stride: usize, l2_bytes: u64) -> usize {
    let l2_bytes = if l2_bytes == 0 {
        L2_BYTES_USUAL
    } else {
        usize::try_from(l2_bytes).unwrap_or(usize::MAX)
    };
    let fits = l2_bytes / 4 * 3 / (tenants * stride).max(1);
    wished.min(fits.max(DEPTH_MIN))
}

/// The bench, and the polite ones' workload.
pub(super) fn setup(
    config: &Config,
    seats: Seats,
    cores: Cores,
) -> Result<(Setup, Arc<Workload>), WorkloadError> {
    let workload = |kind, bytes| Workload::new(&config.backend, kind, bytes).map(Arc::new);
    let tenant = |workload: &Arc<Workload>, depth_max| Tenant {
        workloads: vec![Arc::clone(workload)],
        depth_max,
        tasks_max: 1,
    };
    let usual = workload(config.kind, config.block_bytes)?;
    let mut tenants = vec![tenant(&usual, config.depth); seats.polite];
    for hostile in Hostile::ALL {
        // Of one that does not take part there is a seat, but no more.
        let is_there = config.hostile.contains(&hostile);
        tenants.push(match hostile {
            Hostile::Flood if is_there => tenant(&workload(config.kind, HUGE_BYTES)?, FLOOD_DEPTH),
            Hostile::Signer if is_there => {
                tenant(&workload(SIGNER, config.block_bytes)?, SIGNER_DEPTH)
            }
            _ => tenant(&usual, 1),
        });
    }
    let backend = Arc::clone(&config.backend);
    let setup = Setup {
        cores,
        backend,
        tenants,
    };
    Ok((setup, usual))
}

/// Whether a back-end has what the signer asks for.
pub(super) fn can_sign(backend: &dyn crypto::Backend) -> bool {
    backend.supports(SIGNER)
}

#[cfg(test)]
mod tests {
    use super::depth;

    #[test]
    fn many_tenants_are_shallower_so_that_the_cache_holds_them() {
        assert_eq!(depth(32, 2, 8192, 1 << 20), 32);
        assert_eq!(depth(32, 16, 8192, 1 << 20), 6);
        assert_eq!(depth(32, 64, 65_536, 1 << 20), 4);
        assert_eq!(depth(2, 64, 65_536, 0), 2);
    }
}
