//! Packets of QUIC (RFC 9001 §5): many at once, the blocks that hide headers and tags
//! together, the texts as GCM messages.

use std::mem::MaybeUninit;

use super::blocks::Blocks;
use super::gcm::{self, Keys};
use super::ghash::{LEAST, Powers};
use super::lanes::{Block, Lanes};
use crate::packets::IV_BYTES;
use crate::packets::place::{Hidden, PacketPlace, Shown, packet_nonce};
use crate::{Segment, Status};

const BLOCK_BYTES: usize = 16;
/// Packets whose headers are hidden together.
pub(in crate::kernels) const TOGETHER: usize = gcm::TOGETHER;

/// What a key keeps: little, since there are as many as connections.
#[derive(Clone, Copy)]
pub(in crate::kernels) struct PacketSchedules {
    /// Round keys for headers, and for payloads.
    pub header: *const Block,
    pub payload: *const Block,
    /// Of the hash key, the fourth first.
    pub powers: *const [Block; 4],
}

/// A packet, and how it ends.
pub(in crate::kernels) struct PacketUnit {
    pub keys: PacketSchedules,
    pub iv: [u8; IV_BYTES],
    pub place: PacketPlace,
    pub source: *const u8,
    pub destination: *mut u8,
    /// Of the packet, its tag left out.
    pub bytes: usize,
    /// Filled in once its number is known.
    pub nonce: Block,
    /// Of a packet that is sealed, once it was read.
    pub first: u8,
    pub status: *mut Status,
}

/// What a batch needs beside its packets; it stands in the frame of who calls, so that what
/// is wiped below that is little.
pub(in crate::kernels) struct Scratch {
    powers: MaybeUninit<Powers>,
    texts: [MaybeUninit<gcm::Unit>; TOGETHER],
    blocks: Blocks<TOGETHER>,
}

impl Scratch {
    pub(in crate::kernels) const fn new() -> Self {
        Self {
            powers: MaybeUninit::uninit(),
            texts: [const { MaybeUninit::uninit() }; TOGETHER],
            blocks: Blocks::new(),
        }
    }
}

/// Seals or opens packets of one suite, [`TOGETHER`] at most; `messages` does GCM messages
/// that have their masks.
///
/// # Safety
/// The CPU has the instructions of `V`, keys have so many rounds; the units passed the
/// checks; sources are readable, destinations writable, apart from each other.
#[inline(always)]
pub(super) unsafe fn run<V: Lanes, const SEAL: bool>(
    rounds: usize,
    units: &mut [PacketUnit],
    scratch: &mut Scratch,
    messages: unsafe fn(bool, usize, &mut [gcm::Unit]),
) {
    let Scratch {
        powers,
        texts,
        blocks,
    } = scratch;
    let mut count = 0;
    // SAFETY: the caller's word, here and below.
    unsafe {
        if SEAL {
            for unit in &mut *units {
                let header = unit.copied::<V>();
                texts[count].write(unit.text::<SEAL>(&header));
                count += 1;
            }
        } else {
            for unit in &*units {
                blocks.push(unit.keys.header, unit.sample(unit.source));
            }
            let masks = blocks.encrypted::<V>(rounds);
            for (unit, mask) in units.iter_mut().zip(masks) {
                let header = unit.shown::<V>(mask);
                if header.is_of_phase {
                    texts[count].write(unit.text::<SEAL>(&header));
                    count += 1;
                } else {
                    *unit.status = Status::InvalidInput;
                }
            }
        }
        let texts = texts[..count].assume_init_mut();
        gcm::masks::<V, TOGETHER>(rounds, texts, blocks);
        let powers = Powers::begin_in(powers);
        for run in texts.chunk_by_mut(|a, b| a.keys.is_of(b.keys)) {
            prepare::<V>(powers, run);
            messages(SEAL, rounds, run);
        }
        powers.wipe();
        gcm::forget_masks(texts);
        blocks.wipe(texts.len());
        if SEAL {
            for unit in &*units {
                blocks.push(unit.keys.header, unit.sample(unit.destination));
            }
            for (unit, mask) in units.iter().zip(blocks.encrypted::<V>(rounds)) {
                unit.hide(mask);
            }
        } else {
            for unit in units.iter().filter(|unit| *unit.status != Status::Ok) {
                unit.destination.write_bytes(0, unit.bytes);
            }
        }
    }
}

