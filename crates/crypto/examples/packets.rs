//! Random packets of QUIC by every back-end: what one seals, all seal, open and refuse alike.
//!
//! `cargo run --release -p lockgate-crypto --example packets [PACKETS [SEED]]`
//!
//! A thread on each CPU, with seeds of its own; ends with 1 at the first difference.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use lockgate_crypto::{
    Algorithm, Backend, Key, KeyMaterial, Operation, PacketPlace, PacketSlices, Packets, Status,
    backends, process_packets,
};

const BATCH_MAX: usize = 80;
const TAG_BYTES: usize = 16;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let words = (0..count.div_ceil(8)).flat_map(|_| self.next().to_le_bytes());
        words.take(count).collect()
    }
}

struct Packet {
    key: usize,
    number: u64,
    number_at: u16,
    /// What a side that opens expects next, and of which key phase.
    expected: u64,
    phase: Option<bool>,
    plain: Vec<u8>,
}

impl Packet {
    fn new(keys: usize, random: &mut Random) -> Self {
        let (header, text) = (random.below(3), random.below(3));
        let number_at = 1 + random.below([21, 21, 120][header]);
        let payload = random.below([40, 300, 1500][text]);
        let mut plain = random.bytes(number_at + 4 + payload);
        plain[0] = plain[0] & 0xe7 | 0x40;
        let bytes = usize::from(plain[0] & 3) + 1;
        let by = 2 + random.below(62);
        let number = random.next() >> by;
        plain[number_at..number_at + bytes].copy_from_slice(&number.to_be_bytes()[8 - bytes..]);
        let is_long = plain[0] & 0x80 > 0;
        let is_set = plain[0] & 4 > 0;
        Self {
            key: random.below(keys),
            number,
            number_at: number_at as u16,
            // As far before as its bytes reach.
            expected: number.saturating_sub(random.next() % (1 << (8 * bytes - 1))),
            phase: (!is_long).then_some(is_set ^ (random.below(16) == 0)),
            plain,
        }
    }
}

/// What each packet became.
type Ended = Vec<(Status, Vec<u8>)>;

fn run(
    backend: &dyn Backend,
    (suite, operation): (Packets, Operation),
    keys: &[Box<dyn Key>],
    packets: &[Packet],
    from: &[Vec<u8>],
) -> Ended {
    let seals = operation == Operation::Encrypt;
    let mut to: Vec<_> = from
        .iter()
        .map(|from| match seals {
            true => vec![0xa5; from.len() + TAG_BYTES],
            false => vec![0xa5; from.len() - TAG_BYTES],
        })
        .collect();
    let all = packets.iter().zip(from).zip(&mut to);
    let mut all: Vec<_> = all
        .map(|((packet, source), destination)| PacketSlices {
            key: &*keys[packet.key],
            place: PacketPlace {
                number: if seals {
                    packet.number
                } else {
                    packet.expected
                },
                number_at: packet.number_at,
                phase: packet.phase.filter(|_| !seals),
            },
            source,
            destination,
            status: Status::Cancelled,
        })
        .collect();
    process_packets(backend, suite, operation, &mut all);
    let statuses: Vec<_> = all.iter().map(|one| one.status).collect();
    statuses.into_iter().zip(to).collect()
}

/// A batch by all that have the suite; the name of the first that differs.
fn batch(
    backends: &[Arc<dyn Backend>],
    suite: Packets,
    random: &mut Random,
) -> Result<u64, String> {
    let count = 1 + random.below(BATCH_MAX);
    let keys = [1, 1, 2, count][random.below(4)];
    let materials: Vec<_> = (0..keys).map(|_| random.bytes(suite.key_bytes())).collect();
    let packets: Vec<_> = (0..count).map(|_| Packet::new(keys, random)).collect();
    let plain: Vec<_> = packets.iter().map(|one| one.plain.clone()).collect();
    let mut expected: Option<[Ended; 2]> = None;
    let mut forged = Vec::new();
    for backend in backends {
        let key = |material: &Vec<u8>| {
            let material = KeyMaterial::take(&mut material.clone());
            backend.key(Algorithm::Packets(suite), &material)
        };
        let Ok(keys) = materials.iter().map(key).collect::<Result<Vec<_>, _>>() else {
            continue;
        };
        let sealed = run(
            &**backend,
            (suite, Operation::Encrypt),
            &keys,
            &packets,
            &plain,
        );
        if forged.is_empty() {
            forged = sealed.iter().map(|(_, bytes)| bytes.clone()).collect();
            for packet in &mut forged {
                let at = random.below(64 * packet.len());
                // One of eight.
                if let Some(byte) = packet.get_mut(at / 8) {
                    *byte ^= 1 << (at % 8);
                }
            }
        }
        let opened = run(
            &**backend,
            (suite, Operation::Decrypt),
            &keys,
            &packets,
            &forged,
        );
        let own = [sealed, opened];
        match &expected {
            None => expected = Some(own),
            Some(expected) if *expected == own => {}
            Some(_) => return Err(format!("{} {}", backend.name(), suite.name())),
        }
    }
    let [sealed, opened] = expected.ok_or("no back-end has the suite")?;
    // What all agree on has to be right, too.
    for (((sealed, opened), forged), plain) in sealed.iter().zip(&opened).zip(&forged).zip(&plain) {
        let is_whole = sealed.1 == *forged;
        let is_right = match opened.0 {
            Status::Ok => is_whole && opened.1 == *plain,
            Status::AuthenticationFailed => !is_whole && opened.1.iter().all(|byte| *byte == 0),
            Status::InvalidInput => opened.1.iter().all(|byte| *byte == 0),
            _ => false,
        };
        if sealed.0 != Status::Ok || !is_right {
            return Err(format!(
                "all, {}: {:?} {:?}",
                suite.name(),
                sealed.0,
                opened.0
            ));
        }
    }
    Ok(count as u64)
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual| {
        let text = arguments.next();
        text.map_or(Ok(usual), |text| text.parse::<u64>())
    };
    let (Ok(wanted), Ok(seed)) = (number(1_000_000), number(1)) else {
        eprintln!("usage: packets [PACKETS [SEED]], both numbers");
        return ExitCode::from(2);
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (done, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let began = Instant::now();
    let worker = |thread: usize| {
        let backends = backends();
        let mut random = Random(seed << 16 | thread as u64);
        while !is_over.load(Ordering::Relaxed) {
            let suite = Packets::ALL[random.below(Packets::ALL.len())];
            match batch(&backends, suite, &mut random) {
                Ok(count) if done.fetch_add(count, Ordering::Relaxed) + count < wanted => {}
                Ok(_) => is_over.store(true, Ordering::Relaxed),
                Err(who) => {
                    eprintln!("differs: {who}, seed {seed}, thread {thread}");
                    is_over.store(true, Ordering::Relaxed);
                    return false;
                }
            }
        }
        true
    };
    let are_right = std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || worker(thread)))
            .collect();
        all.into_iter().all(|one| one.join().unwrap_or(false))
    });
    let names: Vec<_> = backends().iter().map(|one| one.name()).collect();
    println!(
        "{} packets, seed {seed}, {threads} threads, {:.0} s: {} of {}",
        done.load(Ordering::Relaxed),
        began.elapsed().as_secs_f64(),
        if are_right { "0 wrong" } else { "wrong" },
        names.join(", ")
    );
    ExitCode::from(u8::from(!are_right))
}
