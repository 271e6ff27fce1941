//! The twin that needs no instructions: one block after the other, through
//! private memory. What the native code is tested against, and what a CPU
//! without AES runs.

use zeroize::Zeroize;

use super::Mode;
use super::soft_hash::SoftHash;
use crate::aws_lc::EcbKey;
use crate::check::BLOCK_BYTES;
use crate::scatter::{Cursor, wipe};
use crate::tweak::{chunk_bytes, times_x};
use crate::work::Work;
use crate::{Segment, Status};

type Block = [u8; BLOCK_BYTES];

/// Bytes that are gathered, computed and scattered at a time.
pub(super) const CHUNK_BYTES: usize = 4096;

/// AWS-LC's blocks, since a mask reaches them: `OPENSSL_ia32cap` hides AES
/// instructions that the CPU has.
struct Cipher(EcbKey);

impl Cipher {
    /// # Panics
    /// When AES has no key of that length.
    fn new(key: &[u8]) -> Self {
        Self(EcbKey::new(key).expect("AES has keys of 16, 24 and 32 bytes"))
    }

    fn encrypt(&self, block: &mut Block) {
        self.run(true, block);
    }

    fn decrypt(&self, block: &mut Block) {
        self.run(false, block);
    }

    fn run(&self, encrypt: bool, block: &mut Block) {
        self.all(encrypt, block);
    }

    /// Whole blocks, each alone.
    fn all(&self, encrypt: bool, blocks: &mut [u8]) {
        let at = blocks.as_mut_ptr();
        // SAFETY: the slice is ours, and source and destination the same bytes.
        unsafe { self.0.blocks(encrypt, at, at, blocks.len()) };
    }
}

pub(super) struct SoftKeys {
    data: Cipher,
    tweak: Option<Cipher>,
}

impl SoftKeys {
    /// # Panics
    /// When AES has no key of that length.
    pub(super) fn new(is_xts: bool, key: &[u8]) -> Self {
        let (data, tweak) = key.split_at(if is_xts { key.len() / 2 } else { key.len() });
        Self {
            data: Cipher::new(data),
            tweak: is_xts.then(|| Cipher::new(tweak)),
        }
    }

    /// Of a data unit in XTS; without a key for it, of no use.
    pub(super) fn encrypted_tweak(&self, iv: &Block) -> u128 {
        let mut tweak = *iv;
        if let Some(cipher) = &self.tweak {
            cipher.encrypt(&mut tweak);
        }
        u128::from_le_bytes(tweak)
    }

    /// Encrypts or decrypts one message, or a data unit or piece of one with the
    /// encrypted `tweak`, which is that of the next piece afterwards.
    ///
    /// # Safety
    /// The source is readable and the destination writable, the same bytes in
    /// the same order or apart; `work` passed the checks for this key's algorithm.
    pub(super) unsafe fn run(
        &self,
        mode: Option<Mode>,
        encrypt: bool,
        work: &Work<'_>,
        tweak: &mut u128,
    ) -> Status {
        let mut iv = *work.iv;
        let run = |chunk: &mut [u8]| self.chunk(mode, encrypt, &mut iv, tweak, chunk);
        // SAFETY: forwarded from the caller.
        unsafe { by_chunks(work, run) };
        Status::Ok
    }

    /// A piece of a message; `iv` and `tweak` are those of the next afterwards.
    pub(super) fn chunk(
        &self,
        mode: Option<Mode>,
        encrypt: bool,
        iv: &mut Block,
        tweak: &mut u128,
        chunk: &mut [u8],
    ) {
        match mode {
            Some(Mode::Xts) => self.xts(encrypt, tweak, chunk),
            Some(Mode::Cbc) => self.cbc(encrypt, iv, chunk),
            Some(Mode::Ctr) => self.ctr(iv, chunk),
            _ => self.data.all(encrypt, chunk),
        }
    }

    /// Seals or opens a message in GCM; a wrong tag leaves zeros.
    ///
    /// # Safety
    /// As for [`Self::run`]; additional data and tag are readable, the latter writable to seal.
    pub(super) unsafe fn gcm(&self, seal: bool, work: &Work<'_>) -> Status {
        let mut key = [0; BLOCK_BYTES];
        self.data.encrypt(&mut key);
        let mut hash = SoftHash::new(&key);
        key.zeroize();
        let mut counter = *work.iv;
        counter[12..].copy_from_slice(&1_u32.to_be_bytes());
        let mut mask = counter;
        self.data.encrypt(&mut mask);
        counter[15] = 2;
        let tag = work.tag.address.cast::<Block>();
        let [aad, text] = [work.aad.len, work.source_bytes].map(|bytes| bytes as u128 * 8);
        let lengths = aad << 64 | text;
        // SAFETY: the caller's; a given tag is read before the text is.
        unsafe {
            let given = tag.read_unaligned();
            by_parts(work.aad, |part| hash.add(part));
            by_chunks(work, |chunk| {
                if !seal {
                    hash.add(chunk);
                }
                self.ctr(&mut counter, chunk);
                if seal {
                    hash.add(chunk);
                }
            });
            hash.add(&lengths.to_be_bytes());
            let mut own = hash.value();
            xor(&mut own, &mask);
            mask.zeroize();
            if seal {
                tag.write_unaligned(own);
            } else if !is_equal(&own, &given) {
                wipe(work.destination);
                return Status::AuthenticationFailed;
            }
        }
        Status::Ok
    }

