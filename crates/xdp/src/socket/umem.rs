//! Memory that a socket's frames lie in (UMEM), and who owns which frame.
//!
//! A frame is always in one place: in a program's hands as a [`Frame`], in a
//! [`Pool`], or with the kernel. A [`Frame`] cannot be copied, so its holder
//! is alone with its bytes.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use sys::failure::Failure;
use sys::memory::Mapping;

/// The most frames of a UMEM: 256 MiB in frames of 4096 bytes.
pub const FRAMES_MAX: u32 = 1 << 16;

/// One frame, and the bytes of it that are in use. Lost if it is dropped: give
/// it to a socket or to a [`Pool`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a frame that is dropped is lost to its UMEM"]
pub struct Frame {
    umem: u32,
    len: u32,
    address: u64,
}

impl Frame {
    pub fn len(&self) -> usize {
        self.len as usize
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{len} bytes do not fit into a frame of {frame_bytes}; take a UMEM of larger frames")]
pub struct TooLong {
    pub len: usize,
    pub frame_bytes: u32,
}

/// Memory in frames of equal size, which sockets share with the kernel.
#[derive(Debug)]
pub struct Umem {
    memory: Mapping,
    frame_bytes: u32,
    id: u32,
    pub(super) first: Mutex<Option<Arc<OwnedFd>>>,
}

impl Umem {
    /// Maps memory for `frames` frames of `frame_bytes`, and gives all frames.
    pub fn new(frames: u32, frame_bytes: u32) -> Result<(Arc<Self>, Pool), Failure> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if ![2048, 4096].contains(&frame_bytes) {
            return Err(Failure::new(format!(
                "frames of {frame_bytes} bytes: the kernel takes 2048 or 4096 (a power of two, at most a page)"
            )));
        }
        if frames == 0 || frames > FRAMES_MAX {
            return Err(Failure::new(format!(
                "{frames} frames: choose 1 to {FRAMES_MAX}"
            )));
        }
        let bytes = frames as usize * frame_bytes as usize;
        let memory = Mapping::new(bytes).map_err(Failure::of(format!(
            "no memory for a UMEM of {bytes} bytes; take fewer frames"
        )))?;
        let umem = Arc::new(Self {
            memory,
            frame_bytes,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            first: Mutex::new(None),
        });
        // The last first: a pool gives what it was given last.
        let free = (0..frames).rev().map(|index| Frame {
            umem: umem.id,
            len: 0,
            address: u64::from(index) * u64::from(frame_bytes),
        });
        let free = free.collect();
        Ok((umem, Pool { free }))
    }

    pub fn frame_bytes(&self) -> u32 {
        self.frame_bytes
    }

    /// All its memory, for the kernel: address and bytes.
    pub(super) fn area(&self) -> (u64, u64) {
        let len = self.memory.len();
        let start = self.memory.address(0, len).expect("all of it");
        (start.expose_provenance() as u64, len as u64)
    }

    /// The bytes in use of a frame.
    ///
    /// # Panics
    /// If it is another UMEM's.
    pub fn bytes<'f>(&'f self, frame: &'f Frame) -> &'f [u8] {
        let start = self.start(frame);
        // SAFETY: `start` checked the range. The frame is in the caller's hands,
        // so neither the kernel nor another handle writes (module comment), and
        // it is borrowed as long as the slice, as is the memory.
        unsafe { std::slice::from_raw_parts(start, frame.len()) }
    }

    /// The bytes in use of a frame, to change.
    ///
    /// # Panics
    /// If it is another UMEM's.
    pub fn bytes_mut<'f>(&'f self, frame: &'f mut Frame) -> &'f mut [u8] {
        let start = self.start(frame);
        // SAFETY: as in `bytes`, and the frame is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(start, frame.len()) }
    }

    /// Fills a frame, from its start on.
    ///
    /// # Errors
    /// [`TooLong`]; the frame is as it was.
    ///
    /// # Panics
    /// If it is another UMEM's.
    pub fn write(&self, frame: &mut Frame, bytes: &[u8]) -> Result<(), TooLong> {
        let (len, frame_bytes) = (bytes.len(), self.frame_bytes);
        let fits = u32::try_from(len).ok().filter(|len| *len <= frame_bytes);
        frame.len = fits.ok_or(TooLong { len, frame_bytes })?;
        frame.address = self.chunk(frame.address);
        self.bytes_mut(frame).copy_from_slice(bytes);
        Ok(())
    }

    fn chunk(&self, address: u64) -> u64 {
        address & !u64::from(self.frame_bytes - 1)
    }

    fn start(&self, frame: &Frame) -> *mut u8 {
        assert_eq!(frame.umem, self.id, "a frame of another UMEM");
        self.memory
            .address(frame.address as usize, frame.len())
            .expect("frames are made inside their UMEM")
    }

    /// The frame that the kernel gave back, if it lies inside one.
    ///
    /// The kernel gives each frame back once, in one ring: then no other handle to it
    /// exists.
    pub(super) fn claim(&self, address: u64, len: u32) -> Option<Frame> {
        let within = address & u64::from(self.frame_bytes - 1);
        let is_inside = within + u64::from(len) <= u64::from(self.frame_bytes)
            && address < self.memory.len() as u64;
        is_inside.then_some(Frame {
            umem: self.id,
            len,
            address,
        })
    }

    pub(super) fn owns(&self, frame: &Frame) -> bool {
        frame.umem == self.id
    }
}

/// Frames that are not in use. The last one put in comes out first, since its bytes
/// are the likeliest to be in a cache.
#[derive(Debug, Default)]
pub struct Pool {
    free: Vec<Frame>,
}

impl Pool {
    pub fn take(&mut self) -> Option<Frame> {
        self.free.pop()
    }

