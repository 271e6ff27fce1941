//! What a look-up among many connections costs: nanoseconds a packet, with the table
//! asking for memory ahead and without.
//!
//! `cargo run --release -p lockgate-quic --example table_speed [BACKEND [CONNECTIONS [SECONDS
//! [BYTES]]]]`
//!
//! Packets of 64 bytes, or so many, in AES-128-GCM, in batches of 32, one thread. Connections (10^6, or
//! as many as memory has room for) are drawn evenly from a thousand, evenly from all, and
//! from all by Zipf's law with 1.1. The arms take turns; medians of all turns, and the
//! middle half of them. Every packet is new to its connection, and all must open; but two
//! rows are of forged ones, of which the other phase's cost the set-up of a key each.

use std::time::{Duration, Instant};

use crypto::{
    Algorithm, Backend, KeyMaterial, Operation, PacketPlace, PacketSlices, Status, process_packets,
};
use lockgate_quic::protection::{HeaderKey, PacketKey};
use lockgate_quic::table::{
    CONNECTION_BYTES, Capacity, Connection, OpenRequest, Outcome, Path, WhenFull,
};
use lockgate_quic::{Protocol, Secret, Suite, Table};
use wire::quic::ConnectionId;

const SUITE: Suite = Suite::Aes128Gcm;
const ID_BYTES: usize = 8;
const NUMBER_AT: usize = 1 + ID_BYTES;
const BATCH: usize = 32;
/// A turn of one arm: so many packets are sealed before, and then opened.
const TURN_PACKETS: usize = 128 * BATCH;
const FEW: usize = 1000;
const ZIPF: f64 = 1.1;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 8
    }

    /// From 0 to 1.
    fn part(&mut self) -> f64 {
        self.next() as f64 / (1_u64 << 56) as f64
    }
}

/// What is sent.
#[derive(Clone, Copy, PartialEq)]
enum Sent {
    Good,
    Forged,
    /// With the bit of the other key phase.
    ForgedOther,
}

/// Draws connections.
enum Draw {
    Even(usize),
    /// The sums of the weights of those up to each.
    Zipf(Vec<f64>),
}

impl Draw {
    fn zipf(connections: usize) -> Self {
        let mut sum = 0.0;
        let weight = |rank: usize| {
            sum += ((rank + 1) as f64).powf(-ZIPF);
            sum
        };
        Self::Zipf((0..connections).map(weight).collect())
    }

    fn draw(&self, random: &mut Random) -> usize {
        match self {
            Self::Even(among) => (random.next() % *among as u64) as usize,
            Self::Zipf(sums) => {
                let at = random.part() * sums.last().expect("there is one");
                let rank = sums.partition_point(|sum| *sum <= at);
                // Ranks lie all over the table.
                (rank as u64 * 2_654_435_761 % sums.len() as u64) as usize
            }
        }
    }
}

