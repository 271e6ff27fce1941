//! What a guest may put into its queues and its memory, and change while it is read.
//!
//! Its connection, its memory and its sessions stay from input to input. A queue starts
//! anew only where an input asks for that, or has broken it.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use vhost::front::{Driver, FrontEnd, SessionSpec, SharedMemory};
use vhost::{Device, Supervisor};
use wire::virtio_crypto::{HASH_SHA256, HEADER_BYTES, Header, MAC_HMAC_SHA256, Opcode};

use super::bytes::Bytes;
use super::vhost_device::{Bench, config, device, encrypts, finish, start_engine};

const STEPS_MAX: usize = 48;

/// Of the data that the input writes.
const DATA_BYTES: usize = 1 << 13;

/// How often an input may start its queue anew.
const RESTARTS: [u32; 8] = [0, 0, 0, 0, 0, 0, 1, 4];

/// Inputs of which one is followed by a good request, and by another connection.
const INPUTS_A_CHECK: u32 = 16;
const INPUTS_A_CONNECTION: u32 = 256;

/// Looks at a queue that changes are made in between of.
const LOOKS: u32 = 400;

const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;

/// One guest for each size of a queue. No chain is longer than its queue, and the good one
/// has five descriptors.
struct Guests {
    folder: PathBuf,
    of_size: [Bench<Guest>; 4],
}

thread_local! {
    static GUESTS: RefCell<Option<Guests>> = const { RefCell::new(None) };
}

/// Does what the bytes say to a queue, and changes the places that they say while the
/// device reads them. Every entry is used once; when the rings themselves are changed, the
/// queue may break, and the device serves the next front-end all the same.
pub fn vhost_queue(data: &[u8]) {
    GUESTS.with_borrow_mut(|guests| {
        let guests = guests.get_or_insert_with(Guests::start);
        let mut input = Bytes::new(data);
        let power = input.below(4);
        let restarts = input.pick(&RESTARTS);
        let bench = &mut guests.of_size[power];
        bench.inputs += 1;
        let inputs = bench.inputs;
        let size = 8 << power;
        let socket = guests.folder.join(format!("{size}.sock"));
        let guest = bench.take(restarts, |bench| Guest::start(bench, &socket, size));
        guest.begin(restarts);
        guest.change_what(&mut input);
        for _ in 0..STEPS_MAX {
            if input.is_empty() {
                break;
            }
            guest.step(&mut input);
        }
        guest.finish();
        guest.changed.clear();
        let is_broken = input.byte() & 15 == 1;
        if is_broken {
            guest.break_rings(&mut input);
        } else if inputs % INPUTS_A_CHECK == 1 {
            encrypts(&mut guest.front, &mut guest.driver);
        }
        if is_broken || inputs.is_multiple_of(INPUTS_A_CONNECTION) {
            bench.renew(Guest::reconnect);
        }
        assert_eq!(bench.engine.counters(0).panics, 0);
    });
}

impl Guests {
    fn start() -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("lockgate-fuzz-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let engine = start_engine();
        let of_size = std::array::from_fn(|_| Bench::new(Arc::clone(&engine)));
        Self { folder, of_size }
    }
}

