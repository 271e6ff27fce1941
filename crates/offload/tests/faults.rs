//! A hostile path: what arrives is what was sent, whatever else arrives, and no text ever
//! leaves unsealed.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::common::{ALL, Kind, connect, echo, party, round_trip, run, socket};

/// Words that the texts are made of.
pub const WORD: &[u8; 16] = b"lockgate's words";
/// Forged datagrams for each that is real.
const FORGED: u64 = 8;

/// Numbers that a seed gives (Steele, Lea, Flood: splitmix64).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

#[derive(Default)]
struct Tally {
    carried: AtomicU64,
    forged: AtomicU64,
    replayed: AtomicU64,
    lost: AtomicU64,
    /// Datagrams with a word in them.
    leaked: AtomicU64,
}

pub struct Relay {
    pub address: SocketAddr,
    tally: Arc<Tally>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Datagrams with a word in them.
    pub fn leaked(&self) -> u64 {
        self.tally.leaked.load(Ordering::Relaxed)
    }

    pub fn start(server: SocketAddr, seed: u64) -> Self {
        let (front, back) = (socket(), socket());
        let address = front.local_addr().unwrap();
        let (tally, ends) = (Arc::<Tally>::default(), Arc::<AtomicBool>::default());
        let thread = std::thread::spawn({
            let (tally, ends) = (tally.clone(), ends.clone());
            move || carry(&front, &back, server, seed, &tally, &ends)
        });
        Self {
            address,
            tally,
            ends,
            thread: Some(thread),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

fn carry(
    front: &UdpSocket,
    back: &UdpSocket,
    server: SocketAddr,
    seed: u64,
    tally: &Tally,
    ends: &AtomicBool,
) {
    for socket in [front, back] {
        socket.set_nonblocking(true).unwrap();
    }
    let mut client = None;
    let mut random = Random(seed);
    // Of each direction: what was carried, to be sent again; what is held back.
    let mut kept = [Vec::<Vec<u8>>::new(), Vec::new()];
    let mut held = [Vec::<Vec<u8>>::new(), Vec::new()];
    let mut buffer = [0; 1 << 16];
    while !ends.load(Ordering::Relaxed) {
        let mut is_idle = true;
        for way in 0..2 {
            let (from, to) = if way == 0 {
                (front, back)
            } else {
                (back, front)
            };
            let got = from.recv_from(&mut buffer).ok();
            if got.is_none() && held[way].is_empty() {
                continue;
            }
            is_idle = false;
            if way == 0
                && let Some((_, source)) = got
            {
                client = Some(source);
            }
            let target = if way == 0 { Some(server) } else { client };
            let Some(target) = target else {
                continue;
            };
            let send = |datagram: &[u8]| {
                let _ = to.send_to(datagram, target);
            };
            if let Some((bytes, _)) = got {
                let datagram = &buffer[..bytes];
                let leaks = datagram.windows(WORD.len()).any(|window| window == WORD);
                tally.leaked.fetch_add(leaks.into(), Ordering::Relaxed);
                // Keys of Initial packets are public: who forges them ends any handshake.
                if datagram[0] & 0x80 == 0 {
                    for _ in 0..FORGED {
                        send(&forged(datagram, &mut random));
                    }
                    tally.forged.fetch_add(FORGED, Ordering::Relaxed);
                }
                match random.below(100) {
                    0 => {
                        tally.lost.fetch_add(1, Ordering::Relaxed);
                    }
                    1..20 => held[way].push(datagram.to_vec()),
                    _ => send(datagram),
                }
                tally.carried.fetch_add(1, Ordering::Relaxed);
                if random.one_in(4) {
                    kept[way].push(datagram.to_vec());
                }
                if !kept[way].is_empty() && random.one_in(2) {
                    let at = random.below(kept[way].len() as u64) as usize;
                    send(&kept[way][at]);
                    tally.replayed.fetch_add(1, Ordering::Relaxed);
                }
                if kept[way].len() > 200 {
                    kept[way].clear();
                }
            }
            if got.is_none() || held[way].len() > 8 {
                while !held[way].is_empty() {
                    let at = random.below(held[way].len() as u64) as usize;
                    send(&held[way].swap_remove(at));
                }
            }
        }
        if is_idle {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// A datagram that looks like the real one, and is not.
fn forged(real: &[u8], random: &mut Random) -> Vec<u8> {
    let mut forged = real.to_vec();
    let end = forged.len();
    match random.below(5) {
        // A bit of it, behind its connection id.
        0 => {
            let at = 9 + random.below(end as u64 - 9) as usize;
            forged[at] ^= 1 << random.below(8);
        }
        // Its tag.
        1 => forged[end - 1 - random.below(16) as usize] ^= 0x40,
        // Cut off.
        2 => forged.truncate(1 + random.below(end as u64 - 1).max(1) as usize),
        // Longer.
        3 => forged.extend_from_slice(&random.next().to_le_bytes()),
        // All of it but the header's beginning; as short as a packet may be, sometimes.
        _ => {
            if random.one_in(2) {
                forged.truncate(30);
            }
            for byte in forged.iter_mut().skip(9) {
                *byte = random.next() as u8;
            }
        }
    }
    // The same bytes would not be forged.
    if forged == real {
        forged.push(0);
    }
    forged
}

fn through_faults(server: Kind, client: Kind, seed: u64) -> u64 {
    let rounds = if testing::is_thorough() { 60 } else { 5 };
    let text: Vec<u8> = WORD.iter().copied().cycle().take(400_000).collect();
    run(async {
        let (server, client) = (party(server, |_| {}), party(client, |_| {}));
        echo(&server.endpoint);
        let relay = Relay::start(server.address(), seed);
        let connection = connect(&client, relay.address).await;
        for round in 0..rounds {
            assert!(round_trip(&connection, &text).await == text);
            if round % 2 == 0 {
                connection.force_key_update();
            }
        }
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let tally = &relay.tally;
        assert_eq!(of(&tally.leaked), 0, "texts that left unsealed");
        assert!(of(&tally.replayed) > 100 && of(&tally.lost) > 5);
        for counts in [server.counts(), client.counts()] {
            assert_eq!(counts.unmatched, 0, "{counts:?}");
            assert_eq!(counts.spoilt, 0, "{counts:?}");
        }
        of(&tally.forged)
    })
}

#[test]
fn only_what_was_sent_arrives() {
    let mut forged = 0;
    for (seed, (server, client)) in [
        (ALL, ALL),
        (Kind::Stock, ALL),
        (ALL, Kind::Stock),
        (Kind::Worker, Kind::Worker),
    ]
    .into_iter()
    .enumerate()
    {
        forged += through_faults(server, client, seed as u64);
    }
    println!("{forged} forged datagrams");
    assert!(
        forged
            > if testing::is_thorough() {
                1_000_000
            } else {
                50_000
            }
    );
}

/// The relay finds a text that is there: without that, it proves nothing.
#[test]
fn a_word_that_leaks_is_found() {
    let (server, client) = (socket(), socket());
    let relay = Relay::start(server.local_addr().unwrap(), 1);
    client.connect(relay.address).unwrap();
    for _ in 0..20 {
        client.send(&[&[0x40; 20][..], WORD].concat()).unwrap();
    }
    for _ in 0..1000 {
        if relay.tally.carried.load(Ordering::Relaxed) == 20 {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(relay.tally.leaked.load(Ordering::Relaxed), 20);
}
