//! A lane that is kept full with the requests of a workload, each in a slot of the
//! lane's slab; for tests and examples.
#![allow(dead_code, reason = "each user takes a part")]

use std::time::Duration;

use crypto::{Sectors, Status, Workload};
use lockgate_engine::{Call, CryptoLane, RegionId, SessionId, Span};

/// What a lane of this depth needs.
pub fn slab_bytes(workload: &Workload, depth: usize) -> usize {
    depth * workload.slot.stride
}

pub struct Slots<'w> {
    pub lane: CryptoLane,
    session: SessionId,
    workload: &'w Workload,
    free: Vec<usize>,
}

impl<'w> Slots<'w> {
    /// # Panics
    /// When the slab is shorter than [`slab_bytes`].
    pub fn new(lane: CryptoLane, session: SessionId, workload: &'w Workload) -> Self {
        let depth = lane.config().depth;
        for slot in 0..depth {
            lane.write(RegionId::SLAB, slot * workload.slot.stride, &workload.input)
                .expect("the slab holds every slot");
        }
        Self {
            lane,
            session,
            workload,
            free: (0..depth).rev().collect(),
        }
    }

    /// Submits a request from each slot that is free.
    pub fn fill(&mut self) {
        while let Some(slot) = self.free.pop() {
            self.send(slot);
        }
        self.lane.kick();
    }

    fn send(&mut self, slot: usize) {
        let layout = &self.workload.slot;
        let at = |(offset, len): (usize, usize)| Span::slab(slot * layout.stride + offset, len);
        let call = Call {
            session: self.session,
            operation: self.workload.kind.operation,
            source: &[at(layout.source)],
            destination: &[at(layout.destination)],
            // A number that a sector of any size may have.
            iv: Sectors::job_iv(8 * slot as u64),
            aad: Span::EMPTY,
            tag: at(layout.tag),
        };
        self.lane
            .enqueue(&call, slot as u64)
            .expect("a free slot means a free ticket");
    }

    /// How many were done.
    pub fn reap(&mut self) -> usize {
        let free = &mut self.free;
        self.lane.reap(usize::MAX, |one| {
            debug_assert_eq!(one.status, Status::Ok);
            free.push(one.token as usize);
        })
    }

    pub fn drain(&mut self) -> usize {
        let mut done = 0;
        while self.lane.in_flight() > 0 {
            let all = self.lane.in_flight();
            let _ = self.lane.wait(all, Duration::from_secs(1));
            done += self.reap();
        }
        done
    }
}
