//! Packets of QUIC by AES-GCM.

use zeroize::Zeroize;

use super::native::{self, Block, PacketSchedules, PacketScratch, PacketUnit, TOGETHER};
use crate::packets::place::PacketPlace;
use crate::packets::{IV_BYTES, Packets, in_private};
use crate::stack::wipe_below;
use crate::work::{self, OwnKey, Work};
use crate::{Algorithm, Instructions, Job, Key, KeyError, KeyMaterial, Kind, Operation, Status};

/// What expanding a key uses of the stack, at most.
const STACK_KIB: usize = 4;

/// Round keys there are of AES-128, and of AES-256.
const PLACES_128: usize = 11;
const PLACES_256: usize = 15;

/// One side's key in one phase, in as few cache lines as it fits: tables keep millions.
/// Wiped on drop; boxed, since moving it would leave a copy behind.
#[repr(C, align(16))]
struct PacketKey<const PLACES: usize> {
    /// Of the hash key, the fourth first.
    powers: [Block; 4],
    payload: [Block; PLACES],
    header: [Block; PLACES],
    iv: [u8; IV_BYTES],
}

const _: () = {
    assert!(size_of::<PacketKey<PLACES_128>>() == 432);
    assert!(size_of::<PacketKey<PLACES_256>>() == 560);
};

impl<const PLACES: usize> Drop for PacketKey<PLACES> {
    fn drop(&mut self) {
        self.powers.zeroize();
        self.payload.zeroize();
        self.header.zeroize();
    }
}

impl<const PLACES: usize> OwnKey for PacketKey<PLACES> {
    fn algorithm(&self) -> Algorithm {
        Algorithm::Packets(if PLACES == PLACES_128 {
            Packets::Aes128Gcm
        } else {
            Packets::Aes256Gcm
        })
    }
}

/// Of a suite with AES, for a CPU that has AES-NI.
pub(super) fn key(packets: Packets, material: &KeyMaterial) -> Result<Box<dyn Key>, KeyError> {
    let key = material.expose_for(Algorithm::Packets(packets))?;
    Ok(match packets {
        Packets::Aes128Gcm => PacketKey::<PLACES_128>::boxed(packets, key),
        _ => PacketKey::<PLACES_256>::boxed(packets, key),
    })
}

impl<const PLACES: usize> PacketKey<PLACES> {
    fn boxed(packets: Packets, key: &[u8]) -> Box<dyn Key> {
        let (header, payload, iv) = packets.parts(key);
        let mut own = Box::new(Self {
            powers: [[0; 16]; 4],
            payload: [[0; 16]; PLACES],
            header: [[0; 16]; PLACES],
            iv,
        });
        let Self {
            powers,
            payload: payload_to,
            header: header_to,
            ..
        } = &mut *own;
        // SAFETY: the kernels make such keys where the CPU has AES-NI.
        unsafe { native::expand_packets([header, payload], [header_to, payload_to], powers) };
        wipe_below::<STACK_KIB>();
        own
    }

    #[inline(always)]
    fn unit(
        &self,
        source: *const u8,
        destination: *mut u8,
        bytes: usize,
        iv: &[u8; 16],
        status: &mut Status,
    ) -> PacketUnit {
        PacketUnit {
            keys: PacketSchedules {
                header: self.header.as_ptr(),
                payload: self.payload.as_ptr(),
                powers: &raw const self.powers,
            },
            iv: self.iv,
            place: PacketPlace::of(iv).expect("what the checks let through"),
            source,
            destination,
            bytes,
            nonce: [0; 16],
            first: 0,
            status,
        }
    }
}

/// # Safety
/// As for [`crate::Backend::process`]; the CPU has `set`, which has AES-NI; the kind is of
/// packets with AES.
pub(super) unsafe fn process(
    set: Instructions,
    kind: Kind,
    jobs: &[Job<'_>],
    statuses: &mut [Status],
) {
    // SAFETY: forwarded from the caller.
    unsafe {
        match kind.algorithm {
            Algorithm::Packets(Packets::Aes128Gcm) => {
                of::<PLACES_128>(set, kind, jobs, statuses);
            }
            _ => of::<PLACES_256>(set, kind, jobs, statuses),
        }
    }
}

/// # Safety
/// As for [`process`].
unsafe fn of<const PLACES: usize>(
    set: Instructions,
    kind: Kind,
    jobs: &[Job<'_>],
    statuses: &mut [Status],
) {
    let seal = kind.operation == Operation::Encrypt;
    let unit = |key: &PacketKey<PLACES>, work: &Work<'_>, status| {
        let (source, destination) = (work.source[0], work.destination[0]);
        let bytes = source.len.min(destination.len);
        key.unit(source.address, destination.address, bytes, work.iv, status)
    };
    let together = |units: &mut [PacketUnit]| {
        let mut scratch = PacketScratch::new();
        for units in units.chunks_mut(TOGETHER) {
            // SAFETY: forwarded from the caller; the units are checked.
            unsafe { native::packets(set, seal, PLACES - 1, units, &mut scratch) };
        }
    };
    let alone = |key: &PacketKey<PLACES>, work: &Work<'_>| {
        let run = |source, destination, bytes| {
            let mut status = Status::Ok;
            let unit = key.unit(source, destination, bytes, work.iv, &mut status);
            together(&mut [unit]);
            status
        };
        // SAFETY: as above.
        unsafe { in_private(kind.operation, work, run) }
    };
    // SAFETY: forwarded from the caller.
    unsafe { work::batches(kind, jobs, statuses, unit, together, alone) };
}
