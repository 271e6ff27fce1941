//! Galois/counter mode (SP 800-38D): counters are encrypted in groups of four registers,
//! and a group's ciphertext is hashed while the next is encrypted. Nothing of a message
//! waits for another, so that the CPU begins with the next before the last has its tag.

mod counters;
mod hash;
mod keys;
mod short;

use std::arch::x86_64::__m128i;

use zeroize::Zeroize;

use super::NativeKeys;
use super::blocks::{Blocks, schedule};
use super::ghash::{Factor, Sum};
use super::lanes::{Block, Lanes};
use crate::kernels::soft::is_equal;
use crate::{Segment, Status};

use counters::{Counters, Rounds};
use hash::Hash;
pub(in crate::kernels) use keys::Keys;
use short::{ABREAST, abreast, are_short};

const BLOCK_BYTES: usize = 16;
/// Registers of a group.
const GROUP: usize = 4;
/// The first counter is that of the tag's mask; texts begin with the next.
const FIRST_COUNTER: u32 = 1;

/// A message whose bytes are in one piece on each side, and how it ends.
pub(in crate::kernels) struct Unit {
    pub keys: Keys,
    /// Twelve bytes, and what is not looked at. By address: it was written a moment ago,
    /// perhaps in parts, and to read it at once would wait for them.
    pub iv: *const Block,
    /// What hides the tag: see [`masks`].
    pub mask: Block,
    pub aad: Segment,
    pub source: *const u8,
    pub destination: *mut u8,
    pub bytes: usize,
    /// Written by seal, read by open.
    pub tag: *mut Block,
    pub status: *mut Status,
}

/// Messages whose tags' masks are encrypted together.
pub(super) const TOGETHER: usize = 32;

/// Fills in the masks of `MOST` messages at most.
///
/// # Safety
/// As for [`messages`].
#[inline(always)]
pub(super) unsafe fn masks<V: Lanes, const MOST: usize>(
    rounds: usize,
    units: &mut [Unit],
    masks: &mut Blocks<MOST>,
) {
    for unit in &*units {
        masks.push(unit.keys.schedule, first_counter(unit.iv()));
    }
    // SAFETY: the caller's word.
    let masks = unsafe { masks.encrypted::<V>(rounds) };
    for (unit, mask) in units.iter_mut().zip(masks) {
        unit.mask = *mask;
    }
}