/// Makes as many powers of a key as its packets are worth.
///
/// # Safety
/// As for [`run`].
#[inline(always)]
unsafe fn prepare<V: Lanes>(powers: &mut Powers, run: &mut [gcm::Unit]) {
    // A register costs as much as a reduction, which it saves in each long packet.
    let worth = match run.len() {
        1 => LEAST,
        2 | 3 => 2 * LEAST,
        _ => 4 * LEAST,
    };
    let blocks = run.iter().map(gcm::Unit::blocks).max().unwrap_or(0);
    // SAFETY: the caller's.
    unsafe {
        powers.begin_with::<V>(run[0].keys.first_powers());
        powers.extend::<V>(blocks.min(worth));
    }
    for unit in run {
        unit.keys = unit.keys.with(powers);
    }
}

impl PacketUnit {
    /// # Safety
    /// As for [`run`].
    #[inline(always)]
    unsafe fn sample(&self, packet: *const u8) -> Block {
        // SAFETY: the checks left room for one.
        unsafe { packet.add(self.place.sample_at()).cast::<Block>().read() }
    }

    /// Copies so many bytes of the header.
    ///
    /// # Safety
    /// As for [`run`].
    #[inline(always)]
    unsafe fn copy<V: Lanes>(&self, bytes: usize) {
        let (from, to) = (self.source, self.destination);
        // SAFETY: the checks left room for the longest header.
        unsafe {
            if bytes <= V::BLOCKS * BLOCK_BYTES {
                V::load_bytes(from, bytes).store_bytes(to, bytes);
            } else {
                to.copy_from_nonoverlapping(from, bytes);
            }
        }
    }

    /// Copies the header as it is.
    ///
    /// # Safety
    /// As for [`run`].
    #[inline(always)]
    unsafe fn copied<V: Lanes>(&mut self) -> Shown {
        // SAFETY: the caller's. The first byte is read once: who changes it later changes
        // nothing.
        unsafe {
            let first = self.source.read_volatile();
            let header_bytes = self.place.header_bytes(first);
            self.copy::<V>(header_bytes);
            *self.destination = first;
            self.first = first;
            Shown {
                first,
                word: 0,
                header_bytes,
                number: self.place.number,
                is_of_phase: true,
            }
        }
    }

    /// Copies the header without its mask.
    ///
    /// # Safety
    /// As for [`run`].
    #[inline(always)]
    unsafe fn shown<V: Lanes>(&self, mask: &Block) -> Shown {
        let at = usize::from(self.place.number_at);
        // SAFETY: as there.
        unsafe {
            let hidden = Hidden {
                first: self.source.read_volatile(),
                number: self.source.add(at).cast::<u32>().read_unaligned(),
            };
            let shown = self.place.shown(hidden, u128::from_le_bytes(*mask) as u64);
            self.copy::<V>(at);
            *self.destination = shown.first;
            let number = self.destination.add(at).cast::<u32>();
            number.write_unaligned(shown.word);
            shown
        }
    }

    #[inline(always)]
    fn text<const SEAL: bool>(&mut self, header: &Shown) -> gcm::Unit {
        let PacketSchedules {
            payload, powers, ..
        } = self.keys;
        self.nonce = packet_nonce(&self.iv, header.number);
        let sealed = if SEAL {
            self.destination
        } else {
            self.source.cast_mut()
        };
        gcm::Unit {
            keys: Keys::of_first(payload, powers),
            iv: &raw const self.nonce,
            mask: [0; BLOCK_BYTES],
            aad: Segment::new(self.destination, header.header_bytes),
            source: self.source.wrapping_add(header.header_bytes),
            destination: self.destination.wrapping_add(header.header_bytes),
            bytes: self.bytes - header.header_bytes,
            tag: sealed.wrapping_add(self.bytes).cast(),
            status: self.status,
        }
    }

    /// Masks the header of a sealed packet.
    ///
    /// # Safety
    /// As for [`run`].
    #[inline(always)]
    unsafe fn hide(&self, mask: &Block) {
        let at = usize::from(self.place.number_at);
        let mask = u128::from_le_bytes(*mask) as u64;
        // SAFETY: as there.
        unsafe {
            let number = self.destination.add(at).cast::<u32>();
            let hidden = self.place.hidden(self.first, number.read_unaligned(), mask);
            *self.destination = hidden.first;
            number.write_unaligned(hidden.number);
        }
    }
}
