//! A volume, and the process that writes or reads it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::thread;

use crypto::SectorMode;
use disk::{Iv, SectorCipher, Spec};
use kit::config::choices::Direction;
use rustix::fs::{MemfdFlags, Mode, OFlags};
use serde::{Deserialize, Serialize};
use sys::affinity::pin_to;
use sys::failure::{Failure, with_causes};

/// Read or written at a time: small beside L2, large beside a system call.
pub(super) const PIECE_BYTES: usize = 64 << 10;
/// Pieces of each of several threads, so that starting them does not matter.
const PIECES_A_THREAD: u64 = 128;
/// What O_DIRECT wants of addresses, on any disk.
const ALIGNMENT: usize = 4096;

kit::named!(Storage, "storage");

/// What a volume is kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Storage {
    /// A file in memory.
    Memory,
    /// A file in the temporary folder, past the page cache (O_DIRECT).
    File,
}

impl Storage {
    pub const ALL: [Self; 2] = [Self::Memory, Self::File];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::File => "file",
        }
    }

    fn open(self) -> io::Result<File> {
        if self == Self::Memory {
            return Ok(rustix::fs::memfd_create("lockgate-volume", MemfdFlags::CLOEXEC)?.into());
        }
        // Without a name, so that it is gone with this process.
        let flags = OFlags::TMPFILE | OFlags::DIRECT | OFlags::RDWR | OFlags::CLOEXEC;
        let own = Mode::RUSR | Mode::WUSR;
        Ok(rustix::fs::open(std::env::temp_dir(), flags, own)?.into())
    }
}

/// What a worker is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Work {
    pub storage: Storage,
    pub direction: Direction,
    /// The mode's name; none for a volume that is not encrypted.
    pub mode: Option<String>,
    pub key_bytes: usize,
    pub sector_bytes: usize,
    pub volume_bytes: u64,
}

impl Work {
    fn pieces(&self) -> u64 {
        self.volume_bytes / PIECE_BYTES as u64
    }
}

/// Answers the section that has started this process under a tier.
///
/// # Errors
/// From standard input and output.
pub fn serve() -> io::Result<()> {
    let mut volumes: Vec<(Work, Volume)> = Vec::new();
    kit::apart::serve(|work: &Work, cpus: &[usize]| {
        let at = match volumes.iter().position(|(own, _)| own == work) {
            Some(at) => at,
            None => {
                // What is in it does not matter: one is enough for all modes.
                let mut others = volumes.iter();
                let same = others.find(|(own, _)| own.storage == work.storage);
                let store = match same {
                    Some((_, volume)) => Ok(Rc::clone(&volume.store)),
                    None => filled(work),
                };
                let volume = store.and_then(|store| Volume::new(work, store));
                let volume = volume.map_err(|error| with_causes(&error))?;
                volumes.push((work.clone(), volume));
                volumes.len() - 1
            }
        };
        volumes[at].1.run(cpus).map_err(|error| error.to_string())
    })
}

/// What a volume is kept in, all of it there.
fn filled(work: &Work) -> Result<Rc<File>, Failure> {
    let filled = || {
        let store = work.storage.open()?;
        let piece = Aligned::new();
        for at in 0..work.pieces() {
            store.write_all_at(piece.bytes(), at * PIECE_BYTES as u64)?;
        }
        Ok::<_, io::Error>(Rc::new(store))
    };
    filled().map_err(Failure::of(match work.storage {
        Storage::Memory => "no volume in memory",
        Storage::File => {
            "no volume past the page cache in the temporary folder; set TMPDIR to a folder on a disk"
        }
    }))
}

/// A volume that is written or read from one end to the other, again and again.
struct Volume {
    store: Rc<File>,
    direction: Direction,
    cipher: Option<SectorCipher>,
    pieces: u64,
    threads: Vec<Thread>,
}

/// Where a thread is, and what it has in hand.
struct Thread {
    next: u64,
    piece: Aligned,
}

impl Volume {
    fn new(work: &Work, store: Rc<File>) -> Result<Self, Failure> {
        let mode = work.mode.as_ref();
        let cipher = mode.map(|mode| cipher(mode.parse().map_err(Failure::as_is)?, work));
        Ok(Self {
            store,
            direction: work.direction,
            cipher: cipher.transpose()?,
            pieces: work.pieces(),
            threads: Vec::new(),
        })
    }

