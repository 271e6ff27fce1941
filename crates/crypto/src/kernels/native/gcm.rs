//! Galois/counter mode (SP 800-38D): counters are encrypted in groups of four registers,
//! and a group's ciphertext is hashed while the next is encrypted. Nothing of a message
//! waits for another, so that the CPU begins with the next before the last has its tag.

use std::arch::x86_64::__m128i;

use zeroize::Zeroize;

use super::NativeKeys;
use super::blocks::{Blocks, one_round, schedule};
use super::ghash::{Factor, Powers, Sum};
use super::lanes::{Block, Lanes};
use super::parallel::numbers;
use super::round_keys::ROUNDS_MAX;
use crate::kernels::soft::is_equal;
use crate::{Segment, Status};

const BLOCK_BYTES: usize = 16;
/// Registers of a group.
const GROUP: usize = 4;
/// The first counter is that of the tag's mask; texts begin with the next.
const FIRST_COUNTER: u32 = 1;

/// What a key gives: round keys, and powers of the hash key.
#[derive(Clone, Copy)]
pub(in crate::kernels) struct Keys {
    schedule: *const Block,
    /// Behind the first power; the others are before it.
    powers_end: *const u8,
    /// Powers that there are: a group's at least, or as many as a message has blocks.
    powers: usize,
}

impl Keys {
    #[inline(always)]
    pub(super) fn new(schedule: *const Block, powers: &Powers) -> Self {
        Self {
            schedule,
            powers_end: powers.end(),
            powers: powers.count(),
        }
    }

    /// With the first four powers alone: for [`Self::with`].
    #[inline(always)]
    pub(super) fn of_first(schedule: *const Block, powers: *const [Block; 4]) -> Self {
        Self {
            schedule,
            powers_end: powers.wrapping_add(1).cast(),
            powers: 4,
        }
    }

    #[inline(always)]
    pub(super) fn first_powers(self) -> *const [Block; 4] {
        self.powers_end.cast::<[Block; 4]>().wrapping_sub(1)
    }

    #[inline(always)]
    pub(super) fn with(self, powers: &Powers) -> Self {
        Self::new(self.schedule, powers)
    }

    #[inline(always)]
    pub(super) fn is_of(self, other: Self) -> bool {
        self.schedule == other.schedule
    }

    /// Where the powers of `blocks` blocks begin.
    #[inline(always)]
    fn powers_of(self, blocks: usize) -> *const u8 {
        self.powers_end.wrapping_sub(blocks * BLOCK_BYTES)
    }
}

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
/// Short messages that are done side by side.
const ABREAST: usize = 4;

/// Fills in the masks of [`TOGETHER`] messages at most.
///
/// # Safety
/// As for [`messages`].
#[inline(always)]
pub(super) unsafe fn masks<V: Lanes>(
    rounds: usize,
    units: &mut [Unit],
    masks: &mut Blocks<TOGETHER>,
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

/// Whether text and additional data of each fit a register, and they have one key.
#[inline(always)]
fn are_short<V: Lanes>(units: &[Unit; ABREAST]) -> bool {
    units.iter().all(|unit| {
        unit.bytes.max(unit.aad.len) <= V::BLOCKS * BLOCK_BYTES && unit.keys.is_of(units[0].keys)
    })
}

/// Messages of one register each: what one waits for, the others fill.
///
/// # Safety
/// As for [`messages`]; they [are short](are_short).
#[inline(always)]
unsafe fn abreast<V: Lanes, const SEAL: bool, const ROUNDS: usize>(units: &mut [Unit; ABREAST]) {
    let keys = units[0].keys;
    // SAFETY: the caller's word.
    unsafe {
        let rounds = Rounds::<V, ROUNDS>::load(keys);
        let mut given = [[0; BLOCK_BYTES]; ABREAST];
        let mut blocks = [V::zero(); ABREAST];
        let mut index = 0;
        while index < ABREAST {
            given[index] = units[index].given::<SEAL>();
            let first = first_counter(units[index].iv());
            blocks[index] = Counters::begin(rounds.0[0], next_of(&first)).next::<1>()[0];
            index += 1;
        }
        let stream = rounds.end(rounds.begin(blocks));
        let mut sums = [Sum::zero(); ABREAST];
        index = 0;
        while index < ABREAST {
            let unit = &units[index];
            let sum = &mut sums[index];
            let mut blocks = 1;
            if unit.bytes > 0 {
                let text = V::load_bytes(unit.source, unit.bytes);
                let output = text.xor(stream[index]);
                output.store_bytes(unit.destination, unit.bytes);
                let text = if SEAL {
                    output.first_bytes(unit.bytes)
                } else {
                    text
                };
                blocks += unit.bytes.div_ceil(BLOCK_BYTES);
                sum.add(text.reversed(), Factor::load(keys.powers_of(blocks)));
            }
            if unit.aad.len > 0 {
                let aad = V::load_bytes(unit.aad.address, unit.aad.len);
                blocks += unit.aad.len.div_ceil(BLOCK_BYTES);
                sum.add(aad.reversed(), Factor::load(keys.powers_of(blocks)));
            }
            let lengths = lengths(unit.aad.len as u64, unit.bytes as u64);
            sum.add(V::zero_but_first(&lengths), Factor::load(keys.powers_of(1)));
            index += 1;
        }
        let mut hashes = [[0; BLOCK_BYTES]; ABREAST];
        index = 0;
        // No closure: it would be compiled without the instructions.
        while index < ABREAST {
            hashes[index] = sums[index].reduced().added().first_block();
            index += 1;
        }
        index = 0;
        while index < ABREAST {
            let tag = tag(&hashes[index], &units[index].mask);
            units[index].end::<SEAL>(&given[index], &tag);
            index += 1;
        }
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
                own.pass(0);
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
