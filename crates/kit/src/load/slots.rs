//! Where requests in flight have their bytes: slots of a region, written once.

use std::error::Error;
use std::sync::Arc;

use crypto::Workload;
use engine::{Call, CallError, CryptoLane, RegionId, SessionId, Span};
use sys::memory::Mapping;

/// The slots of one workload.
#[derive(Clone, Copy, Debug)]
pub struct Slots<'w> {
    pub workload: &'w Workload,
    pub region: RegionId,
    /// Where in the region the first begins.
    pub base: usize,
}

impl<'w> Slots<'w> {
    /// In memory of a lane's own, as many as may be in flight, written.
    pub fn of_lane(
        lane: &mut CryptoLane,
        workload: &'w Workload,
        count: usize,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let memory = Arc::new(Mapping::new((workload.slot.stride * count).max(1))?);
        let mut own = Self {
            workload,
            region: RegionId::SLAB,
            base: 0,
        };
        let mut written = Ok(());
        own.write(count, |offset, bytes| {
            written = written.and(memory.write(offset, bytes));
        });
        written?;
        own.region = lane.register(memory)?;
        Ok(own)
    }

    /// Says what to write where, so that `count` slots have their input, and
    /// the authenticator where one is checked.
    pub fn write(&self, count: usize, mut write: impl FnMut(usize, &[u8])) {
        let Workload {
            slot, input, tag, ..
        } = self.workload;
        for index in 0..count {
            let base = self.base + index * slot.stride;
            for ((offset, len), bytes) in [(slot.source, input), (slot.tag, tag)] {
                write(base + offset, &bytes[..len]);
            }
        }
    }

    /// Submits the request of a slot, the `number`th of its client; its token
    /// is the slot. The worker need not be awake.
    #[inline]
    pub fn enqueue(
        &self,
        lane: &mut CryptoLane,
        session: SessionId,
        slot: usize,
        number: u64,
    ) -> Result<(), CallError> {
        let Workload {
            kind,
            slot: layout,
            varies_iv,
            ..
        } = self.workload;
        let base = self.base + slot * layout.stride;
        let span = |(offset, len): (usize, usize)| Span {
            region: self.region,
            offset: base + offset,
            len,
        };
        let mut iv = [0; 16];
        if *varies_iv {
            iv[..8].copy_from_slice(&number.to_le_bytes());
        }
        let call = Call {
            session,
            operation: kind.operation,
            source: &[span(layout.source)],
            destination: &[span(layout.destination)],
            iv,
            aad: Span::EMPTY,
            tag: span(layout.tag),
        };
        lane.enqueue(&call, slot as u64)
    }
}