fn id(connection: usize) -> [u8; ID_BYTES] {
    (connection as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .to_be_bytes()
}

struct Bench {
    backend: &'static dyn Backend,
    table: Table,
    /// All seal by the same: what the peers do is not measured, and has to fit beside.
    peers: (HeaderKey, PacketKey<'static>),
    /// Of each connection, the next.
    numbers: Vec<u64>,
    material: KeyMaterial,
    began: Instant,
    random: Random,
    packet_bytes: usize,
}

impl Bench {
    fn new(
        name: &str,
        wanted: usize,
        packet_bytes: usize,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let backend: &'static dyn Backend = &**Box::leak(Box::new(crypto::by_name(name)?));
        let secret = Secret::new(vec![7; SUITE.secret_bytes()]);
        let material = Protocol::V1.packets_key(SUITE, &secret, &secret);
        let mut bench = Self {
            table: table(wanted)?,
            peers: (
                HeaderKey::derive(Protocol::V1, SUITE, &secret),
                PacketKey::derive(backend, Protocol::V1, SUITE, &secret)?,
            ),
            numbers: Vec::new(),
            began: Instant::now(),
            random: Random(0x9e37_79b9_7f4a_7c15),
            packet_bytes,
            backend,
            material,
        };
        for connection in 0..wanted {
            // Leave a sixth of what was there.
            if connection % 4096 == 0 && available_bytes() < total_bytes() / 6 {
                println!("memory is short: {connection} connections instead of {wanted}");
                break;
            }
            let new = Connection {
                suite: SUITE,
                key: bench.key()?,
                next: &bench.material,
                id: ConnectionId::new(&id(connection))?,
                path: path(),
            };
            bench.table.add(new, 0)?;
            bench.numbers.push(0);
        }
        Ok(bench)
    }

    fn key(&self) -> Result<Box<dyn crypto::Key>, crypto::KeyError> {
        let algorithm = Algorithm::Packets(SUITE.packets());
        self.backend.key(algorithm, &self.material)
    }

    /// Packets to the connections that are drawn, each with its next number.
    fn packets(&mut self, draw: &Draw, sent: Sent) -> Vec<u8> {
        let bytes = self.packet_bytes;
        let mut packets = vec![0; TURN_PACKETS * bytes];
        for packet in packets.chunks_mut(bytes) {
            let connection = draw.draw(&mut self.random);
            let number = &mut self.numbers[connection];
            packet[0] = if sent == Sent::ForgedOther {
                0x47
            } else {
                0x43
            };
            packet[1..=ID_BYTES].copy_from_slice(&id(connection));
            let end = *number as u32;
            packet[NUMBER_AT..NUMBER_AT + 4].copy_from_slice(&end.to_be_bytes());
            let (header, payload) = &self.peers;
            let sealed = payload.seal(header, packet, NUMBER_AT, *number);
            sealed.expect("there is room");
            packet[bytes - 1] ^= u8::from(sent != Sent::Good);
            *number += 1;
        }
        packets
    }

    /// Nanoseconds a packet of one connection, its key and numbers known: no table.
    fn floor(&mut self) -> f64 {
        let packets = self.packets(&Draw::Even(1), Sent::Good);
        // The table does not see them, and would not know their numbers.
        self.numbers[0] -= TURN_PACKETS as u64;
        let key = self.key().expect("it was made before");
        let bytes = self.packet_bytes;
        // Not zeros: their pages would be touched for the first time within the turn.
        let mut destinations = vec![1; packets.len()];
        let mut slices: Vec<_> = packets
            .chunks(bytes)
            .zip(destinations.chunks_mut(bytes).map(|to| &mut to[16..]))
            .map(|(packet, destination)| PacketSlices {
                key: &*key,
                place: PacketPlace {
                    number: self.numbers[0],
                    number_at: NUMBER_AT as u16,
                    phase: Some(false),
                },
                source: packet,
                destination,
                status: Status::BackendFailed,
            })
            .collect();
        let start = Instant::now();
        for batch in slices.chunks_mut(BATCH) {
            process_packets(self.backend, SUITE.packets(), Operation::Decrypt, batch);
        }
        let spent = start.elapsed();
        assert!(slices.iter().all(|one| one.status == Status::Ok));
        spent.as_secs_f64() * 1e9 / TURN_PACKETS as f64
    }

    /// Nanoseconds a packet.
    fn turn(&mut self, draw: &Draw, sent: Sent, prefetches: bool) -> f64 {
        let packets = self.packets(draw, sent);
        let bytes = self.packet_bytes;
        let mut destinations = vec![1; packets.len()];
        let mut requests: Vec<_> = packets
            .chunks(bytes)
            .zip(destinations.chunks_mut(bytes).map(|to| &mut to[16..]))
            .map(|(packet, destination)| OpenRequest {
                path: path(),
                packet,
                number_at: NUMBER_AT as u16,
                destination,
                outcome: Outcome::Waiting,
            })
            .collect();
        self.table.set_prefetches(prefetches);
        let now_ns = self.began.elapsed().as_nanos() as u64;
        let start = Instant::now();
        for batch in requests.chunks_mut(BATCH) {
            self.table.open_batch(self.backend, batch, now_ns);
        }
        let spent = start.elapsed();
        let all = requests
            .iter()
            .all(|one| matches!(one.outcome, Outcome::Opened(_)) == (sent == Sent::Good));
        assert!(all, "a good packet did not open, or a forged one did");
        spent.as_secs_f64() * 1e9 / TURN_PACKETS as f64
    }
}

fn path() -> Path {
    Path::new(([192, 0, 2, 1], 4433).into(), 0)
}

fn table(connections: usize) -> Result<Table, lockgate_quic::table::CapacityError> {
    let connections = u32::try_from(connections).unwrap_or(u32::MAX);
    let capacity = Capacity {
        connections,
        ids: connections,
        failures: u64::MAX,
    };
    Table::new(capacity, WhenFull::Refuse)
}

/// Bytes of a line of `/proc`; 0 where there is none.
fn proc_bytes(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| {
        line.trim_matches([' ', '\t', ':', 'k', 'B'])
            .parse::<u64>()
            .ok()
    });
    number.unwrap_or(0) * 1024
}

fn available_bytes() -> u64 {
    proc_bytes("/proc/meminfo", "MemAvailable")
}

fn total_bytes() -> u64 {
    proc_bytes("/proc/meminfo", "MemTotal")
}

/// Lower quartile, median, upper quartile.
fn quartiles(values: &mut [f64]) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let backend = arguments.next().unwrap_or("aws-lc".into());
    let wanted = arguments
        .next()
        .map_or(Ok(1_000_000), |text| text.parse())?;
    let seconds = arguments.next().map_or(Ok(5.0), |text| text.parse())?;
    let bytes = arguments.next().map_or(Ok(64), |text| text.parse())?;
    if !(NUMBER_AT + 20..=65_535).contains(&bytes) {
        return Err(format!("packets of {bytes} bytes: take 29 to 65535").into());
    }
    let before = proc_bytes("/proc/self/status", "VmRSS");
    let mut bench = Bench::new(&backend, wanted, bytes)?;
    let connections = bench.numbers.len().max(1);
    let grown = proc_bytes("/proc/self/status", "VmRSS").saturating_sub(before);
    println!(
        "{backend}, packets of {bytes} bytes, {connections} connections: {CONNECTION_BYTES} bytes each for entry, index \
         and one id; {} with the key object and all else that grew",
        grown as usize / connections
    );
    let few = FEW.min(connections);
    let draws = [
        (format!("even among {few}"), Draw::Even(few), Sent::Good),
        (
            format!("even among {connections}"),
            Draw::Even(connections),
            Sent::Good,
        ),
        (
            format!("Zipf {ZIPF} among {connections}"),
            Draw::zipf(connections),
            Sent::Good,
        ),
        (format!("forged, {few}"), Draw::Even(few), Sent::Forged),
        (
            format!("other phase forged, {few}"),
            Draw::Even(few),
            Sent::ForgedOther,
        ),
    ];
    let arms = [true, false];
    let mut spent = vec![[Vec::new(), Vec::new()]; draws.len()];
    let mut floor = Vec::new();
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    // The first turn of each warms up; which arm begins changes.
    for round in 0.. {
        if round > 1 && Instant::now() > end {
            break;
        }
        floor.push(bench.floor());
        for ((_, draw, sent), spent) in draws.iter().zip(&mut spent) {
            for turn in 0..2 {
                let arm = (turn + round) % 2;
                let ns = bench.turn(draw, *sent, arms[arm]);
                if round > 0 {
                    spent[arm].push(ns);
                }
            }
        }
    }
    println!(
        "{:26} {:>26} {:>26} {:>7} {:>6}",
        "ns a packet", "prefetch", "none", "ratio", "turns"
    );
    let [low, middle, high] = quartiles(&mut floor);
    let floor = format!("{middle:.0} ({low:.0} to {high:.0})");
    println!("{:26} {:>26} {floor:>26}", "one key, no table", "");
    for ((name, ..), [with, without]) in draws.iter().zip(&mut spent) {
        let [a, b] = [quartiles(with), quartiles(without)];
        let cell = |[low, middle, high]: [f64; 3]| format!("{middle:.0} ({low:.0} to {high:.0})");
        println!(
            "{name:26} {:>26} {:>26} {:>7.2} {:>6}",
            cell(a),
            cell(b),
            b[1] / a[1],
            with.len()
        );
    }
    Ok(())
}
