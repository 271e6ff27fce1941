//! AES-CBC encryption of many messages side by side: each block of a message
//! waits for the one before, so every lane of every register is a message of
//! its own, and a lane whose message ends takes the next one.

use super::blocks::one_round;
use super::lanes::{Block, Lanes};
use super::round_keys::RoundKeys;
use crate::kernels::key::KernelKey;
use crate::work::Unit;

/// Registers in flight: a round takes four cycles, and two begin in each.
const WIDE: usize = 8;
/// Messages in flight, at most.
pub(in crate::kernels) const LANES: usize = 4 * WIDE;
const BLOCK_BYTES: usize = 16;

/// Blocks of every lane.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Row([Block; LANES]);

impl Row {
    const ZERO: Self = Self([[0; BLOCK_BYTES]; LANES]);
}

/// What the lanes work on. A lane without a message of its own does the same
/// as another, down to writing the same bytes: so no lane needs a mask.
struct Messages<'u, 'j, const MIXED: bool> {
    from: [*const u8; LANES],
    to: [*mut u8; LANES],
    blocks_left: [usize; LANES],
    chained: Row,
    /// Each lane's round keys, when not all have the same.
    keys: [Row; 15],
    /// Lanes with messages of their own, which come first.
    busy: usize,
    waiting: std::slice::Iter<'u, Unit<'j, KernelKey>>,
}

/// Encrypts messages of whole blocks; sorts them.
///
/// # Safety
/// The CPU has the instructions of `V`; sources are readable and destinations
/// writable, the same bytes or apart.
#[inline(always)]
pub(super) unsafe fn encrypt<V: Lanes>(units: &mut [Unit<'_, KernelKey>]) {
    let Some(first) = units.first() else { return };
    let (key, bytes) = (first.key, first.bytes);
    // Long ones first, so that the lanes run dry together.
    if units.iter().any(|unit| unit.bytes != bytes) {
        units.sort_unstable_by_key(|unit| std::cmp::Reverse(unit.bytes));
    }
    // SAFETY: forwarded from the caller.
    unsafe {
        if units.iter().all(|unit| std::ptr::eq(unit.key, key)) {
            all::<V, false>(units, &key.native().data);
        } else {
            all::<V, true>(units, &key.native().data);
        }
    }
}

/// # Safety
/// As for [`encrypt`].
#[inline(always)]
unsafe fn all<V: Lanes, const MIXED: bool>(units: &[Unit<'_, KernelKey>], keys: &RoundKeys) {
    let mut messages = Messages::<MIXED> {
        from: [std::ptr::null(); LANES],
        to: [std::ptr::null_mut(); LANES],
        blocks_left: [0; LANES],
        chained: Row::ZERO,
        keys: [Row::ZERO; 15],
        busy: 0,
        waiting: units.iter(),
    };
    messages.take::<V>();
    while messages.busy > 0 {
        // SAFETY: forwarded from the caller.
        unsafe {
            match messages.busy.div_ceil(V::BLOCKS) {
                0 | 1 => messages.advance::<V, 1>(keys),
                2 => messages.advance::<V, 2>(keys),
                3 | 4 => messages.advance::<V, 4>(keys),
                _ => messages.advance::<V, 8>(keys),
            }
        }
        messages.take::<V>();
    }
}

impl<const MIXED: bool> Messages<'_, '_, MIXED> {
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
        self.chained.0[lane] = *unit.iv;
        if MIXED {
            let schedule = &unit.key.native().data.encrypting;
            for (row, key) in self.keys.iter_mut().zip(schedule) {
                row.0[lane] = *key;
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
        if MIXED {
            self.keys.iter_mut().for_each(|row| row.0[to] = row.0[from]);
        }
    }

    /// As many blocks of every lane as the shortest message has left.
    ///
    /// # Safety
    /// As for [`encrypt`]; `N` registers have room for all busy lanes.
    #[inline(always)]
    unsafe fn advance<V: Lanes, const N: usize>(&mut self, keys: &RoundKeys) {
        for lane in self.busy..N * V::BLOCKS {
            self.copy(0, lane);
        }
        let lanes = N * V::BLOCKS;
        let least = self.blocks_left[..lanes].iter().min();
        let blocks = least.copied().unwrap_or(0);
        // SAFETY: forwarded; every lane has so many blocks.
        unsafe { self.run::<V, N>(keys, blocks) };
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
    unsafe fn run<V: Lanes, const N: usize>(&mut self, keys: &RoundKeys, blocks: usize) {
        let bytes = V::BLOCKS * BLOCK_BYTES;
        let chained = self.chained.0.as_mut_ptr().cast::<u8>();
        // A register's blocks of one message, turned into registers of one
        // block of each message, and back.
        // SAFETY: the caller's word; `V::BLOCKS` is four at most.
        unsafe {
            let mut turned = [[V::zero(); N]; 4];
            let mut registers = [V::zero(); 4];
            let mut state = [V::zero(); N];
            let mut index = 0;
            while index < N {
                state[index] = V::load(chained.add(index * bytes));
                index += 1;
            }
            let mut done = 0;
            while done < blocks {
                let count = (blocks - done).min(V::BLOCKS);
                let mut index = 0;
                while index < N {
                    let from = self.from.as_ptr().add(index * V::BLOCKS);
                    V::gather(from, done * BLOCK_BYTES, count, registers.as_mut_ptr());
                    let mut row = 0;
                    while row < V::BLOCKS {
                        turned[row][index] = registers[row];
                        row += 1;
                    }
                    index += 1;
                }
                let mut row = 0;
                while row < count {
                    state = self.block::<V, N>(keys, state, &turned[row]);
                    turned[row] = state;
                    row += 1;
                }
                let mut index = 0;
                while index < N {
                    let to = self.to.as_ptr().add(index * V::BLOCKS);
                    let mut row = 0;
                    while row < V::BLOCKS {
                        registers[row] = turned[row][index];
                        row += 1;
                    }
                    V::scatter(registers.as_ptr(), to, done * BLOCK_BYTES, count);
                    index += 1;
                }
                done += count;
            }
            let mut index = 0;
            while index < N {
                state[index].store(chained.add(index * bytes));
                index += 1;
            }
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
                if MIXED {
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
            if MIXED {
                let row = self.keys.as_ptr().add(round).cast::<u8>();
                V::load(row.add(index * V::BLOCKS * BLOCK_BYTES))
            } else {
                V::broadcast(keys.encrypting.as_ptr().add(round))
            }
        }
    }
}
