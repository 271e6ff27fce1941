//! The tenant that fills its lane and takes nothing back.

use std::io;
use std::sync::Arc;

use crypto::Workload;
use engine::{
    CallError, CryptoFunction, CryptoLane, LaneConfig, LaneError, RegionId, SessionError,
};
use sys::memory::{Mapping, OutOfBounds};

use kit::load::slots::Slots;

/// As deep as it fills.
const DEPTH: usize = 1024;

/// Why its lane could not be filled.
#[derive(Debug, thiserror::Error)]
pub(super) enum MuteError {
    #[error("no lane")]
    Lane(#[from] LaneError),
    #[error("no key")]
    Key(#[from] SessionError),
    #[error("no memory; lower block_bytes")]
    Memory(#[from] io::Error),
    #[error("a slot lies outside its memory")]
    Slot(#[from] OutOfBounds),
    #[error("the lane refused a request")]
    Call(#[from] CallError),
}

/// A lane of that function, full, which nobody reaps while it lives.
pub(super) fn fill(
    function: &CryptoFunction,
    workload: &Workload,
) -> Result<CryptoLane, MuteError> {
    let config = LaneConfig {
        depth: DEPTH,
        ..LaneConfig::default()
    };
    let mut lane = function.lane(0, config, 1, 1)?;
    let session = function.session(workload.kind.algorithm, &workload.material)?;
    let memory = Arc::new(Mapping::new(workload.slot.stride * DEPTH)?);
    let slots = |region| Slots {
        workload,
        region,
        base: 0,
    };
    let mut written = Ok(());
    slots(RegionId::SLAB).write(DEPTH, |offset, bytes| {
        written = written.and(memory.write(offset, bytes));
    });
    written?;
    let region = lane.register(memory)?;
    let session = lane.attach(&session)?;
    for slot in 0..DEPTH {
        slots(region).enqueue(&mut lane, session, slot, slot as u64)?;
    }
    lane.kick();
    Ok(lane)
}