    /// Whole blocks in PCBC.
    pub(super) fn pcbc(&self, encrypt: bool, mut chained: Block, text: &mut [u8]) {
        for block in text.as_chunks_mut().0 {
            let before = *block;
            if encrypt {
                xor(block, &chained);
                self.data.encrypt(block);
            } else {
                self.data.decrypt(block);
                xor(block, &chained);
            }
            chained = before;
            xor(&mut chained, block);
        }
    }

    /// Whole blocks, each xored with a mask before and after.
    pub(super) fn whitened(
        &self,
        encrypt: bool,
        masks: impl Iterator<Item = Block>,
        text: &mut [u8],
    ) {
        for (block, mask) in text.as_chunks_mut().0.iter_mut().zip(masks) {
            xor(block, &mask);
            self.data.run(encrypt, block);
            xor(block, &mask);
        }
    }

    fn cbc(&self, encrypt: bool, chained: &mut Block, chunk: &mut [u8]) {
        for block in chunk.as_chunks_mut().0 {
            let before = *block;
            if encrypt {
                xor(block, chained);
                self.data.encrypt(block);
                *chained = *block;
            } else {
                self.data.decrypt(block);
                xor(block, chained);
                *chained = before;
            }
        }
    }

    fn ctr(&self, counter: &mut Block, chunk: &mut [u8]) {
        for part in chunk.chunks_mut(BLOCK_BYTES) {
            let mut stream = *counter;
            self.data.encrypt(&mut stream);
            part.iter_mut()
                .zip(stream)
                .for_each(|(byte, other)| *byte ^= other);
            *counter = u128::from_be_bytes(*counter).wrapping_add(1).to_be_bytes();
        }
    }

    fn xts(&self, encrypt: bool, tweak: &mut u128, chunk: &mut [u8]) {
        let stolen = chunk.len() % BLOCK_BYTES;
        let whole = chunk.len() - stolen;
        let (blocks, rest) = chunk.split_at_mut(if stolen > 0 {
            whole - BLOCK_BYTES
        } else {
            whole
        });
        for block in blocks.as_chunks_mut().0 {
            self.xts_block(encrypt, *tweak, block);
            *tweak = times_x(*tweak, 1);
        }
        let Some((last, part)) = rest.split_first_chunk_mut::<BLOCK_BYTES>() else {
            return;
        };
        let next = times_x(*tweak, 1);
        let tweaks = if encrypt {
            [*tweak, next]
        } else {
            [next, *tweak]
        };
        self.xts_block(encrypt, tweaks[0], last);
        last[..stolen].swap_with_slice(part);
        self.xts_block(encrypt, tweaks[1], last);
    }

    fn xts_block(&self, encrypt: bool, tweak: u128, block: &mut Block) {
        let tweak = tweak.to_le_bytes();
        xor(block, &tweak);
        self.data.run(encrypt, block);
        xor(block, &tweak);
    }
}

fn xor(block: &mut Block, other: &Block) {
    *block = (u128::from_ne_bytes(*block) ^ u128::from_ne_bytes(*other)).to_ne_bytes();
}

/// Reads a segment in parts of whole blocks, but the last.
///
/// # Safety
/// The segment is readable.
unsafe fn by_parts(segment: Segment, mut run: impl FnMut(&[u8])) {
    let list = [segment];
    let mut private = [0; 16 * BLOCK_BYTES];
    let (mut cursor, mut left) = (Cursor::new(&list), segment.len);
    while left > 0 {
        let part = &mut private[..left.min(16 * BLOCK_BYTES)];
        // SAFETY: the caller's; `left` bytes are there.
        unsafe { cursor.gather(part.as_mut_ptr(), part.len()) };
        run(part);
        left -= part.len();
    }
}

/// All of both is compared, whatever differs first.
pub(super) fn is_equal(tag: &Block, given: &Block) -> bool {
    let differing = u128::from_ne_bytes(*tag) ^ u128::from_ne_bytes(*given);
    std::hint::black_box(differing) == 0
}

/// Takes a text through a bounded private buffer, which is wiped: all chunks
/// but the last are whole blocks, and the last has a block at least.
///
/// # Safety
/// As for [`SoftKeys::run`].
pub(super) unsafe fn by_chunks(work: &Work<'_>, mut run: impl FnMut(&mut [u8])) {
    let mut private = [0; CHUNK_BYTES];
    let mut source = Cursor::new(work.source);
    let mut destination = Cursor::new(work.destination);
    let mut left = work.source_bytes;
    while left > 0 {
        let chunk = &mut private[..chunk_bytes(left, CHUNK_BYTES)];
        // SAFETY: both lists hold `left` bytes more, by the caller's word.
        unsafe { source.gather(chunk.as_mut_ptr(), chunk.len()) };
        run(chunk);
        // SAFETY: as above.
        unsafe { destination.scatter(chunk.as_ptr(), chunk.len()) };
        left -= chunk.len();
    }
    private[..work.source_bytes.min(CHUNK_BYTES)].zeroize();
}
