//! Packets by a back-end that has the cipher but no packets: the text by its jobs, headers
//! by [`HeaderMask`], a call each.

#![allow(unsafe_code, reason = "reads and writes raw segments")]

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::place::{Hidden, PacketPlace, packet_nonce};
use super::{IV_BYTES, Packets};
use crate::check::BLOCK_BYTES as TAG_BYTES;
use crate::scatter::wipe;
use crate::work::{self, OwnKey, Work};
use crate::{
    Algorithm, Backend, HeaderMask, Job, Key, KeyError, KeyMaterial, Kind, Operation, Segment,
    Segments, Status,
};

/// Packets whose texts go to the back-end together.
const TOGETHER: usize = 32;

/// A key of back-end `B`. Zeroised on drop.
struct PacketKey<B> {
    packets: Packets,
    header: HeaderMask,
    aead: Box<dyn Key>,
    /// As public as packet numbers are: of no use without the key.
    iv: [u8; IV_BYTES],
    of: PhantomData<fn(B)>,
}

impl<B: 'static> OwnKey for PacketKey<B> {
    fn algorithm(&self) -> Algorithm {
        Algorithm::Packets(self.packets)
    }

    fn prefetch_parts(&self) {
        self.header.prefetch();
        crate::prefetch(&*self.aead);
    }
}

/// A packet on its way; `status` says how it ends.
struct Unit<'j, 's, B> {
    key: &'j PacketKey<B>,
    source: *const u8,
    destination: *mut u8,
    /// Of the packet, its tag left out.
    bytes: usize,
    place: PacketPlace,
    status: &'s mut Status,
}

pub(crate) fn key<B: Backend + 'static>(
    backend: &B,
    packets: Packets,
    material: &KeyMaterial,
) -> Result<Box<dyn Key>, KeyError> {
    let algorithm = Algorithm::Packets(packets);
    let (header, payload, iv) = packets.parts(material.expose_for(algorithm)?);
    let mut payload = zeroize::Zeroizing::new(payload.to_vec());
    let failed = KeyError::Backend {
        backend: backend.name(),
        algorithm,
    };
    Ok(Box::new(PacketKey::<B> {
        packets,
        header: HeaderMask::new(packets.aead(), header).ok_or(failed)?,
        aead: backend.key(packets.aead(), &KeyMaterial::take(&mut payload))?,
        iv,
        of: PhantomData,
    }))
}

/// # Safety
/// As for [`Backend::process`].
pub(crate) unsafe fn process<B: Backend + 'static>(
    backend: &B,
    kind: Kind,
    jobs: &[Job<'_>],
    statuses: &mut [Status],
) {
    let Algorithm::Packets(packets) = kind.algorithm else {
        return statuses.fill(Status::Unsupported);
    };
    let kind_of_text = Kind::new(packets.aead(), kind.operation);
    let together = |units: &mut [Unit<'_, '_, B>]| {
        for units in units.chunks_mut(TOGETHER) {
            // SAFETY: the caller's word; the units are checked.
            unsafe { run(backend, kind_of_text, units) };
        }
    };
    let alone = |key: &PacketKey<B>, work: &Work<'_>| {
        let run = |source, destination, bytes| {
            let mut status = Status::Ok;
            let unit = unit(key, source, destination, bytes, work.iv, &mut status);
            // SAFETY: as above, and both are our own.
            unsafe { run(backend, kind_of_text, &mut [unit]) };
            status
        };
        // SAFETY: as above.
        unsafe { super::in_private(kind.operation, work, run) }
    };
    let whole = |key, work: &Work<'_>, status| {
        let (source, destination) = (work.source[0], work.destination[0]);
        let bytes = source.len.min(destination.len);
        unit(
            key,
            source.address,
            destination.address,
            bytes,
            work.iv,
            status,
        )
    };
    // SAFETY: forwarded from the caller.
    unsafe { work::batches(kind, jobs, statuses, whole, together, alone) };
}

fn unit<'j, 's, B>(
    key: &'j PacketKey<B>,
    source: *const u8,
    destination: *mut u8,
    bytes: usize,
    iv: &[u8; 16],
    status: &'s mut Status,
) -> Unit<'j, 's, B> {
    Unit {
        key,
        source,
        destination,
        bytes,
        place: PacketPlace::of(iv).expect("what the checks let through"),
        status,
    }
}

