//! What a front-end may say to a device, in any order, with any files.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use sys::event::Event;
use sys::memory::sealed;
use vhost::front::FrontEnd;

use super::bytes::Bytes;
use super::vhost_device::{RESTARTS_MAX, config, with_device};

/// More answers than that nobody reads would fill the socket.
const MESSAGES_MAX: usize = 64;

/// Of those that may start a queue.
const STARTING: [u32; 7] = [5, 9, 11, 12, 18, 37, 38];

/// Messages of the protocol that are taken, and a few that are not.
const CODES: [u32; 28] = [
    1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 24, 26, 27, 31, 32, 34, 36, 37, 38,
    40, 99,
];

/// Says what the bytes say, as a stream or after a proper beginning: the device does not
/// panic, and serves whoever comes next with nothing left of this one.
pub fn vhost_messages(data: &[u8]) {
    let mut input = Bytes::new(data);
    with_device(|bench| {
        bench.device();
        if input.byte() & 7 == 0 {
            let stream = UnixStream::connect(bench.socket());
            // A device that hangs up before the end is right.
            let _ = stream.expect("it listens").write_all(input.rest());
        } else {
            let mut front = FrontEnd::connect(&bench.socket(), config(8)).expect("it serves");
            let _driver = (input.byte() & 1 == 1).then(|| front.start(0).expect("it serves"));
            let mut starts = 0;
            for _ in 0..MESSAGES_MAX {
                let code = input.pick(&CODES);
                starts += u32::from(STARTING.contains(&code));
                let is_over = input.is_empty() || starts > RESTARTS_MAX;
                if is_over || say(&front, code, &mut input).is_none() {
                    break;
                }
            }
        }
        bench.serves();
    });
}

/// `None` when the device has hung up.
fn say(front: &FrontEnd, code: u32, input: &mut Bytes<'_>) -> Option<()> {
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
    let body = match input.below(16) {
        0 => body[..body.len().min(input.below(1100))].to_vec(),
        1 => [body, vec![input.byte(); input.below(3000)]].concat(),
        _ => body,
    };
    let files = match code {
        5 | 6 | 12..=14 | 32 | 37 => input.below(4),
        _ if input.below(8) == 0 => input.below(34),
        _ => 0,
    };
    let files = (0..files).map(|_| file(input)).collect();
    front.send(code, body, files).ok()
}

fn file(input: &mut Bytes<'_>) -> OwnedFd {
    let made = match input.below(4) {
        0 | 1 => Event::new().and_then(|event| event.as_fd().try_clone_to_owned()),
        2 => sealed(1 << 16),
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
        2..5 => 0x7000_0000_0000 + (u64::from(input.word()) << 4),
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