/// They would let forge the tags.
#[inline(always)]
pub(super) fn forget_masks(units: &mut [Unit]) {
    for unit in units {
        unit.mask = [0; BLOCK_BYTES];
    }
    // Not left out, though nobody looks.
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

/// Seals or opens messages that have their masks.
///
/// # Safety
/// The CPU has the instructions of `V`; keys have so many rounds; the units passed the
/// checks; additional data and sources are readable, destinations writable, the same or
/// apart.
#[inline(always)]
pub(super) unsafe fn messages<V: Lanes, const SEAL: bool, const ROUNDS: usize>(units: &mut [Unit]) {
    let mut left = units;
    while !left.is_empty() {
        let is_short = left.first_chunk().is_some_and(are_short::<V>);
        let (units, others) = left.split_at_mut(if is_short { ABREAST } else { 1 });
        left = others;
        // SAFETY: the caller's word.
        unsafe {
            match units.first_chunk_mut() {
                Some(four) => abreast::<V, SEAL, ROUNDS>(four),
                None => alone::<V, SEAL, ROUNDS>(&mut units[0]),
            }
        }
    }
}

/// # Safety
/// As for [`messages`].
#[inline(always)]
unsafe fn alone<V: Lanes, const SEAL: bool, const ROUNDS: usize>(unit: &mut Unit) {
    let run = Run {
        from: unit.source,
        to: unit.destination,
        bytes: unit.bytes,
    };
    // SAFETY: the caller's word.
    unsafe {
        let given = unit.given::<SEAL>();
        let mut message = Message::begin(unit.iv());
        go_on::<V, SEAL, true, ROUNDS>(unit.keys, &mut message, unit.aad, run);
        unit.end::<SEAL>(&given, &tag(&message.hash, &unit.mask));
    }
}

impl Unit {
    #[inline(always)]
    fn iv(&self) -> &Block {
        // SAFETY: a unit's addresses are good while it is there; nobody else writes IVs.
        unsafe { &*self.iv }
    }

    /// That are hashed.
    #[inline(always)]
    pub(super) fn blocks(&self) -> usize {
        self.aad.len.div_ceil(BLOCK_BYTES) + self.bytes.div_ceil(BLOCK_BYTES) + 1
    }

    /// The tag that an opened message must have, read once, and before the text is: who
    /// changes it later changes nothing.
    ///
    /// # Safety
    /// As for [`messages`].
    #[inline(always)]
    unsafe fn given<const SEAL: bool>(&self) -> Block {
        if SEAL {
            return [0; BLOCK_BYTES];
        }
        // SAFETY: the caller's.
        unsafe { self.tag.read_unaligned() }
    }

    /// Writes a sealed message's tag; wipes what was opened if it is not the given one.
    ///
    /// # Safety
    /// As for [`messages`].
    #[inline(always)]
    unsafe fn end<const SEAL: bool>(&mut self, given: &Block, tag: &Block) {
        // SAFETY: the caller's.
        unsafe {
            if SEAL {
                self.tag.write_unaligned(*tag);
            } else if !is_equal(tag, given) {
                self.destination.write_bytes(0, self.bytes);
                *self.status = Status::AuthenticationFailed;
            }
        }
    }
}

/// A message on its way: what it leaves between two pieces.
#[derive(Clone, Copy)]
#[repr(C)]
pub(in crate::kernels) struct Message {
    /// The hash of all before, byte-reversed.
    hash: Block,
    /// Of the next block, byte-reversed, so that its lower half counts.
    counter: Block,
    aad_bytes: u64,
    text_bytes: u64,
}

/// The first counter block: the first twelve bytes, and one.
#[inline(always)]
fn first_counter(iv: &Block) -> Block {
    let counters = u128::from(u32::MAX);
    (u128::from_be_bytes(*iv) & !counters | u128::from(FIRST_COUNTER)).to_be_bytes()
}

/// The tag of a message that came in pieces.
///
/// # Safety
/// As for [`messages`].
#[inline(always)]
pub(super) unsafe fn tag_of(keys: &NativeKeys, iv: &Block, message: &Message) -> Block {
    let mut mask = Blocks::<1>::new();
    mask.push(schedule::<true>(&keys.data), first_counter(iv));
    // SAFETY: the caller's.
    unsafe {
        let mask = mask.encrypted::<__m128i>(keys.data.rounds)[0];
        let lengths = lengths(message.aad_bytes, message.text_bytes);
        let last = __m128i::broadcast(&lengths).xor(__m128i::broadcast(&message.hash));
        let mut sum = Sum::zero();
        sum.add(last, Factor::load(keys.gcm().powers_of(1)));
        tag(&sum.reduced().first_block(), &mask)
    }
}

/// The same registers, the second ones not to be used before the first are computed.
///
/// # Safety
/// As for [`messages`].
#[inline(always)]
unsafe fn after<V: Lanes>(mut first: [V; GROUP], mut second: [V; GROUP]) -> [[V; GROUP]; 2] {
    let mut index = 0;
    while index < GROUP {
        let other = if index < 2 { 2 } else { 1 };
        // SAFETY: the caller's.
        let [a, b, c] = unsafe { V::now([first[index], second[0], second[other + index % 2]]) };
        (first[index], second[0], second[other + index % 2]) = (a, b, c);
        index += 1;
    }
    [first, second]
}

/// Encrypts or decrypts a group; its ciphertext.
///
/// # Safety
/// As for [`go_on`].
#[inline(always)]
unsafe fn group<V: Lanes, const SEAL: bool>(
    stream: [V; GROUP],
    from: *const u8,
    to: *mut u8,
) -> [V; GROUP] {
    let mut texts = stream;
    let mut index = 0;
    while index < GROUP {
        let at = index * V::BLOCKS * BLOCK_BYTES;
        // SAFETY: the caller's word.
        unsafe {
            let text = V::load(from.add(at));
            let output = text.xor(stream[index]);
            output.store(to.add(at));
            texts[index] = if SEAL { output } else { text };
        }
        index += 1;
    }
    texts
}

/// Goes on with a message that comes in pieces.
///
/// # Safety
/// As for [`messages`], of a piece.
#[inline(always)]
pub(super) unsafe fn piece<V: Lanes, const SEAL: bool, const ROUNDS: usize>(
    keys: Keys,
    message: &mut Message,
    aad: Segment,
    run: Run,
) {
    if aad.len == 0 && run.bytes == 0 {
        return;
    }
    // SAFETY: the caller's.
    unsafe { go_on::<V, SEAL, false, ROUNDS>(keys, message, aad, run) };
}

/// Goes on with the next bytes of a message: whole blocks, unless they are its last; then
/// `IS_LAST` takes its lengths in, too. `aad` is what a message begins with.
///
/// # Safety
/// As for [`messages`].
#[inline(always)]
pub(super) unsafe fn go_on<V: Lanes, const SEAL: bool, const IS_LAST: bool, const ROUNDS: usize>(
    keys: Keys,
    message: &mut Message,
    aad: Segment,
    Run {
        mut from,
        mut to,
        bytes,
    }: Run,
) {
    let group_bytes = GROUP * V::BLOCKS * BLOCK_BYTES;
    let blocks = bytes.div_ceil(BLOCK_BYTES);
    let mut left = bytes;
    message.aad_bytes += aad.len as u64;
    message.text_bytes += bytes as u64;
    // SAFETY: the caller's word; a group's bytes are there while they are left.
    unsafe {
        let before = V::zero_but_first(&message.hash);
        let mut hash = Hash::begin(keys, before, aad, blocks + usize::from(IS_LAST));
        let rounds = Rounds::<V, ROUNDS>::load(keys);
        let next = u128::from_le_bytes(message.counter);
        let mut counters = Counters::<V>::begin(rounds.0[0], next);
        let mut waiting = [V::zero(); GROUP];
        let mut count = 0;
        if left >= group_bytes {
            let blocks = rounds.begin(counters.next::<GROUP>());
            waiting = group::<V, SEAL>(rounds.end(blocks), from, to);
            left -= group_bytes;
            while left >= group_bytes {
                from = from.add(group_bytes);
                to = to.add(group_bytes);
                let blocks = rounds.begin(counters.next::<GROUP>());
                // Products are long, and soon hide behind the rounds of the next group;
                // the compiler would begin with them.
                let [blocks, texts] = after(blocks, waiting);
                hash.add_group(&texts);
                waiting = group::<V, SEAL>(rounds.end(blocks), from, to);
                left -= group_bytes;
            }
            from = from.add(group_bytes);
            to = to.add(group_bytes);
            count = GROUP;
        }
        if left > 0 {
            let run = Run {
                from,
                to,
                bytes: left,
            };
            let blocks = counters.next::<GROUP>();
            // By value: what has an address is stored each time round.
            let group = if count > 0 { Some(waiting) } else { None };
            let hash = &mut hash;
            count = left.div_ceil(V::BLOCKS * BLOCK_BYTES);
            waiting = match count {
                1 => rest::<V, 1, SEAL, ROUNDS>(&rounds, blocks, run, hash, group),
                2 => rest::<V, 2, SEAL, ROUNDS>(&rounds, blocks, run, hash, group),
                3 => rest::<V, 3, SEAL, ROUNDS>(&rounds, blocks, run, hash, group),
                _ => rest::<V, 4, SEAL, ROUNDS>(&rounds, blocks, run, hash, group),
            };
        }
        if !IS_LAST {
            let counter = u128::from_le_bytes(message.counter) + blocks as u128;
            message.counter = counter.to_le_bytes();
        }
        let mut index = 0;
        while index < GROUP {
            if index < count {
                hash.add(waiting[index]);
            }
            index += 1;
        }
        hash.pass(count);
        if IS_LAST {
            let lengths = lengths(message.aad_bytes, message.text_bytes);
            let lengths = V::zero_but_first(&lengths).xor(hash.before);
            hash.sum.add(lengths, Factor::load(keys.powers_of(1)));
        }
        hash.end();
        message.hash = hash.before.first_block();
    }
}

/// Bytes from one place to another, the same or apart.
#[derive(Clone, Copy)]
pub(in crate::kernels) struct Run {
    pub from: *const u8,
    pub to: *mut u8,
    pub bytes: usize,
}

/// Encrypts or decrypts the last `N` registers of a piece, no byte beyond; a group that
/// waits is hashed beside.
///
/// # Safety
/// As for [`messages`].
#[inline(always)]
unsafe fn rest<V: Lanes, const N: usize, const SEAL: bool, const ROUNDS: usize>(
    rounds: &Rounds<V, ROUNDS>,
    blocks: [V; GROUP],
    Run { from, to, bytes }: Run,
    hash: &mut Hash<V>,
    waiting: Option<[V; GROUP]>,
) -> [V; GROUP] {
    let register_bytes = V::BLOCKS * BLOCK_BYTES;
    // SAFETY: the caller's word.
    unsafe {
        let mut texts = [V::zero(); GROUP];
        let mut own = [V::zero(); N];
        own.copy_from_slice(&blocks[..N]);
        let blocks = rounds.begin(own);
        if let Some(waiting) = waiting {
            hash.add_group(&waiting);
        }
        let stream = rounds.end(blocks);
        let mut index = 0;
        while index < N {
            let at = index * register_bytes;
            let (from, to) = (from.add(at), to.add(at));
            let is_whole = index + 1 < N;
            let part = if is_whole { register_bytes } else { bytes - at };
            let text = if is_whole {
                V::load(from)
            } else {
                V::load_bytes(from, part)
            };
            let output = text.xor(stream[index]);
            if is_whole {
                output.store(to);
            } else {
                output.store_bytes(to, part);
            }
            texts[index] = match (SEAL, is_whole) {
                (true, true) => output,
                (true, false) => output.first_bytes(part),
                (false, _) => text,
            };
            index += 1;
        }
        texts
    }
}

impl Message {
    #[inline(always)]
    pub(in crate::kernels) fn begin(iv: &[u8; BLOCK_BYTES]) -> Self {
        Self {
            hash: [0; BLOCK_BYTES],
            counter: next_of(&first_counter(iv)).to_le_bytes(),
            aad_bytes: 0,
            text_bytes: 0,
        }
    }
}

/// The counter of a message's first block of text.
#[inline(always)]
fn next_of(first: &Block) -> u128 {
    u128::from_be_bytes(*first) + 1
}

/// The block that is hashed last, byte-reversed.
#[inline(always)]
fn lengths(aad_bytes: u64, text_bytes: u64) -> Block {
    let bits = u128::from(aad_bytes * 8) << 64 | u128::from(text_bytes * 8);
    bits.to_le_bytes()
}

#[inline(always)]
fn tag(hash: &Block, mask: &Block) -> Block {
    let hash = u128::from_le_bytes(*hash).to_be();
    (hash ^ u128::from_ne_bytes(*mask)).to_ne_bytes()
}

impl Zeroize for Message {
    fn zeroize(&mut self) {
        self.hash.zeroize();
    }
}
