//! Galois/counter mode (SP 800-38D): counters are encrypted in groups of four registers,
//! and a group's ciphertext is hashed while the next is encrypted. Nothing of a message
//! waits for another, so that the CPU begins with the next before the last has its tag.

use std::arch::x86_64::__m128i;
use std::ptr;

use zeroize::Zeroize;

use super::NativeKeys;
use super::blocks::{each, one_round, schedule};
use super::ghash::{Factor, POWERS, Sum};
use super::lanes::{Block, Lanes};
use super::parallel::numbers;
use super::round_keys::ROUNDS_MAX;
use crate::{Segment, Status};

const BLOCK_BYTES: usize = 16;
const IV_BYTES: usize = 12;
/// Registers of a group.
const GROUP: usize = 4;
/// The first counter is that of the tag's mask; texts begin with the next.
const FIRST_COUNTER: u32 = 1;

/// What a key gives: round keys, and powers of the hash key.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    schedule: *const Block,
    /// Behind the first power; the others are before it.
    powers_end: *const u8,
    /// Powers that there are, a group's and five at least.
    powers: usize,
}

impl Keys {
    #[inline(always)]
    pub(super) fn new(keys: &NativeKeys) -> Self {
        Self {
            schedule: schedule::<true>(&keys.data),
            powers_end: keys.powers().end(),
            powers: POWERS,
        }
    }

    /// Where the powers of `blocks` blocks begin.
    #[inline(always)]
    fn powers_of(self, blocks: usize) -> *const u8 {
        self.powers_end.wrapping_sub(blocks * BLOCK_BYTES)
    }
}

/// A message whose bytes are in one piece on each side, and how it ends.
pub(in crate::kernels) struct Unit<'j, 's> {
    pub keys: &'j NativeKeys,
    pub iv: &'j [u8; 16],
    pub aad: Segment,
    pub source: *const u8,
    pub destination: *mut u8,
    pub bytes: usize,
    /// Written by seal, read by open.
    pub tag: *mut Block,
    pub status: &'s mut Status,
}

/// Messages whose tags' masks are encrypted together.
const TOGETHER: usize = 32;

/// Seals or opens messages.
///
/// # Safety
/// The CPU has the instructions of `V`; keys have so many rounds; the units passed the checks; additional data and
/// sources are readable, destinations writable, the same or apart.
#[inline(always)]
pub(super) unsafe fn messages<V: Lanes, const SEAL: bool, const ROUNDS: usize>(
    units: &mut [Unit<'_, '_>],
) {
    for units in units.chunks_mut(TOGETHER) {
        let mut masks = [[0; BLOCK_BYTES]; TOGETHER];
        let mut schedules = [ptr::null(); TOGETHER];
        for (index, unit) in units.iter().enumerate() {
            masks[index] = first_counter(unit.iv);
            schedules[index] = schedule::<true>(&unit.keys.data);
        }
        // SAFETY: the caller's word.
        unsafe { each::<V>(&schedules[..units.len()], ROUNDS, &mut masks) };
        for (unit, mask) in units.iter_mut().zip(&masks) {
            // SAFETY: as above; a tag is read once, and before the text is: who changes
            // it later changes nothing.
            unsafe {
                let keys = Keys::new(unit.keys);
                let (from, to, bytes) = (unit.source, unit.destination, unit.bytes);
                let given = if SEAL {
                    [0; BLOCK_BYTES]
                } else {
                    unit.tag.read_unaligned()
                };
                let mut message = Message::begin(unit.iv);
                go_on::<V, SEAL, true, ROUNDS>(keys, &mut message, unit.aad, from, to, bytes);
                let tag = message.tag(mask);
                if SEAL {
                    unit.tag.write_unaligned(tag);
                } else if !is_equal(&tag, &given) {
                    to.write_bytes(0, bytes);
                    *unit.status = Status::AuthenticationFailed;
                }
            }
        }
    }
}

