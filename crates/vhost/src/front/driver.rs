//! The guest's driver: a split queue, and requests on it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering, fence};
use std::time::Duration;

use sys::event::Event;
use wire::virtio_crypto::{HEADER_BYTES, Header, Status};

use super::SharedMemory;

/// Largest queue.
pub(super) const SIZE_MAX: u16 = crate::queue::SIZE_MAX;

/// Descriptors of one request: as many pieces as a request of 1 MiB has pages, twice, and
/// three of its own.
const DESCRIPTORS: usize = 520;

pub(super) const DESCRIPTOR_BYTES: usize = 16;
pub(super) const NEXT: u16 = 1;
const WRITE: u16 = 2;
pub(super) const INDIRECT: u16 = 4;

/// Of a request beside its data: header, IV, status, on lines of their own.
const OWN_BYTES: usize = 128;
const IV_AT: usize = HEADER_BYTES;
const STATUS_AT: usize = 96;

/// How the driver is told of what is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupts {
    /// It asks by its event index (virtio 1.2 §2.7.10).
    EventIndex,
    /// It asks by its flag (§2.7.7).
    Flag,
    /// It looks by itself, and asks for none.
    Polled,
}

/// What a queue takes in memory.
pub(super) fn bytes(size: u16) -> usize {
    let row = DESCRIPTORS * DESCRIPTOR_BYTES + OWN_BYTES;
    (rings_bytes(size) + usize::from(size) * row).next_multiple_of(4096)
}

fn rings_bytes(size: u16) -> usize {
    let size = usize::from(size);
    (size * 16 + (6 + size * 2).next_multiple_of(64) + 6 + size * 8).next_multiple_of(64)
}

/// One request: what its header says, and where its data lies, as offsets in the memory.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub header: Header,
    pub iv: [u8; 16],
    pub source: &'a [(usize, usize)],
    pub destination: &'a [(usize, usize)],
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    pub token: u64,
    /// `None` for a byte that is no status.
    pub status: Option<Status>,
    /// Bytes that the device says it has written.
    pub written: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    #[error("the queue is full")]
    Full,
    #[error("a request in {0} pieces: at most {DESCRIPTORS}, its own three among them")]
    Pieces(usize),
}

#[derive(Debug)]
pub struct Driver {
    memory: Arc<SharedMemory>,
    at: usize,
    size: u16,
    free: Vec<u16>,
    tokens: Vec<u64>,
    /// Entries shown to the device, and those written.
    shown: u16,
    next: u16,
    seen: u16,
    interrupts: Interrupts,
    kick: Event,
    interrupt: Event,
    interrupts_count: u64,
    kicks_count: u64,
    list: Vec<u8>,
}

impl Driver {
    pub(super) fn new(
        memory: Arc<SharedMemory>,
        at: usize,
        size: u16,
        interrupts: Interrupts,
    ) -> io::Result<Self> {
        memory.write(at, &vec![0; rings_bytes(size)]);
        let driver = Self {
            memory,
            at,
            size,
            free: (0..size).rev().collect(),
            tokens: vec![0; size.into()],
            shown: 0,
            next: 0,
            seen: 0,
            interrupts,
            kick: Event::new()?,
            interrupt: Event::new()?,
            interrupts_count: 0,
            kicks_count: 0,
            list: Vec::with_capacity(DESCRIPTORS * DESCRIPTOR_BYTES),
        };
        if interrupts == Interrupts::Polled {
            driver
                .number(driver.available_at())
                .store(1, Ordering::Relaxed);
        }
        Ok(driver)
    }

    fn available_at(&self) -> usize {
        self.at + usize::from(self.size) * DESCRIPTOR_BYTES
    }

    fn used_at(&self) -> usize {
        let size = usize::from(self.size);
        self.available_at() + (6 + size * 2).next_multiple_of(64)
    }

    /// Where descriptors, available ring and used ring lie.
    pub(super) fn parts(&self) -> (usize, usize, usize) {
        (self.at, self.available_at(), self.used_at())
    }

    fn row(&self, head: u16) -> usize {
        let row = DESCRIPTORS * DESCRIPTOR_BYTES + OWN_BYTES;
        self.at + rings_bytes(self.size) + usize::from(head) * row
    }