    /// A piece, or several on each of these CPUs; how many.
    fn run(&mut self, cpus: &[usize]) -> io::Result<f64> {
        let count = cpus.len() as u64;
        while self.threads.len() < cpus.len() {
            let next = self.threads.len() as u64;
            let piece = Aligned::new();
            self.threads.push(Thread { next, piece });
        }
        let Self {
            store,
            direction,
            cipher,
            pieces,
            threads,
        } = self;
        // Of works that differ in their threads alone there is one volume.
        let (store, threads): (&File, _) = (store, &mut threads[..cpus.len()]);
        let one = |thread: &mut Thread| {
            let at = thread.next % *pieces * PIECE_BYTES as u64;
            thread.next += count;
            thread
                .piece
                .through(store, (*direction, cipher.as_ref()), at)
        };
        let [only] = threads else {
            let many = |thread: &mut Thread, cpu: usize| {
                pin_to(cpu).map_err(io::Error::other)?;
                (0..PIECES_A_THREAD).try_for_each(|_| one(thread))
            };
            let many = &many;
            return thread::scope(|scope| {
                let pairs = threads.iter_mut().zip(cpus);
                let started = pairs.map(|(thread, &cpu)| scope.spawn(move || many(thread, cpu)));
                let started: Vec<_> = started.collect();
                started.into_iter().try_for_each(|one| {
                    one.join()
                        .unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
                })?;
                Ok((count * PIECES_A_THREAD) as f64)
            });
        };
        one(only).map(|()| 1.0)
    }
}

/// With a key of which every byte differs.
fn cipher(mode: SectorMode, work: &Work) -> Result<SectorCipher, Failure> {
    let iv = if mode == SectorMode::Ecb {
        Iv::Null
    } else {
        Iv::Plain64
    };
    let key: Vec<_> = (0..work.key_bytes as u8).collect();
    let cipher = SectorCipher::new(Spec { mode, iv }, &key, work.sector_bytes);
    cipher.map_err(Failure::as_is)
}

/// Twice a piece of memory, each as O_DIRECT wants it: text, and what it becomes.
struct Aligned {
    memory: Vec<u8>,
    begin: usize,
}

impl Aligned {
    fn new() -> Self {
        let memory = vec![0; 2 * PIECE_BYTES + ALIGNMENT];
        let begin = memory.as_ptr().align_offset(ALIGNMENT);
        Self { memory, begin }
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[self.begin..][..PIECE_BYTES]
    }

    /// Writes the text encrypted, as dm-crypt does: into other memory, since a
    /// program's own must not change. Or reads, and decrypts in place.
    fn through(
        &mut self,
        store: &File,
        (direction, cipher): (Direction, Option<&SectorCipher>),
        at: u64,
    ) -> io::Result<()> {
        let both = &mut self.memory[self.begin..][..2 * PIECE_BYTES];
        let (text, encrypted) = both.split_at_mut(PIECE_BYTES);
        let first = at / disk::SECTOR_BYTES as u64;
        match (direction, cipher) {
            (Direction::Write, Some(cipher)) => {
                cipher.encrypt_to(first, text, encrypted);
                store.write_all_at(encrypted, at)
            }
            (Direction::Write, None) => store.write_all_at(text, at),
            (Direction::Read, cipher) => {
                store.read_exact_at(text, at)?;
                if let Some(cipher) = cipher {
                    cipher.decrypt(first, text);
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written encrypted by one volume is read by another's cipher.
    #[test]
    fn a_volume_is_written_as_the_cipher_says_on_one_thread_and_on_several() {
        let cpu = sys::affinity::allowed_cpus().unwrap()[0];
        for cpus in [vec![cpu], vec![cpu, cpu]] {
            let work = Work {
                storage: Storage::Memory,
                direction: Direction::Write,
                mode: Some("xts".to_owned()),
                key_bytes: 32,
                sector_bytes: 512,
                volume_bytes: 8 * PIECE_BYTES as u64,
            };
            let mut volume = Volume::new(&work, filled(&work).unwrap()).unwrap();
            let mut done = 0.0;
            while done < 8.0 {
                done += volume.run(&cpus).unwrap();
            }
            let mut all = vec![0; 8 * PIECE_BYTES];
            volume.store.read_exact_at(&mut all, 0).unwrap();
            assert!(all.iter().any(|byte| *byte > 0));
            cipher(SectorMode::Xts, &work).unwrap().decrypt(0, &mut all);
            assert!(all.iter().all(|byte| *byte == 0));
        }
    }
}
