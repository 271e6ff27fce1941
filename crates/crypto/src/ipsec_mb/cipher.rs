//! AES in ECB, CBC and counter mode, in bursts.

use super::key::IpsecKey;
use super::lane::Lane;
use super::layout::{self, BURST, ImbJob, Version, direction, order};
use crate::check::BLOCK_BYTES;
use crate::{Algorithm, Chaining, Kind, Operation, Segment, counter_after};

/// Most bytes of one job: the lanes count bytes in 16 bits, and at 65,536 say
/// "completed" over wrong text.
const PIECE_BYTES_MAX: usize = 65_520;
const _: () = assert!(PIECE_BYTES_MAX.is_multiple_of(BLOCK_BYTES) && PIECE_BYTES_MAX < 1 << 16);

pub(super) struct Batch<'l> {
    lane: &'l mut Lane,
    template: ImbJob,
    chaining: Chaining,
    by_ring: bool,
    count: usize,
    has_later: bool,
}

impl<'l> Batch<'l> {
    /// `None` when `kind` is not one of these.
    #[inline]
    pub(super) fn new(lane: &'l mut Lane, version: Version, kind: Kind) -> Option<Self> {
        use Algorithm as A;
        let (cipher, key_bytes) = match kind.algorithm {
            A::Aes128Ecb => (layout::cipher::ECB, 16),
            A::Aes192Ecb => (layout::cipher::ECB, 24),
            A::Aes256Ecb => (layout::cipher::ECB, 32),
            A::Aes128Cbc => (layout::cipher::CBC, 16),
            A::Aes192Cbc => (layout::cipher::CBC, 24),
            A::Aes256Cbc => (layout::cipher::CBC, 32),
            A::Aes128Ctr => (layout::cipher::CTR, 16),
            A::Aes192Ctr => (layout::cipher::CTR, 24),
            A::Aes256Ctr => (layout::cipher::CTR, 32),
            _ => return None,
        };
        let encrypts = kind.operation == Operation::Encrypt;
        let chaining = kind
            .chaining()
            .filter(|&chaining| chaining != Chaining::Kept)?;
        lane.begin(kind);
        Some(Self {
            lane,
            template: template(cipher, key_bytes, encrypts),
            chaining,
            by_ring: cipher == layout::cipher::ECB && !version.bursts_ecb(),
            count: 0,
            has_later: false,
        })
    }

    /// Takes a message in; a full burst runs at once.
    ///
    /// # Safety
    /// Key, IV and both segments, which are as long and not empty, stay valid
    /// until [`Self::run`] returned.
    #[inline]
    pub(super) unsafe fn push(
        &mut self,
        key: &IpsecKey,
        source: Segment,
        destination: Segment,
        iv: &[u8; 16],
    ) {
        let bytes = self.piece_bytes(source.len, iv);
        let job = self.lane.job(self.count, &self.template);
        job.enc_keys = key.encrypting().cast();
        job.dec_keys = key.decrypting().cast();
        job.source = source.address;
        job.destination = destination.address;
        job.iv = iv.as_ptr();
        job.cipher_bytes = bytes as u64;
        if bytes < source.len {
            // SAFETY: the piece is within the message.
            unsafe { self.put_off(source.len - bytes) };
        }
        self.count += 1;
        if self.count == BURST {
            // SAFETY: everything pushed is still valid, says the caller.
            unsafe { self.run() };
        }
    }

    /// Notes that the message pushed last has this many bytes more.
    ///
    /// # Safety
    /// Its source is readable.
    #[cold]
    unsafe fn put_off(&mut self, bytes: usize) {
        if !self.has_later {
            self.lane.later.iter_mut().for_each(|later| later.bytes = 0);
        }
        self.has_later = true;
        self.lane.later[self.count].bytes = bytes;
        // SAFETY: forwarded from the caller.
        unsafe { self.remember(self.count) };
    }

    #[inline]
    fn piece_bytes(&self, bytes: usize, iv: &[u8; 16]) -> usize {
        let most = match self.chaining {
            // The library counts in 32 bits and carries into nothing.
            Chaining::Counted => bytes_to_wrap(iv).min(PIECE_BYTES_MAX),
            _ => PIECE_BYTES_MAX,
        };
        bytes.min(most)
    }

