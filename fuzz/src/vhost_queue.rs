//! What a guest may put into its queues and its memory, and change while it is read.

use std::sync::atomic::{AtomicBool, Ordering};

use vhost::front::{Driver, FrontEnd, SessionSpec, SharedMemory};
use wire::virtio_crypto::{HASH_SHA256, HEADER_BYTES, Header, Opcode};

use super::bytes::Bytes;
use super::vhost_device::{RESTARTS_MAX, config, encrypts, finish, with_device};

const STEPS_MAX: usize = 48;

/// Of the data that the input writes.
const DATA_BYTES: usize = 1 << 16;

const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;

/// Does what the bytes say to a queue, while another thread changes the places that they
/// say. Every entry is used once; when the rings themselves are changed, the queue may
/// break, and the device serves the next front-end all the same.
pub fn vhost_queue(data: &[u8]) {
    let mut input = Bytes::new(data);
    with_device(|bench| {
        bench.device();
        // No chain is longer than its queue, and the good one has five descriptors.
        let size = 8 << input.below(4);
        let mut front = FrontEnd::connect(&bench.socket(), config(size)).expect("it serves");
        let driver = front.start(0).expect("it serves");
        let mut guest = Guest::new(&mut front, driver, size);
        let changed: Vec<_> = (0..input.below(5))
            .map(|_| guest.change(&mut input))
            .collect();
        let is_over = AtomicBool::new(changed.is_empty());
        let memory = front.memory().clone();
        std::thread::scope(|scope| {
            scope.spawn(|| keep_changing(&memory, &changed, &is_over));
            // Also where an invariant does not hold.
            let _end = OnDrop(&is_over);
            for _ in 0..STEPS_MAX {
                if input.is_empty() {
                    break;
                }
                guest.step(&mut front, &mut input);
            }
            finish(&mut guest.driver);
        });
        if input.byte() & 3 == 1 {
            guest.break_rings(&memory, &mut input);
        } else {
            encrypts(&mut front, &mut guest.driver);
        }
        drop(front);
        bench.serves();
    });
}

struct OnDrop<'f>(&'f AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

type Change = (usize, [u8; 4], [u8; 4]);

fn keep_changing(memory: &SharedMemory, changed: &[Change], is_over: &AtomicBool) {
    while !is_over.load(Ordering::Acquire) {
        for (at, one, other) in changed {
            memory.write(*at, one);
            memory.write(*at, other);
        }
    }
}

struct Guest {
    driver: Driver,
    size: u16,
    data_at: usize,
    sessions: [u64; 4],
    /// Heads that are not in flight are all of them after each step that waits.
    next: u16,
    restarts: u32,
}

impl Guest {
    fn new(front: &mut FrontEnd, driver: Driver, size: u16) -> Self {
        let key = &[1; 16];
        let specs = [
            SessionSpec::Cipher {
                encrypts: true,
                key,
            },
            SessionSpec::Cipher {
                encrypts: false,
                key,
            },
            SessionSpec::Hash {
                algorithm: HASH_SHA256,
            },
            SessionSpec::Mac {
                algorithm: wire::virtio_crypto::MAC_HMAC_SHA256,
                key,
            },
        ];
        let sessions = specs.map(|spec| front.open_session(&spec).expect("there is room"));
        Self {
            driver,
            size,
            data_at: front.data_at(),
            sessions,
            next: 0,
            restarts: RESTARTS_MAX,
        }
    }

    fn place(&self, input: &mut Bytes<'_>) -> usize {
        self.data_at + input.below(DATA_BYTES - 4096)
    }

    /// A place in the data, tables and headers among them, and what it changes between.
    fn change(&self, input: &mut Bytes<'_>) -> Change {
        let mut four = || [input.byte(), input.byte(), input.byte(), input.byte()];
        let (one, other) = (four(), four());
        // Mostly where the first table and header are.
        let at = if input.below(4) > 0 {
            input.below(512)
        } else {
            input.below(DATA_BYTES - 4)
        };
        (self.data_at + at, one, other)
    }

    fn step(&mut self, front: &mut FrontEnd, input: &mut Bytes<'_>) {
        let memory = front.memory().clone();
        match input.below(16) {
            0..6 => self.request(&memory, input),
            6 => self.header(&memory, input),
            7 => self.table(&memory, input),
            8 | 9 => self.enter(&memory, input),
            10 => self.driver.kick_anyway(),
            11 => self.reap(),
            12 if self.may_restart() => front.hand_memory_over().expect("it serves"),
            13 if self.may_restart() => {
                front.stop(0).expect("it serves");
                front.resume(0, &self.driver).expect("it serves");
            }
            14 => front
                .close_session(input.pick(&self.sessions))
                .expect("it serves"),
            _ => self.driver.kick(),
        }
    }

    fn may_restart(&mut self) -> bool {
        let left = self.restarts;
        self.restarts = left.saturating_sub(1);
        left > 0
    }

    fn reap(&mut self) {
        self.driver.kick();
        self.driver.reap(|_| {});
    }