    pub fn put(&mut self, frame: Frame) {
        self.free.push(frame);
    }

    pub fn put_all(&mut self, frames: impl IntoIterator<Item = Frame>) {
        self.free.extend(frames);
    }

    /// Takes `count` frames, or all there are, as a separate pool for another thread.
    pub fn split(&mut self, count: usize) -> Self {
        let rest = self.free.len().saturating_sub(count);
        Self {
            free: self.free.split_off(rest),
        }
    }

    pub fn len(&self) -> usize {
        self.free.len()
    }

    pub fn is_empty(&self) -> bool {
        self.free.is_empty()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn frames_do_not_overlap() {
        let (umem, mut pool) = Umem::new(4, 2048).unwrap();
        let mut frames: Vec<_> = (0..4).map(|_| pool.take().unwrap()).collect();
        assert!(pool.take().is_none() && pool.is_empty());
        for (index, frame) in frames.iter_mut().enumerate() {
            umem.write(frame, &[index as u8; 2048]).unwrap();
        }
        for (index, frame) in frames.iter().enumerate() {
            assert!(umem.bytes(frame).iter().all(|byte| *byte == index as u8));
        }
        pool.put_all(frames);
        assert_eq!((pool.split(3).len(), pool.len()), (3, 1));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (umem, mut pool) = Umem::new(1, 2048).unwrap();
        let mut frame = pool.take().unwrap();
        let error = umem.write(&mut frame, &[0; 2049]).unwrap_err();
        assert_eq!(
            error,
            TooLong {
                len: 2049,
                frame_bytes: 2048
            }
        );
        assert!(Umem::new(0, 2048).is_err() && Umem::new(1, 1500).is_err());
        assert!(Umem::new(FRAMES_MAX + 1, 2048).is_err());
    }

    #[test]
    fn what_the_kernel_gives_must_lie_inside_a_frame() {
        let (umem, _) = Umem::new(2, 2048).unwrap();
        assert_eq!(umem.claim(2048 + 256, 1792).unwrap().len(), 1792);
        assert!(umem.claim(2048 + 256, 1793).is_none());
        assert!(umem.claim(4096, 1).is_none());
        assert!(umem.claim(u64::MAX, u32::MAX).is_none());
    }

    #[test]
    #[should_panic(expected = "another UMEM")]
    fn a_frame_belongs_to_its_memory() {
        let (one, _) = Umem::new(1, 2048).unwrap();
        let (_, mut pool) = Umem::new(1, 2048).unwrap();
        let _ = one.bytes(&pool.take().unwrap());
    }
}
