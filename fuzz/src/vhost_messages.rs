//! What a front-end may say to a device, in any order, with any files.
//!
//! The messages are said before the device listens, and it listens on this thread: only
//! queues that are started have another.

use std::cell::RefCell;
use std::io::Write;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use sys::event::Event;
use sys::memory::sealed;
use vhost::inside::{Served, front, hear, say};

use super::bytes::Bytes;
use super::vhost_device::{Bench, config, device, encrypts, start_engine};

/// More answers than that nobody reads would fill the socket.
const MESSAGES_MAX: usize = 64;
const STREAM_BYTES_MAX: usize = 1000;

/// Messages that may start a queue, and how many of them an input may have.
const STARTING: [u32; 7] = [5, 9, 11, 12, 18, 37, 38];
const STARTING_MAX: u32 = 12;

/// Inputs of which one is followed by a good front-end: what a device cannot do after one
/// of them, it cannot do after those that follow.
const INPUTS_A_CHECK: u32 = 64;

/// Messages of the protocol that are taken, and a few that are not.
const CODES: [u32; 28] = [
    1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 24, 26, 27, 31, 32, 34, 36, 37, 38,
    40, 99,
];

const MEMORY_BYTES: u64 = 1 << 16;
const USER: u64 = 0x7000_0000_0000;

const VERSION: u32 = 1;
const REPLY: u32 = 4;

thread_local! {
    static BENCH: RefCell<Option<Bench<Served>>> = const { RefCell::new(None) };
}

/// Says what the bytes say, as a stream or after a proper beginning: the device does not
/// panic, answers what it was asked, and serves whoever comes next with nothing left of
/// this one.
pub fn vhost_messages(data: &[u8]) {
    BENCH.with_borrow_mut(|bench| {
        let bench = bench.get_or_insert_with(|| Bench::new(start_engine()));
        let mut input = Bytes::new(data);
        // Each may start both queues.
        let served = bench.take(2 * STARTING_MAX + 3, another);
        let (own, its) = UnixStream::pair().expect("sockets can be had");
        // What does not fit is not said.
        own.set_nonblocking(true).expect("it is a socket");
        let mut asked = Vec::new();
        if input.byte() & 7 == 0 {
            let bytes = input.rest();
            // A device that hangs up before the end is right.
            let _ = (&own).write_all(&bytes[..bytes.len().min(STREAM_BYTES_MAX)]);
            asked.extend(0..=255);
        } else {
            begin(&own, input.byte() & 1 == 1);
            speak(&own, &mut input, &mut asked);
        }
        own.shutdown(Shutdown::Write).expect("it is connected");
        // Whatever it ended with is right.
        let _ = served.serve(its);
        assert_eq!(served.sessions(), 0);
        while let Ok(Some((code, flags, _))) = hear(&own) {
            assert!(asked.contains(&code), "{code}");
            assert_eq!(flags & (3 | REPLY), VERSION | REPLY);
        }
        bench.inputs += 1;
        if bench.inputs % INPUTS_A_CHECK == 1 {
            serves(bench.take(1, another));
            assert_eq!(bench.engine.counters(0).panics, 0);
        }
    });
}

fn another(bench: &Bench<Served>) -> Served {
    Served::new(bench.function(), device("".into()), Arc::new(|_| {})).expect("it is small")
}

fn serves(served: &Served) {
    let (own, its) = UnixStream::pair().expect("sockets can be had");
    std::thread::scope(|scope| {
        let end = scope.spawn(|| served.serve(its));
        let mut front = front(own, config(8)).expect("it serves");
        let mut driver = front.start(1).expect("it serves");
        encrypts(&mut front, &mut driver);
        drop(front);
        let ended = end.join().expect("it does not panic");
        assert!(ended.is_ok(), "{ended:?}");
    });
    assert_eq!(served.sessions(), 0);
}

/// What front-ends say that set anything up; also all of the first queue.
fn begin(own: &UnixStream, starts: bool) {
    let tell = |code, body: &[u64], files| {
        let body = body.iter().flat_map(|one| one.to_le_bytes()).collect();
        say(own, code, 0, body, files).expect("there is room");
    };
    let event = || Event::new().and_then(|event| event.as_fd().try_clone_to_owned());
    let event = || vec![event().expect("files can be had")];
    let memory = || sealed(2 * MEMORY_BYTES as usize).expect("memory can be had");
    tell(2, &[1 << 30], Vec::new());
    let protocol = [0, 3, 7, 9, 12, 13, 15].map(|bit| 1 << bit).iter().sum();
    tell(16, &[protocol], Vec::new());
    let regions = [
        [1 << 20, MEMORY_BYTES, USER, 0],
        [1 << 32, MEMORY_BYTES, USER + MEMORY_BYTES, MEMORY_BYTES],
    ];
    let table = [&[2][..], regions.as_flattened()].concat();
    tell(5, &table, vec![memory(), memory()]);
    if starts {
        tell(8, &[8 << 32], Vec::new());
        tell(10, &[0], Vec::new());
        tell(9, &[0, USER, USER + 192, USER + 128, 0], Vec::new());
        tell(13, &[0], event());
        tell(12, &[0], event());
    }
}

