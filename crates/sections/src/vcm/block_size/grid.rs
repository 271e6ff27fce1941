//! What is measured where, and on which benches.

use std::sync::Arc;

use crate::vcm::block_size::config::Config;
use crypto::{Kind, Workload, WorkloadError};
use kit::load::cell::{Cell, Series};
use kit::load::moderated::Arm;
use kit::load::rig::{Load, Setup, Tenant};
use kit::place::Placement;
use kit::places::{Places, on};
use kit::words::size;
use kit::words::what;

/// A place in the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) placement: Placement,
    pub(crate) kind: Kind,
    /// Input bytes of a request.
    pub(crate) block_bytes: usize,
}

/// One place with its arms.
pub(crate) type Place = Cell<Spot, Arm>;

/// The benches' setups, one a placement, and the cells on them.
pub(super) fn grid(
    config: &Config,
    places: &Places,
) -> Result<(Vec<Setup>, Vec<Place>), WorkloadError> {
    let workloads = workloads(config)?;
    let tenant = Tenant {
        workloads,
        depth_max: config.depth,
        tasks_max: 1,
    };
    let setups = places.kept.iter().map(|&(_, cores)| Setup {
        cores,
        backend: Arc::clone(&config.backend),
        tenants: vec![tenant.clone()],
    });
    let benches = places.kept.iter().enumerate();
    let cells = benches.flat_map(|(bench, &(placement, _))| {
        let workloads = tenant.workloads.iter().enumerate();
        workloads.map(move |(index, workload)| {
            let spot = Spot {
                placement,
                kind: workload.kind,
                block_bytes: workload.block_bytes,
            };
            (bench, index, workload.footprint_bytes(), spot)
        })
    });
    let cells = cells
        .map(|(bench, index, footprint_bytes, spot)| Cell {
            key: spot,
            bench,
            load: Load::closed(index, config.depth),
            label: label(&spot),
            in_flight_bytes: footprint_bytes * config.depth,
            arms: config
                .policies
                .iter()
                .map(|&arm| (arm, Series::default()))
                .collect(),
        })
        .collect();
    Ok((setups.collect(), cells))
}

/// The place in words.
pub(super) fn label(spot: &Spot) -> String {
    format!(
        "{}, {}, {}",
        what(spot.kind),
        size(spot.block_bytes),
        on(spot.placement)
    )
}

fn workloads(config: &Config) -> Result<Vec<Arc<Workload>>, WorkloadError> {
    let pairs = config
        .kinds
        .iter()
        .flat_map(|&kind| config.sizes_bytes.iter().map(move |&bytes| (kind, bytes)));
    pairs
        .map(|(kind, bytes)| Workload::new(&config.backend, kind, bytes).map(Arc::new))
        .collect()
}

/// A place's speed, 10^6 bytes a second, under an arm.
pub(crate) fn mb_per_s(place: &Place, arm: Arm) -> Option<f64> {
    let requests_per_s = place.arm(&arm)?.median(|window| window.requests_per_s(0))?;
    (requests_per_s > 0.0).then(|| requests_per_s * place.key.block_bytes as f64 / 1e6)
}

/// The places of one line of the figure, by rising block size.
pub(crate) fn line(cells: &[Place], placement: Placement, kind: Kind) -> Vec<&Place> {
    let same = |cell: &&Place| cell.key.placement == placement && cell.key.kind == kind;
    let mut line: Vec<_> = cells.iter().filter(same).collect();
    line.sort_by_key(|cell| cell.key.block_bytes);
    line
}