/// All of both is compared, whatever differs first.
#[inline(always)]
pub(in crate::kernels) fn is_equal(tag: &Block, given: &Block) -> bool {
    let differing = u128::from_ne_bytes(*tag) ^ u128::from_ne_bytes(*given);
    std::hint::black_box(differing) == 0
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
fn first_counter(iv: &[u8; BLOCK_BYTES]) -> Block {
    let mut first = *iv;
    first[IV_BYTES..].copy_from_slice(&FIRST_COUNTER.to_be_bytes());
    first
}

/// What hides the tag of a message.
///
/// # Safety
/// As for [`messages`].
#[inline(always)]
pub(super) unsafe fn mask(keys: &NativeKeys, iv: &[u8; BLOCK_BYTES]) -> Block {
    let mut mask = [first_counter(iv)];
    // SAFETY: the caller's.
    unsafe { each::<__m128i>(&[schedule::<true>(&keys.data)], keys.data.rounds, &mut mask) };
    mask[0]
}

/// A hash on its way: sums of products with the powers of a chunk, so many blocks that
/// there are powers for.
struct Hash<V> {
    keys: Keys,
    sum: Sum<V>,
    /// What was hashed before, for the next register.
    before: V,
    /// Of the next block.
    power: *const u8,
    /// Of the chunk.
    blocks_left: usize,
    /// Behind the chunk.
    blocks_after: usize,
}

impl<V: Lanes> Hash<V> {
    /// Begins with `aad`, `blocks` follow it, in groups but for the last few.
    ///
    /// # Safety
    /// As for [`messages`].
    #[inline(always)]
    unsafe fn begin(keys: Keys, before: V, aad: Segment, blocks: usize) -> Self {
        // SAFETY: the caller's word.
        unsafe {
            let mut own = Self {
                keys,
                sum: Sum::zero(),
                before,
                power: keys.powers_end,
                blocks_left: 0,
                blocks_after: 0,
            };
            let (mut from, mut left) = (aad.address, aad.len);
            while left > V::BLOCKS * BLOCK_BYTES {
                own.chunk(V::BLOCKS, 0);
                own.add(V::load(from));
                own.end();
                from = from.add(V::BLOCKS * BLOCK_BYTES);
                left -= V::BLOCKS * BLOCK_BYTES;
            }
            own.chunk(left.div_ceil(BLOCK_BYTES), blocks);
            if left > 0 {
                own.add(V::load_bytes(from, left));
                own.power = keys.powers_of(own.blocks_left);
            }
            own
        }
    }

    /// Begins a chunk of `first` blocks and as many of `blocks` as there are powers for.
    #[inline(always)]
    fn chunk(&mut self, first: usize, blocks: usize) {
        let group = GROUP * V::BLOCKS;
        let whole = (self.keys.powers - first) / group * group;
        self.blocks_left = if first + blocks <= self.keys.powers {
            blocks
        } else {
            whole
        };
        self.blocks_after = blocks - self.blocks_left;
        self.power = self.keys.powers_of(first + self.blocks_left);
    }

    /// Adds a register of ciphertext.
    ///
    /// # Safety
    /// As for [`messages`].
    #[inline(always)]
    unsafe fn add(&mut self, text: V) {
        // SAFETY: the caller's word; behind the powers there is something to read.
        unsafe {
            let block = text.reversed().xor(self.before);
            self.sum.add(block, Factor::load(self.power));
            self.before = V::zero();
            self.power = self.power.add(V::BLOCKS * BLOCK_BYTES);
        }
    }

    /// Adds a group.
    ///
    /// # Safety
    /// As for [`messages`].
    #[inline(always)]
    unsafe fn add_group(&mut self, texts: &[V; GROUP]) {
        let mut index = 0;
        while index < GROUP {
            // SAFETY: the caller's.
            unsafe { self.add(texts[index]) };
            index += 1;
        }
        // SAFETY: the caller's.
        unsafe { self.pass(GROUP) };
    }

    /// As many registers were added, with which a chunk may end.
    ///
    /// # Safety
    /// As for [`messages`].
    #[inline(always)]
    unsafe fn pass(&mut self, registers: usize) {
        self.blocks_left = self.blocks_left.saturating_sub(registers * V::BLOCKS);
        if self.blocks_left == 0 && self.blocks_after > 0 {
            // SAFETY: the caller's.
            unsafe { self.end() };
            self.chunk(0, self.blocks_after);
        }
    }

    /// Ends a chunk: its hash is before the next.
    ///
    /// # Safety
    /// As for [`messages`].
    #[inline(always)]
    unsafe fn end(&mut self) {
        // SAFETY: the caller's.
        unsafe {
            self.before = self.sum.reduced().added();
            self.sum = Sum::zero();
        }
    }
}

/// Counters in blocks of 256, within which they differ from a first by xor alone.
struct Counters<V> {
    /// Of the first, its last byte zero.
    first: u128,
    /// The first round key.
    key: V,
    /// The first counter as a block, xored with it.
    whitened: V,
    /// Of the next.
    offset: usize,
}

/// Numbers of one byte as counters have them, behind two that no message begins with:
/// registers of those that follow are aligned.
#[repr(C, align(64))]
struct Offsets([Block; 2], [Block; 256]);

static OFFSETS: Offsets = {
    let mut offsets = [[0; BLOCK_BYTES]; 256];
    let mut index = 0;
    while index < offsets.len() {
        offsets[index][BLOCK_BYTES - 1] = index as u8;
        index += 1;
    }
    Offsets([[0; BLOCK_BYTES]; 2], offsets)
};

impl<V: Lanes> Counters<V> {
    /// # Safety
    /// As for [`messages`].
    #[inline(always)]
    unsafe fn begin(key: V, next: u128) -> Self {
        let mut own = Self {
            first: next & !0xff,
            key,
            whitened: key,
            offset: next as usize & 0xff,
        };
        // SAFETY: the caller's.
        unsafe { own.whiten() };
        own
    }

    /// # Safety
    /// As for [`messages`].
    #[inline(always)]
    unsafe fn whiten(&mut self) {
        // SAFETY: the caller's.
        unsafe {
            self.whitened = V::broadcast(&self.first.to_be_bytes()).xor(self.key);
        }
    }

    /// The next `N` registers, whitened.
    ///
    /// # Safety
    /// As for [`messages`].
    #[inline(always)]
    unsafe fn next<const N: usize>(&mut self) -> [V; N] {
        // SAFETY: the caller's; within the offsets.
        unsafe {
            let mut blocks = [V::zero(); N];
            if self.offset + N * V::BLOCKS <= 256 {
                let from = OFFSETS.1[self.offset..].as_ptr().cast::<u8>();
                let mut index = 0;
                while index < N {
                    let offsets = V::load(from.add(index * V::BLOCKS * BLOCK_BYTES));
                    blocks[index] = self.whitened.xor(offsets);
                    index += 1;
                }
                self.offset += N * V::BLOCKS;
                return blocks;
            }
            let counter = V::broadcast(&(self.first + self.offset as u128).to_le_bytes());
            let mut index = 0;
            while index < N {
                let number = V::load(numbers().add(index * V::BLOCKS * BLOCK_BYTES));
                blocks[index] = counter.add_halves(number).reversed().xor(self.key);
                index += 1;
            }
            self.offset = self.offset + N * V::BLOCKS - 256;
            self.first += 256;
            self.whiten();
            blocks
        }
    }
}

/// Round keys in registers: to broadcast them takes as long as a round.
#[derive(Clone, Copy)]
struct Rounds<V, const ROUNDS: usize>([V; ROUNDS_MAX + 1]);

impl<V: Lanes, const ROUNDS: usize> Rounds<V, ROUNDS> {
    /// # Safety
    /// As for [`messages`]; the key has so many rounds.
    #[inline(always)]
    unsafe fn load(keys: Keys) -> Self {
        // SAFETY: the caller's: a schedule has one key more than rounds.
        unsafe {
            let mut own = [V::zero(); ROUNDS_MAX + 1];
            let mut round = 0;
            while round <= ROUNDS {
                own[round] = V::broadcast(keys.schedule.add(round));
                round += 1;
            }
            Self(own)
        }
    }

    /// All rounds but the last.
    ///
    /// # Safety
    /// As for [`messages`].
    #[inline(always)]
    unsafe fn begin<const N: usize>(&self, mut blocks: [V; N]) -> [V; N] {
        let mut round = 1;
        while round < ROUNDS {
            // SAFETY: the caller's.
            blocks = unsafe { one_round::<V, N, true>(blocks, self.0[round]) };
            round += 1;
        }
        blocks
    }

    /// # Safety
    /// As for [`messages`].
    #[inline(always)]
    unsafe fn end<const N: usize>(&self, mut blocks: [V; N]) -> [V; N] {
        let mut index = 0;
        while index < N {
            // SAFETY: the caller's.
            blocks[index] = unsafe { blocks[index].encrypt_last_round(self.0[ROUNDS]) };
            index += 1;
        }
        blocks
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
    mut from: *const u8,
    mut to: *mut u8,
    bytes: usize,
) {
    let group_bytes = GROUP * V::BLOCKS * BLOCK_BYTES;
    let blocks = bytes.div_ceil(BLOCK_BYTES);
    if !IS_LAST && aad.len == 0 && bytes == 0 {
        return;
    }
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
        if left >= group_bytes {
            let stream = rounds.end(rounds.begin(counters.next::<GROUP>()));
            let mut waiting = group::<V, SEAL>(stream, from, to);
            left -= group_bytes;
            while left >= group_bytes {
                from = from.add(group_bytes);
                to = to.add(group_bytes);
                let blocks = rounds.begin(counters.next::<GROUP>());
                // Products are long, and soon hide behind the rounds of the next group;
                // the compiler would begin with them.
                let [blocks, texts] = after(blocks, waiting);
                hash.add_group(&texts);
                let stream = rounds.end(blocks);
                waiting = group::<V, SEAL>(stream, from, to);
                left -= group_bytes;
            }
            hash.add_group(&waiting);
            from = from.add(group_bytes);
            to = to.add(group_bytes);
        }
        let (hash, rounds, counters) = (&mut hash, &rounds, &mut counters);
        match left.div_ceil(V::BLOCKS * BLOCK_BYTES) {
            0 => {}
            1 => rest::<V, 1, SEAL, ROUNDS>(hash, rounds, counters, from, to, left),
            2 => rest::<V, 2, SEAL, ROUNDS>(hash, rounds, counters, from, to, left),
            3 => rest::<V, 3, SEAL, ROUNDS>(hash, rounds, counters, from, to, left),
            _ => rest::<V, 4, SEAL, ROUNDS>(hash, rounds, counters, from, to, left),
        }
        if IS_LAST {
            let lengths = V::zero_but_first(&message.lengths()).xor(hash.before);
            hash.sum.add(lengths, Factor::load(keys.powers_of(1)));
        }
        hash.end();
        message.hash = hash.before.first_block();
    }
    if !IS_LAST {
        let counter = u128::from_le_bytes(message.counter) + blocks as u128;
        message.counter = counter.to_le_bytes();
    }
}

/// Encrypts or decrypts the last `N` registers of a piece.
///
/// # Safety
/// As for [`messages`]; no byte beyond is touched.
#[inline(always)]
unsafe fn rest<V: Lanes, const N: usize, const SEAL: bool, const ROUNDS: usize>(
    hash: &mut Hash<V>,
    rounds: &Rounds<V, ROUNDS>,
    counters: &mut Counters<V>,
    from: *const u8,
    to: *mut u8,
    bytes: usize,
) {
    let register_bytes = V::BLOCKS * BLOCK_BYTES;
    // SAFETY: the caller's word.
    unsafe {
        let stream = rounds.end(rounds.begin(counters.next::<N>()));
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
            hash.add(match (SEAL, is_whole) {
                (true, true) => output,
                (true, false) => output.first_bytes(part),
                (false, _) => text,
            });
            index += 1;
        }
        hash.pass(N);
    }
}

impl Message {
    #[inline(always)]
    pub(in crate::kernels) fn begin(iv: &[u8; BLOCK_BYTES]) -> Self {
        Self {
            hash: [0; BLOCK_BYTES],
            counter: (u128::from_be_bytes(first_counter(iv)) + 1).to_le_bytes(),
            aad_bytes: 0,
            text_bytes: 0,
        }
    }

    /// The block that is hashed last, byte-reversed.
    #[inline(always)]
    fn lengths(&self) -> Block {
        let bits = u128::from(self.aad_bytes * 8) << 64 | u128::from(self.text_bytes * 8);
        bits.to_le_bytes()
    }

    /// The tag, when all is hashed.
    #[inline(always)]
    pub(super) fn tag(&self, mask: &Block) -> Block {
        let hash = u128::from_le_bytes(self.hash).to_be();
        (hash ^ u128::from_ne_bytes(*mask)).to_ne_bytes()
    }
}

impl Zeroize for Message {
    fn zeroize(&mut self) {
        self.hash.zeroize();
    }
}
