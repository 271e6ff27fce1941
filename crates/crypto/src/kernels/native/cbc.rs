//! AES-CBC and AES-PCBC encryption of many messages side by side: each block of a message
//! waits for the one before, so every lane of every register is a message of
//! its own, and a lane whose message ends takes the next one.

use std::ops::Range;

use zeroize::Zeroize;

use super::blocks::one_round;
use super::lanes::Lanes;
use super::round_keys::RoundKeys;
use crate::kernels::key::KernelKey;
use crate::work::Unit;

/// Registers in flight: a round takes four cycles, and two begin in each.
const WIDE: usize = 8;
pub(in crate::kernels) const LANES: usize = 4 * WIDE;
const BLOCK_BYTES: usize = 16;
/// Round keys of AES-256.
const ROUND_KEYS: usize = 15;

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Row([u128; LANES]);

impl Row {
    const ZERO: Self = Self([0; LANES]);
}

/// What the lanes work on; `KEYS` is 0 when all have the same key. A lane without a message of its own does the same
/// as another, down to writing the same bytes: so no lane needs a mask.
struct Messages<'u, 'j, const KEYS: usize> {
    from: [*const u8; LANES],
    to: [*mut u8; LANES],
    blocks_left: [usize; LANES],
    chained: Row,
    /// Each lane's round keys, when they differ; wiped at the end.
    keys: [Row; KEYS],
    busy: usize,
    waiting: std::slice::Iter<'u, Unit<'j, KernelKey>>,
}

/// As many blocks of every lane as a register has, turned: each register
/// holds one block of as many messages.
struct Buffer<V, const N: usize> {
    text: [[V; N]; 4],
    cipher: [[V; N]; 4],
}

impl<V: Lanes, const N: usize> Buffer<V, N> {
    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    unsafe fn blank() -> Self {
        // SAFETY: the caller's.
        let rows = [[unsafe { V::zero() }; N]; 4];
        Self {
            text: rows,
            cipher: rows,
        }
    }
}

