//! Packets over memory that the caller owns: the safe way in.

#![allow(unsafe_code, reason = "turns slices into segments")]

use std::any::{Any, TypeId};
use std::mem::MaybeUninit;

use super::PacketPlace;
use crate::work::BATCH_UNITS_MAX;
use crate::{Algorithm, Backend, Job, Key, Kind, Operation, Packets, Segment, Segments, Status};

/// One packet: what becomes of it is in `status`.
pub struct PacketSlices<'b> {
    pub key: &'b dyn Key,
    pub place: PacketPlace,
    /// To seal: header and payload. To open: the packet.
    pub source: &'b [u8],
    /// As long as the source and a tag; or without its tag.
    pub destination: &'b mut [u8],
    pub status: Status,
}

impl PacketSlices<'_> {
    /// No packet: fills what of an array is not used.
    pub fn none() -> Self {
        Self {
            key: &NoKey,
            place: PacketPlace {
                number: 0,
                number_at: 0,
                phase: None,
            },
            source: &[],
            destination: &mut [],
            status: Status::BackendFailed,
        }
    }
}

struct NoKey;

impl Key for NoKey {
    fn part(&self, _of: TypeId) -> Option<&dyn Any> {
        None
    }
}

/// Seals or opens packets of one suite, whose keys `backend` made. Nothing is allocated.
/// What did not end as [`Status::Ok`] is zeros, whatever the back-end left there.
pub fn process_packets(
    backend: &dyn Backend,
    packets: Packets,
    operation: Operation,
    all: &mut [PacketSlices<'_>],
) {
    let kind = Kind::new(Algorithm::Packets(packets), operation);
    for all in all.chunks_mut(BATCH_UNITS_MAX) {
        let mut jobs = [const { MaybeUninit::<Job<'_>>::uninit() }; BATCH_UNITS_MAX];
        let mut statuses = [Status::BackendFailed; BATCH_UNITS_MAX];
        for (job, one) in jobs.iter_mut().zip(&mut *all) {
            let source = Segment::new(one.source.as_ptr().cast_mut(), one.source.len());
            let to = &mut one.destination;
            job.write(Job {
                key: one.key,
                source: Segments::one(source),
                destination: Segments::one(Segment::new(to.as_mut_ptr(), to.len())),
                iv: one.place.job_iv(),
                aad: Segment::EMPTY,
                tag: Segment::EMPTY,
            });
        }
        let statuses = &mut statuses[..all.len()];
        // SAFETY: as many jobs were written; their segments are slices that are borrowed
        // until this function returns, the destinations mutably.
        unsafe { backend.process(kind, jobs[..all.len()].assume_init_ref(), statuses) };
        for (one, status) in all.iter_mut().zip(statuses) {
            one.status = *status;
            if *status != Status::Ok {
                one.destination.fill(0);
            }
        }
    }
}