    /// Keeps what the next piece begins with, where it would be lost: a
    /// message decrypted in place overwrites its ciphertext.
    ///
    /// # Safety
    /// The source of job `index` is readable.
    unsafe fn remember(&mut self, index: usize) {
        let job = *self.lane.job(index, &self.template);
        let block = &mut self.lane.later[index].block;
        let bytes = job.cipher_bytes as usize;
        match self.chaining {
            Chaining::Independent | Chaining::Written | Chaining::Kept | Chaining::Numbered => {}
            // SAFETY: a piece that has a successor is whole blocks, one at
            // least.
            Chaining::Read => unsafe { *block = last_block(job.source, job.cipher_bytes) },
            // SAFETY: the IV is a block, valid until the piece has run.
            Chaining::Counted => unsafe {
                *block = counter_after(job.iv.cast::<[u8; 16]>().read(), bytes);
            },
        }
    }

    /// Runs what was pushed, piece by piece, those of all messages in
    /// lockstep.
    ///
    /// # Safety
    /// What [`Self::push`] asked for still holds.
    #[inline]
    pub(super) unsafe fn run(&mut self) {
        while self.count > 0 {
            // SAFETY: every job was filled in by `push` or `follow`.
            unsafe {
                if self.by_ring {
                    self.lane.ring_burst(self.count);
                } else {
                    self.lane.cipher_burst(self.count, &self.template);
                }
            }
            let count = std::mem::take(&mut self.count);
            if std::mem::take(&mut self.has_later) && !self.lane.broken {
                // SAFETY: as above.
                unsafe { self.follow(count) };
            }
        }
    }

    /// Makes the next pieces the jobs of the next burst.
    ///
    /// # Safety
    /// As for [`Self::run`]; `count` jobs have run.
    unsafe fn follow(&mut self, count: usize) {
        for index in 0..count {
            let mut later = self.lane.later[index];
            if later.bytes == 0 {
                continue;
            }
            let done = *self.lane.job(index, &self.template);
            if self.chaining == Chaining::Written {
                // SAFETY: whole blocks were written there.
                later.block = unsafe { last_block(done.destination, done.cipher_bytes) };
            }
            let next = self.count;
            let bytes = self.piece_bytes(later.bytes, &later.block);
            // Apart from `later`, where the one after it is put before it is used.
            let iv = &mut self.lane.ivs[next];
            *iv = later.block;
            let iv = iv.as_ptr();
            let job = self.lane.job(next, &self.template);
            job.enc_keys = done.enc_keys;
            job.dec_keys = done.dec_keys;
            job.source = done.source.wrapping_add(done.cipher_bytes as usize);
            job.destination = done.destination.wrapping_add(done.cipher_bytes as usize);
            job.iv = iv;
            job.cipher_bytes = bytes as u64;
            self.lane.later[next].bytes = later.bytes - bytes;
            if later.bytes > bytes {
                self.has_later = true;
                // SAFETY: the rest of a message that is valid as a whole.
                unsafe { self.remember(next) };
            }
            self.count += 1;
        }
    }
}

fn template(cipher: u32, key_bytes: u64, encrypts: bool) -> ImbJob {
    ImbJob {
        key_bytes,
        iv_bytes: BLOCK_BYTES as u64,
        cipher,
        hash: layout::hash::NULL,
        // Counter mode has one direction.
        direction: if encrypts || cipher == layout::cipher::CTR {
            direction::ENCRYPT
        } else {
            direction::DECRYPT
        },
        order: if encrypts {
            order::CIPHER_HASH
        } else {
            order::HASH_CIPHER
        },
        ..ImbJob::EMPTY
    }
}

/// The last block of `bytes` bytes, of which there are 16 at least.
///
/// # Safety
/// `start` is readable for them.
unsafe fn last_block(start: *const u8, bytes: u64) -> [u8; 16] {
    let last = start.wrapping_add(bytes as usize - BLOCK_BYTES);
    // SAFETY: as the caller says; bytes have no alignment.
    unsafe { last.cast::<[u8; 16]>().read() }
}

/// Bytes until the low 32 bits of the counter are zero again.
#[inline]
fn bytes_to_wrap(iv: &[u8; 16]) -> usize {
    let [.., a, b, c, d] = *iv;
    let blocks = (1_u64 << 32) - u64::from(u32::from_be_bytes([a, b, c, d]));
    usize::try_from(blocks * BLOCK_BYTES as u64).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_wrap_where_they_should() {
        let mut iv = [0xff; 16];
        assert_eq!(bytes_to_wrap(&iv), 16);
        iv[12..].fill(0);
        assert_eq!(bytes_to_wrap(&iv), 1 << 36);
    }
}