/// # Safety
/// Sources are readable and destinations writable, as long as the checks asked for.
unsafe fn run<B: Backend>(backend: &B, kind: Kind, units: &mut [Unit<'_, '_, B>]) {
    let seals = kind.operation == Operation::Encrypt;
    let mut jobs = [const { MaybeUninit::<Job<'_>>::uninit() }; TOGETHER];
    let mut begun = [(0, 0_u8); TOGETHER];
    let mut count = 0;
    for (index, unit) in units.iter_mut().enumerate() {
        // SAFETY: the caller's.
        let header = unsafe { if seals { unit.copied() } else { unit.shown() } };
        let Some((first, header_bytes, number)) = header else {
            *unit.status = Status::InvalidInput;
            continue;
        };
        begun[count] = (index, first);
        jobs[count].write(unit.job(seals, header_bytes, number));
        count += 1;
    }
    // SAFETY: as many were written.
    let jobs = unsafe { jobs[..count].assume_init_ref() };
    let mut statuses = [Status::BackendFailed; TOGETHER];
    // SAFETY: parts of the caller's segments.
    unsafe { backend.process(kind, jobs, &mut statuses[..count]) };
    for (status, (index, first)) in statuses.into_iter().zip(&begun[..count]) {
        let unit = &mut units[*index];
        *unit.status = status;
        // SAFETY: the caller's.
        unsafe {
            match (status, seals) {
                (Status::Ok, true) => unit.hide(*first),
                (Status::Ok, false) => {}
                _ => unit.wiped(seals),
            }
        }
    }
}

fn word([a, b, c, d, e]: [u8; 5]) -> u64 {
    u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])
}

/// The first byte, bytes of the header, the packet's number.
type Header = (u8, usize, u64);

impl<B> Unit<'_, '_, B> {
    /// Copies the header as it is.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn copied(&self) -> Option<Header> {
        // SAFETY: the caller's; the checks left room for the longest header.
        unsafe {
            let first = self.source.read_volatile();
            let bytes = self.place.header_bytes(first);
            self.destination
                .copy_from_nonoverlapping(self.source, bytes);
            *self.destination = first;
            Some((first, bytes, self.place.number))
        }
    }

    /// Copies the header without its mask; `None`, and zeros, where the packet is of the
    /// other key phase.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn shown(&self) -> Option<Header> {
        let at = usize::from(self.place.number_at);
        // SAFETY: as there.
        unsafe {
            let sample = self.source.add(self.place.sample_at());
            let mask = word(self.key.header.mask(&sample.cast::<[u8; 16]>().read()));
            let hidden = Hidden {
                first: self.source.read_volatile(),
                number: self.source.add(at).cast::<u32>().read_unaligned(),
            };
            let shown = self.place.shown(hidden, mask);
            if !shown.is_of_phase {
                self.wiped(false);
                return None;
            }
            self.destination.copy_from_nonoverlapping(self.source, at);
            *self.destination = shown.first;
            let number = self.destination.add(at).cast::<u32>();
            number.write_unaligned(shown.word);
            Some((shown.first, shown.header_bytes, shown.number))
        }
    }

    fn job(&self, seals: bool, header_bytes: usize, number: u64) -> Job<'_> {
        let text = self.bytes - header_bytes;
        let source = self.source.cast_mut().wrapping_add(header_bytes);
        let destination = self.destination.wrapping_add(header_bytes);
        let tag = if seals { destination } else { source };
        Job {
            key: &*self.key.aead,
            source: Segments::one(Segment::new(source, text)),
            destination: Segments::one(Segment::new(destination, text)),
            iv: packet_nonce(&self.key.iv, number),
            aad: Segment::new(self.destination, header_bytes),
            tag: Segment::new(tag.wrapping_add(text), TAG_BYTES),
        }
    }

    /// Masks the header of a packet that is sealed.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn hide(&self, first: u8) {
        // SAFETY: as there.
        unsafe {
            let sample = self.destination.add(self.place.sample_at());
            let mask = word(self.key.header.mask(&sample.cast::<[u8; 16]>().read()));
            let number_at = usize::from(self.place.number_at);
            let number = self.destination.add(number_at).cast::<u32>();
            let hidden = self.place.hidden(first, number.read_unaligned(), mask);
            *self.destination = hidden.first;
            number.write_unaligned(hidden.number);
        }
    }

    /// # Safety
    /// As for [`run`].
    unsafe fn wiped(&self, seals: bool) {
        let bytes = self.bytes + if seals { TAG_BYTES } else { 0 };
        // SAFETY: the caller's.
        unsafe { wipe(&[Segment::new(self.destination, bytes)]) };
    }
}