fn speak(own: &UnixStream, input: &mut Bytes<'_>, asked: &mut Vec<u32>) {
    let mut starting = 0;
    for _ in 0..MESSAGES_MAX {
        let code = input.pick(&CODES);
        starting += u32::from(STARTING.contains(&code));
        if input.is_empty() || starting > STARTING_MAX {
            break;
        }
        let (body, files) = (body(code, input), files(code, input));
        // Some want to be told how it went.
        let flags = input.pick(&[0, 0, 0, 8]);
        asked.push(code);
        if say(own, code, flags, body, files).is_err() {
            break;
        }
    }
}

fn body(code: u32, input: &mut Bytes<'_>) -> Vec<u8> {
    let body = match code {
        5 => table(input),
        26 => session(input),
        37 | 38 => [vec![0; 8], fields(input, 4)].concat(),
        8 | 10 | 11 | 18 => numbers(input, 2),
        9 => [numbers(input, 2), fields(input, 4)].concat(),
        31 | 32 => [fields(input, 2), numbers(input, 2)].concat(),
        12..=14 => vec![input.byte(), input.byte() & 1, 0, 0, 0, 0, 0, 0],
        24 => [numbers(input, 3), vec![0; input.below(64)]].concat(),
        _ => fields(input, 1),
    };
    match input.below(16) {
        0 => body[..body.len().min(input.below(1100))].to_vec(),
        1 => [body, vec![input.byte(); input.below(3000)]].concat(),
        _ => body,
    }
}

fn files(code: u32, input: &mut Bytes<'_>) -> Vec<OwnedFd> {
    let files = match code {
        5 | 6 | 12..=14 | 32 | 37 => input.below(4),
        _ if input.below(8) == 0 => input.below(34),
        _ => 0,
    };
    (0..files).map(|_| file(input)).collect()
}

fn file(input: &mut Bytes<'_>) -> OwnedFd {
    let made = match input.below(4) {
        0 | 1 => Event::new().and_then(|event| event.as_fd().try_clone_to_owned()),
        2 => sealed(MEMORY_BYTES as usize),
        _ => std::fs::File::open("/dev/null").map(OwnedFd::from),
    };
    made.expect("files can be had")
}

/// Small numbers mostly, so that they mean something.
fn numbers(input: &mut Bytes<'_>, count: usize) -> Vec<u8> {
    let mut number = |_| match input.below(8) {
        0 => u32::from(input.word()) << 16 | u32::from(input.word()),
        1 => u32::from(input.word()),
        _ => u32::from(input.byte() & 31),
    };
    (0..count)
        .flat_map(|index| number(index).to_le_bytes())
        .collect()
}

fn fields(input: &mut Bytes<'_>, count: usize) -> Vec<u8> {
    let mut field = |_| match input.below(8) {
        0 => u64::MAX - u64::from(input.word()),
        1 => u64::from(input.word()) << 48,
        // Addresses of the front-end's.
        2..5 => USER + (u64::from(input.word()) << 4),
        5 => u64::from(input.byte()) << 12,
        _ => u64::from(input.word()),
    };
    (0..count)
        .flat_map(|index| field(index).to_le_bytes())
        .collect()
}

fn table(input: &mut Bytes<'_>) -> Vec<u8> {
    let count = input.below(5);
    let regions = fields(input, 4 * count);
    [(count as u32).to_le_bytes().to_vec(), vec![0; 4], regions].concat()
}

/// As QEMU lays it out, of either version, with a few fields of the input's.
fn session(input: &mut Bytes<'_>) -> Vec<u8> {
    let mut body = vec![0; input.pick(&[1072, 1072, 632, 100])];
    let opcode = input.pick(&[0x002_u32, 0x102, 0x202, 0x404, 0x302]);
    body[..4].copy_from_slice(&opcode.to_le_bytes());
    body[8..16].copy_from_slice(&[3, 0, 0, 0, 16, 0, 0, 0]);
    body[32..36].copy_from_slice(&[1, 1, 1, 0]);
    for _ in 0..input.below(6) {
        let at = input.below(body.len());
        body[at] = input.byte();
    }
    body
}