    fn header_of(&self, input: &mut Bytes<'_>) -> Header {
        let bytes = |input: &mut Bytes<'_>| match input.below(8) {
            0 => u32::MAX - u32::from(input.byte()),
            1 => u32::from(input.word()),
            _ => u32::from(input.byte() & 7) * 16,
        };
        let source_bytes = bytes(input);
        let is_same = input.below(4) > 0;
        let destination_bytes = if is_same { source_bytes } else { bytes(input) };
        Header {
            opcode: input.pick(&Opcode::ALL),
            session: match input.below(8) {
                0 => u64::from(input.word()) << 24,
                _ => input.pick(&self.sessions),
            },
            iv_bytes: if input.below(8) > 0 { 16 } else { bytes(input) },
            source_bytes,
            destination_bytes,
        }
    }

    fn header(&self, memory: &SharedMemory, input: &mut Bytes<'_>) {
        let header = self.header_of(input);
        memory.write(self.place(input), &header.to_bytes());
    }

    /// Descriptors at a place, of which most name a place in the memory.
    fn table(&self, memory: &SharedMemory, input: &mut Bytes<'_>) {
        let at = self.place(input) & !15;
        let mut bytes = Vec::new();
        for index in 0..input.below(24) {
            let (address, len) = self.piece(memory, input);
            let next = if input.below(8) > 0 {
                index as u16 + 1
            } else {
                input.word()
            };
            bytes.extend(address.to_le_bytes());
            bytes.extend(len.to_le_bytes());
            bytes.extend(u16::from(input.byte() & 7).to_le_bytes());
            bytes.extend(next.to_le_bytes());
        }
        memory.write(at, &bytes);
    }

    fn piece(&self, memory: &SharedMemory, input: &mut Bytes<'_>) -> (u64, u32) {
        let address = match input.below(8) {
            0 => u64::MAX - u64::from(input.word()),
            1 => u64::from(input.word()) << 20,
            _ => memory.guest(self.place(input)),
        };
        let len = match input.below(8) {
            0 => u32::MAX - u32::from(input.word()),
            1 => u32::from(input.word()) << 8,
            _ => u32::from(input.byte()),
        };
        (address, len)
    }

    /// A request that is right but for what the input says.
    fn request(&mut self, memory: &SharedMemory, input: &mut Bytes<'_>) {
        let head = self.head();
        let header = self.header_of(input);
        let at = self.data_at;
        memory.write(at + 256, &header.to_bytes());
        let (source, destination) = (header.source_bytes, header.destination_bytes);
        let pieces = [
            (256, HEADER_BYTES as u32, 0),
            (384, header.iv_bytes.min(16), 0),
            (1024, source.min(1024), 0),
            (2048, destination.min(1024), WRITE),
            (4000, 1, WRITE),
        ];
        let mut table = Vec::new();
        for (index, (offset, len, flags)) in pieces.into_iter().enumerate() {
            let flags = flags | if index + 1 < pieces.len() { NEXT } else { 0 };
            table.extend(memory.guest(at + offset).to_le_bytes());
            table.extend(len.to_le_bytes());
            table.extend(flags.to_le_bytes());
            table.extend((index as u16 + 1).to_le_bytes());
        }
        for _ in 0..input.below(4) {
            let index = input.below(table.len());
            table[index] = input.byte();
        }
        memory.write(at, &table);
        let bytes = table.len() as u32;
        self.driver
            .put_descriptor(head, memory.guest(at), bytes, INDIRECT, 0);
        self.driver.enter(head, 0);
    }

    /// An entry of any kind.
    fn enter(&mut self, memory: &SharedMemory, input: &mut Bytes<'_>) {
        let head = self.head();
        let (address, len) = self.piece(memory, input);
        let len = if input.below(4) > 0 {
            u32::from(input.byte() & 31) * 16
        } else {
            len
        };
        let flags = if input.below(4) > 0 {
            INDIRECT
        } else {
            u16::from(input.byte() & 7)
        };
        self.driver
            .put_descriptor(head, address & !15, len, flags, u16::from(input.byte()));
        self.driver.enter(head, 0);
    }

    /// A head that is not in flight: when all have been, all are waited for.
    fn head(&mut self) -> u16 {
        if self.next == self.size {
            finish(&mut self.driver);
            self.next = 0;
        }
        self.next += 1;
        self.next - 1
    }

    /// At the end: the rings themselves, which lie at the memory's beginning.
    fn break_rings(&mut self, memory: &SharedMemory, input: &mut Bytes<'_>) {
        let size = usize::from(self.size);
        let available = size * 16;
        let used = available + (6 + size * 2).next_multiple_of(64);
        let memory_at = [
            available,
            available + 2,
            available + 4,
            used,
            used + 2,
            used + 4,
        ];
        for _ in 0..input.below(8) {
            let at = input.pick(&memory_at);
            memory.write(at, &input.word().to_le_bytes());
            self.driver.kick_anyway();
        }
    }
}