impl Drop for Guests {
    fn drop(&mut self) {
        self.of_size.iter_mut().for_each(Bench::end);
        // What cannot be removed is not worth a panic.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

type Change = (usize, [u8; 4], [u8; 4]);

/// A device and its front-end.
struct Guest {
    front: FrontEnd,
    driver: Driver,
    device: Device,
    _supervisor: Supervisor,
    size: u16,
    data_at: usize,
    sessions: [u64; 4],
    changed: Vec<Change>,
    /// Heads that are not in flight are all of them after each step that waits.
    next: u16,
    restarts: u32,
}

impl Guest {
    fn start(bench: &Bench<Self>, socket: &Path, size: u16) -> Self {
        let config = (device(socket.to_owned()), config(size));
        let supervisor = bench.supervisor();
        let device = Device::start(bench.function(), config.0, Arc::new(|_| {}), &supervisor);
        let device = device.expect("the folder is ours");
        let mut front = FrontEnd::connect(socket, config.1).expect("it serves");
        Self {
            driver: front.start(0).expect("it serves"),
            data_at: front.data_at(),
            front,
            device,
            _supervisor: supervisor,
            size,
            sessions: [0; 4],
            changed: Vec::new(),
            next: 0,
            restarts: 0,
        }
    }

    /// Little is left of the input before.
    fn begin(&mut self, restarts: u32) {
        (self.restarts, self.next) = (restarts, 0);
        self.front.memory().write(self.data_at, &[0; DATA_BYTES]);
        let key = &[1; 16];
        let cipher = |encrypts| SessionSpec::Cipher { encrypts, key };
        let algorithm = HASH_SHA256;
        let specs = [
            cipher(true),
            cipher(false),
            SessionSpec::Hash { algorithm },
            SessionSpec::Mac {
                algorithm: MAC_HMAC_SHA256,
                key,
            },
        ];
        for (session, spec) in self.sessions.iter_mut().zip(&specs) {
            if *session == 0 {
                *session = self.front.open_session(spec).expect("there is room");
            }
        }
    }

    /// Leaves, and comes again with queues that begin at 0.
    fn reconnect(self) -> Self {
        let mut front = self
            .front
            .reconnect(self.device.socket())
            .expect("it serves");
        // Of the connection before nothing is left.
        assert_eq!(self.device.counters().sessions, 0);
        Self {
            driver: front.start(0).expect("it serves"),
            front,
            sessions: [0; 4],
            ..self
        }
    }

    /// Waits for all that is in flight, and changes what the input said meanwhile.
    fn finish(&mut self) {
        if !self.changed.is_empty() {
            self.driver.kick();
            for _ in 0..LOOKS {
                self.make_changes();
                self.driver.reap(|_| {});
                if self.driver.in_flight() == 0 {
                    return;
                }
            }
        }
        finish(&mut self.driver);
    }

    fn make_changes(&self) {
        for (at, one, other) in &self.changed {
            self.front.memory().write(*at, one);
            self.front.memory().write(*at, other);
        }
    }

    fn place(&self, input: &mut Bytes<'_>) -> usize {
        self.data_at + input.below(DATA_BYTES - 4096)
    }

    /// Places in the data, tables and headers among them, and what they change between.
    fn change_what(&mut self, input: &mut Bytes<'_>) {
        for _ in 0..input.below(5) {
            let mut four = || [input.byte(), input.byte(), input.byte(), input.byte()];
            let (one, other) = (four(), four());
            // Mostly where the first table and header are.
            let at = if input.below(4) > 0 {
                input.below(512)
            } else {
                input.below(DATA_BYTES - 4)
            };
            self.changed.push((self.data_at + at, one, other));
        }
    }

    fn step(&mut self, input: &mut Bytes<'_>) {
        let memory = Arc::clone(self.front.memory());
        match input.below(16) {
            0..6 => self.request(&memory, input),
            6 => self.header(&memory, input),
            7 => self.table(&memory, input),
            8 | 9 => self.enter(&memory, input),
            10 => self.driver.kick_anyway(),
            11 => self.reap(),
            12 if self.may_restart() => self.front.hand_memory_over().expect("it serves"),
            13 if self.may_restart() => {
                self.front.stop(0).expect("it serves");
                self.front.resume(0, &self.driver).expect("it serves");
            }
            14 => self.close(input),
            _ => self.driver.kick(),
        }
    }

    /// Closes a session; requests still name it.
    fn close(&mut self, input: &mut Bytes<'_>) {
        let index = input.below(16);
        if let Some(session) = self.sessions.get_mut(index) {
            let closed = self.front.close_session(std::mem::take(session));
            closed.expect("it serves");
        }
    }

    fn may_restart(&mut self) -> bool {
        let left = self.restarts;
        self.restarts = left.saturating_sub(1);
        left > 0
    }

    fn reap(&mut self) {
        self.driver.kick();
        self.make_changes();
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
            // Nowhere near the rings: those the driver trusts.
            1 => (1 << 15 | u64::from(input.word())) << 40,
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
            self.finish();
            self.next = 0;
        }
        self.next += 1;
        self.next - 1
    }

    /// At the end: the rings themselves, which lie at the memory's beginning.
    fn break_rings(&mut self, input: &mut Bytes<'_>) {
        let memory = Arc::clone(self.front.memory());
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