/// Encrypts messages of whole blocks; sorts them. What is chained is the block before,
/// or with `PLAIN` that and its text.
///
/// # Safety
/// The CPU has the instructions of `V`; sources are readable and destinations
/// writable, the same bytes or apart.
#[inline(always)]
pub(super) unsafe fn encrypt<V: Lanes, const PLAIN: bool>(units: &mut [Unit<'_, KernelKey>]) {
    let Some(first) = units.first() else { return };
    let (key, bytes) = (first.key, first.bytes);
    // Long ones first, so that the lanes run dry together.
    if units.iter().any(|unit| unit.bytes != bytes) {
        units.sort_unstable_by_key(|unit| std::cmp::Reverse(unit.bytes));
    }
    // SAFETY: forwarded from the caller.
    unsafe {
        if units.iter().all(|unit| std::ptr::eq(unit.key, key)) {
            all::<V, 0, PLAIN>(units, &key.native().data);
        } else {
            all::<V, ROUND_KEYS, PLAIN>(units, &key.native().data);
        }
    }
}

/// # Safety
/// As for [`encrypt`].
#[inline(always)]
unsafe fn all<V: Lanes, const KEYS: usize, const PLAIN: bool>(
    units: &[Unit<'_, KernelKey>],
    keys: &RoundKeys,
) {
    let mut messages = Messages::<KEYS> {
        from: [std::ptr::null(); LANES],
        to: [std::ptr::null_mut(); LANES],
        blocks_left: [0; LANES],
        chained: Row::ZERO,
        keys: [Row::ZERO; KEYS],
        busy: 0,
        waiting: units.iter(),
    };
    messages.take::<V>();
    while messages.busy > 0 {
        // SAFETY: forwarded from the caller.
        unsafe {
            match messages.busy.div_ceil(V::BLOCKS) {
                0 | 1 => messages.advance::<V, 1, PLAIN>(keys),
                2 => messages.advance::<V, 2, PLAIN>(keys),
                3 | 4 => messages.advance::<V, 4, PLAIN>(keys),
                _ => messages.advance::<V, 8, PLAIN>(keys),
            }
        }
        messages.take::<V>();
    }
    for row in &mut messages.keys {
        row.0.zeroize();
    }
}

/// What the next blocks wait for.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn passed_on<V: Lanes, const N: usize, const PLAIN: bool>(
    mut cipher: [V; N],
    text: &[V; N],
) -> [V; N] {
    let mut index = 0;
    while PLAIN && index < N {
        // SAFETY: the caller's word.
        cipher[index] = unsafe { cipher[index].xor(text[index]) };
        index += 1;
    }
    cipher
}

impl<const KEYS: usize> Messages<'_, '_, KEYS> {
    /// Closes gaps and takes messages that wait into the lanes that are free.
    #[inline(always)]
    fn take<V: Lanes>(&mut self) {
        let mut lane = 0;
        while lane < self.busy {
            if self.blocks_left[lane] > 0 {
                lane += 1;
            } else if !self.take_one(lane) {
                self.busy -= 1;
                self.copy(self.busy, lane);
            }
        }
        while self.busy < WIDE * V::BLOCKS && self.take_one(self.busy) {
            self.busy += 1;
        }
    }

    /// The next message that has blocks, into `lane`; whether there is one.
    #[inline(always)]
    fn take_one(&mut self, lane: usize) -> bool {
        let Some(unit) = self.waiting.find(|unit| unit.bytes > 0) else {
            return false;
        };
        self.from[lane] = unit.source;
        self.to[lane] = unit.destination;
        self.blocks_left[lane] = unit.bytes / BLOCK_BYTES;
        self.chained.0[lane] = u128::from_ne_bytes(*unit.iv);
        if KEYS > 0 {
            let schedule = &unit.key.native().data.encrypting;
            for (row, key) in self.keys.iter_mut().zip(schedule) {
                row.0[lane] = u128::from_ne_bytes(*key);
            }
        }
        true
    }

    /// Has lane `to` do what lane `from` does.
    #[inline(always)]
    fn copy(&mut self, from: usize, to: usize) {
        self.from[to] = self.from[from];
        self.to[to] = self.to[from];
        self.blocks_left[to] = self.blocks_left[from];
        self.chained.0[to] = self.chained.0[from];
        if KEYS > 0 {
            self.keys.iter_mut().for_each(|row| row.0[to] = row.0[from]);
        }
    }

    /// As many blocks of every lane as the shortest message has left.
    ///
    /// # Safety
    /// As for [`encrypt`]; `N` registers have room for all busy lanes.
    #[inline(always)]
    unsafe fn advance<V: Lanes, const N: usize, const PLAIN: bool>(&mut self, keys: &RoundKeys) {
        for lane in self.busy..N * V::BLOCKS {
            self.copy(0, lane);
        }
        let lanes = N * V::BLOCKS;
        let least = self.blocks_left[..lanes].iter().min();
        let blocks = least.copied().unwrap_or(0);
        // SAFETY: forwarded; every lane has this many blocks.
        unsafe { self.run::<V, N, PLAIN>(keys, blocks) };
        for lane in 0..lanes {
            self.from[lane] = self.from[lane].wrapping_add(blocks * BLOCK_BYTES);
            self.to[lane] = self.to[lane].wrapping_add(blocks * BLOCK_BYTES);
            self.blocks_left[lane] -= blocks;
        }
    }

    /// `blocks` of every lane.
    ///
    /// # Safety
    /// As for [`Self::advance`].
    #[inline(always)]
    unsafe fn run<V: Lanes, const N: usize, const PLAIN: bool>(
        &mut self,
        keys: &RoundKeys,
        blocks: usize,
    ) {
        let bytes = V::BLOCKS * BLOCK_BYTES;
        let chained = self.chained.0.as_mut_ptr().cast::<u8>();
        let whole = blocks / V::BLOCKS * V::BLOCKS;
        // SAFETY: the caller's word; turns alternate between two buffers.
        unsafe {
            let mut buffers = [Buffer::<V, N>::blank(), Buffer::blank()];
            let mut state = [V::zero(); N];
            let mut index = 0;
            while index < N {
                state[index] = V::load(chained.add(index * bytes));
                index += 1;
            }
            if whole > 0 {
                self.read(&mut buffers[0], 0..N, 0, V::BLOCKS);
                let mut turn = 0;
                while turn * V::BLOCKS < whole {
                    let [even, odd] = &mut buffers;
                    state = if turn % 2 == 0 {
                        self.turn::<V, N, PLAIN>(keys, state, even, odd, turn * V::BLOCKS, whole)
                    } else {
                        self.turn::<V, N, PLAIN>(keys, state, odd, even, turn * V::BLOCKS, whole)
                    };
                    turn += 1;
                }
                self.write(&buffers[(turn - 1) % 2], 0..N, whole - V::BLOCKS, V::BLOCKS);
            }
            if blocks > whole {
                let count = blocks - whole;
                self.read(&mut buffers[0], 0..N, whole, count);
                let mut row = 0;
                while row < count {
                    state = self.block(keys, state, &buffers[0].text[row]);
                    buffers[0].cipher[row] = state;
                    state = passed_on::<V, N, PLAIN>(state, &buffers[0].text[row]);
                    row += 1;
                }
                self.write(&buffers[0], 0..N, whole, count);
            }
            let mut index = 0;
            while index < N {
                state[index].store(chained.add(index * bytes));
                index += 1;
            }
            for buffer in &mut buffers {
                buffer.text = Buffer::<V, N>::blank().text;
            }
            zeroize::optimization_barrier(&buffers);
        }
    }

    /// The blocks of `now`, which come `done` blocks from the start; between
    /// them a part each of reading the next blocks into `other` and of
    /// writing those that `other` holds.
    ///
    /// # Safety
    /// As for [`Self::advance`].
    #[inline(always)]
    unsafe fn turn<V: Lanes, const N: usize, const PLAIN: bool>(
        &self,
        keys: &RoundKeys,
        mut state: [V; N],
        now: &mut Buffer<V, N>,
        other: &mut Buffer<V, N>,
        done: usize,
        whole: usize,
    ) -> [V; N] {
        let mut row = 0;
        while row < V::BLOCKS {
            let part = row * N / V::BLOCKS..(row + 1) * N / V::BLOCKS;
            // SAFETY: the caller's word.
            unsafe {
                if done + V::BLOCKS < whole {
                    self.read(other, part.clone(), done + V::BLOCKS, V::BLOCKS);
                }
                if done > 0 {
                    self.write(other, part, done - V::BLOCKS, V::BLOCKS);
                }
                state = self.block(keys, state, &now.text[row]);
            }
            now.cipher[row] = state;
            // SAFETY: the caller's word.
            state = unsafe { passed_on::<V, N, PLAIN>(state, &now.text[row]) };
            row += 1;
        }
        state
    }

    /// Reads `count` blocks of each lane of the registers `part`.
    ///
    /// # Safety
    /// As for [`Self::advance`].
    #[inline(always)]
    unsafe fn read<V: Lanes, const N: usize>(
        &self,
        buffer: &mut Buffer<V, N>,
        part: Range<usize>,
        at: usize,
        count: usize,
    ) {
        let to = buffer.text.as_mut_ptr().cast::<V>();
        let mut index = part.start;
        while index < part.end {
            // SAFETY: the caller's word.
            unsafe {
                let from = self.from.as_ptr().add(index * V::BLOCKS);
                V::gather(from, at * BLOCK_BYTES, count, to.add(index), N);
            }
            index += 1;
        }
    }

    /// Writes `count` blocks of each lane of the registers `part`.
    ///
    /// # Safety
    /// As for [`Self::advance`].
    #[inline(always)]
    unsafe fn write<V: Lanes, const N: usize>(
        &self,
        buffer: &Buffer<V, N>,
        part: Range<usize>,
        at: usize,
        count: usize,
    ) {
        let from = buffer.cipher.as_ptr().cast::<V>();
        let mut index = part.start;
        while index < part.end {
            // SAFETY: the caller's word.
            unsafe {
                let to = self.to.as_ptr().add(index * V::BLOCKS);
                V::scatter(from.add(index), N, to, at * BLOCK_BYTES, count);
            }
            index += 1;
        }
    }

    /// One block of each lane.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    unsafe fn block<V: Lanes, const N: usize>(
        &self,
        keys: &RoundKeys,
        mut state: [V; N],
        text: &[V; N],
    ) -> [V; N] {
        // SAFETY: the caller's word.
        unsafe {
            let mut index = 0;
            while index < N {
                let key = self.key::<V>(keys, 0, index);
                state[index] = text[index].xor3(key, state[index]);
                index += 1;
            }
            let mut round = 1;
            while round < keys.rounds {
                if KEYS > 0 {
                    let mut index = 0;
                    while index < N {
                        let key = self.key::<V>(keys, round, index);
                        state[index] = state[index].encrypt_round(key);
                        index += 1;
                    }
                } else {
                    state = one_round::<V, N, true>(state, self.key(keys, round, 0));
                }
                round += 1;
            }
            let mut index = 0;
            while index < N {
                let key = self.key::<V>(keys, keys.rounds, index);
                state[index] = state[index].encrypt_last_round(key);
                index += 1;
            }
        }
        state
    }

    /// The key of `round` for register `index`.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`; there is such a round.
    #[inline(always)]
    unsafe fn key<V: Lanes>(&self, keys: &RoundKeys, round: usize, index: usize) -> V {
        // SAFETY: the caller's word.
        unsafe {
            if KEYS > 0 {
                let row = self.keys.as_ptr().add(round).cast::<u8>();
                V::load(row.add(index * V::BLOCKS * BLOCK_BYTES))
            } else {
                V::broadcast(keys.encrypting.as_ptr().add(round))
            }
        }
    }
}