    pub(super) fn number(&self, at: usize) -> &AtomicU16 {
        self.memory.mapping.number(at).expect("within the queue")
    }

    pub fn interrupt(&self) -> &Event {
        &self.interrupt
    }

    pub(super) fn kick_event(&self) -> &Event {
        &self.kick
    }

    /// Entries that the device has used, by what it last showed.
    pub fn used_index(&self) -> u16 {
        self.number(self.used_at() + 2).load(Ordering::Acquire)
    }

    pub fn in_flight(&self) -> usize {
        usize::from(self.size) - self.free.len()
    }

    pub fn interrupts(&self) -> u64 {
        self.interrupts_count
    }

    pub fn kicks(&self) -> u64 {
        self.kicks_count
    }

    /// Puts a request into the queue; shown to the device by [`kick`](Self::kick).
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn submit(&mut self, request: &Request<'_>, token: u64) -> Result<u16, DriverError> {
        let head = self.next_head().ok_or(DriverError::Full)?;
        let own = self.row(head) + DESCRIPTORS * DESCRIPTOR_BYTES;
        self.memory.write(own, &request.header.to_bytes());
        self.memory.write(own + IV_AT, &request.iv);
        // Not a status: one that the device forgets is seen.
        self.memory.write(own + STATUS_AT, &[0xff]);
        self.list.clear();
        let iv_bytes = request.header.iv_bytes as usize;
        self.list_piece(own, HEADER_BYTES, 0);
        if iv_bytes > 0 {
            self.list_piece(own + IV_AT, iv_bytes.min(16), 0);
        }
        for &(at, len) in request.source {
            self.list_piece(at, len, 0);
        }
        for &(at, len) in request.destination {
            self.list_piece(at, len, WRITE);
        }
        self.list_piece(own + STATUS_AT, 1, WRITE);
        let count = self.list.len() / DESCRIPTOR_BYTES;
        if count > DESCRIPTORS {
            return Err(DriverError::Pieces(count));
        }
        // The last has no next.
        let last = self.list.len() - 4;
        self.list[last] &= !(NEXT as u8);
        let table = self.row(head);
        self.memory.write(table, &self.list);
        let address = self.memory.guest(table);
        self.put_descriptor(
            head,
            address,
            (count * DESCRIPTOR_BYTES) as u32,
            INDIRECT,
            0,
        );
        self.enter(head, token);
        Ok(head)
    }

    /// Appends a piece, cut where it goes into another region: a descriptor is
    /// contiguous for the guest.
    fn list_piece(&mut self, mut at: usize, mut len: usize, flags: u16) {
        while len > 0 {
            let part = len.min(self.memory.left(at));
            let index = (self.list.len() / DESCRIPTOR_BYTES) as u16;
            self.list.extend(self.memory.guest(at).to_le_bytes());
            self.list.extend((part as u32).to_le_bytes());
            self.list.extend((flags | NEXT).to_le_bytes());
            self.list.extend((index + 1).to_le_bytes());
            (at, len) = (at + part, len - part);
        }
    }

    /// Writes one descriptor of the queue's own table, for tests of chains that it does not make itself.
    pub fn put_descriptor(&self, index: u16, address: u64, bytes: u32, flags: u16, next: u16) {
        let mut descriptor = [0; DESCRIPTOR_BYTES];
        descriptor[..8].copy_from_slice(&address.to_le_bytes());
        descriptor[8..12].copy_from_slice(&bytes.to_le_bytes());
        descriptor[12..14].copy_from_slice(&flags.to_le_bytes());
        descriptor[14..].copy_from_slice(&next.to_le_bytes());
        let at = self.at + usize::from(index) * DESCRIPTOR_BYTES;
        self.memory.write(at, &descriptor);
    }

    /// The head that the next request would take; `None` when the queue is full.
    pub fn next_head(&self) -> Option<u16> {
        self.free.last().copied()
    }

    /// Takes a head, and makes its entry available.
    pub fn enter(&mut self, head: u16, token: u64) {
        if self.next_head() == Some(head) {
            self.free.pop();
        } else {
            self.free.retain(|free| *free != head);
        }
        self.tokens[usize::from(head)] = token;
        self.put_available(self.next, head);
        self.next = self.next.wrapping_add(1);
    }

    /// Writes an entry of the available ring; what was there. By itself for tests of
    /// what [`enter`](Self::enter) does not write.
    pub fn put_available(&self, index: u16, head: u16) -> u16 {
        let at = self.available_at() + 4 + usize::from(index % self.size) * 2;
        self.number(at).swap(head, Ordering::Relaxed)
    }

    /// Shows the device what was submitted, and wakes it if it asks for that.
    pub fn kick(&mut self) {
        if self.shown == self.next {
            return;
        }
        let before = std::mem::replace(&mut self.shown, self.next);
        let index = self.number(self.available_at() + 2);
        index.store(self.next, Ordering::Release);
        fence(Ordering::SeqCst);
        let is_wanted = if self.interrupts == Interrupts::EventIndex {
            let event = self.used_at() + 4 + usize::from(self.size) * 8;
            let event = self.number(event).load(Ordering::Relaxed);
            let since = self.next.wrapping_sub(before);
            self.next.wrapping_sub(event).wrapping_sub(1) < since
        } else {
            self.number(self.used_at()).load(Ordering::Relaxed) & 1 == 0
        };
        if is_wanted {
            self.kicks_count += 1;
            self.kick.signal();
        }
    }

    /// Kicks whatever the device asked for, as one that comes after another may need.
    pub fn kick_anyway(&mut self) {
        self.kick();
        self.kick.signal();
    }

    /// Takes all that is done; how many.
    ///
    /// # Panics
    /// When the device uses an entry that is not in flight: what no test may overlook.
    pub fn reap(&mut self, mut take: impl FnMut(Done)) -> usize {
        let there = self.used_index();
        let count = there.wrapping_sub(self.seen);
        assert!(
            usize::from(count) <= self.in_flight(),
            "the device used {count} entries of {} in flight",
            self.in_flight()
        );
        for _ in 0..count {
            let at = self.used_at() + 4 + usize::from(self.seen % self.size) * 8;
            let mut entry = [0; 8];
            self.memory.read(at, &mut entry);
            let [a, b, c, d, rest @ ..] = entry;
            let head = u32::from_le_bytes([a, b, c, d]);
            let head = u16::try_from(head).expect("an entry of this queue");
            assert!(
                head < self.size && !self.free.contains(&head),
                "the device used entry {head}, which is not in flight"
            );
            let mut status = [0];
            let own = self.row(head) + DESCRIPTORS * DESCRIPTOR_BYTES;
            self.memory.read(own + STATUS_AT, &mut status);
            self.seen = self.seen.wrapping_add(1);
            self.free.push(head);
            take(Done {
                token: self.tokens[usize::from(head)],
                status: Status::from_byte(status[0]),
                written: u32::from_le_bytes(rest),
            });
        }
        count.into()
    }

    /// Waits until something is done, or for `within`; whether something is.
    pub fn wait(&mut self, within: Duration) -> bool {
        self.wait_for(0, within)
    }

    /// The same; it asks to be told when `more` than one are done, where it can ask for
    /// that: no more than are in flight.
    pub fn wait_for(&mut self, more: u16, within: Duration) -> bool {
        self.kick();
        let begin = std::time::Instant::now();
        loop {
            if self.used_index() != self.seen {
                return true;
            }
            let left = within.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return false;
            }
            if self.interrupts == Interrupts::Polled {
                std::thread::yield_now();
                continue;
            }
            self.ask(more);
            if self.used_index() != self.seen {
                return true;
            }
            if self.interrupt.wait(left) {
                self.interrupts_count += 1;
            }
        }
    }

    fn ask(&self, more: u16) {
        if self.interrupts == Interrupts::EventIndex {
            self.ask_after(more);
        } else {
            self.number(self.available_at()).store(0, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
    }

    /// Asks by event index for an interrupt when `more` entries more than the next one
    /// are used: the knob that a driver has.
    pub fn ask_after(&self, more: u16) {
        let event = self.available_at() + 4 + usize::from(self.size) * 2;
        let index = self.seen.wrapping_add(more);
        self.number(event).store(index, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }
}
