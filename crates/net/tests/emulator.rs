//! A link between two namespaces, with real sockets at both ends.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use lockgate_net::emulator::{Direction, Emulator, LEFT, RIGHT, Shape};
use lockgate_net::{Journal, Tag};
use testing::is_root;

/// Ethernet, IPv4 and UDP around a payload.
const HEADER_BYTES: u64 = 14 + 20 + 8;

fn link(shape: Shape) -> Option<Emulator> {
    if !is_root() {
        return None;
    }
    let (journal, tag) = (Journal::open().unwrap(), Tag::fresh());
    Some(Emulator::start(&journal, &tag, shape, shape).unwrap())
}

/// A socket at each end, once the ends know each other.
fn sockets(link: &Emulator) -> (UdpSocket, UdpSocket) {
    let bound = |address| move || UdpSocket::bind((address, 9000)).unwrap();
    let left = link.left.run(bound(LEFT)).unwrap();
    let right = link.right.run(bound(RIGHT)).unwrap();
    left.connect((RIGHT, 9000)).unwrap();
    right.connect((LEFT, 9000)).unwrap();
    for socket in [&left, &right] {
        socket
            .set_read_timeout(Some(Duration::from_millis(200)))
            .unwrap();
    }
    // Until addresses are resolved.
    for _ in 0..50 {
        left.send(b"hello").unwrap();
        if right.recv(&mut [0; 64]).is_ok() {
            right.send(b"hello").unwrap();
            if left.recv(&mut [0; 64]).is_ok() {
                break;
            }
        }
    }
    while right.recv(&mut [0; 64]).is_ok() {}
    while left.recv(&mut [0; 64]).is_ok() {}
    (left, right)
}

#[test]
fn a_round_trip_takes_both_delays() {
    let delay = Duration::from_millis(15);
    let Some(link) = link(Shape {
        delay,
        ..Shape::OPEN
    }) else {
        return;
    };
    let (left, right) = sockets(&link);
    for _ in 0..5 {
        let begin = Instant::now();
        left.send(b"there").unwrap();
        right.recv(&mut [0; 64]).unwrap();
        assert!(begin.elapsed() >= delay);
        right.send(b"back").unwrap();
        left.recv(&mut [0; 64]).unwrap();
        assert!(begin.elapsed() >= 2 * delay);
    }
    assert!(link.is_running());
}

#[test]
fn a_full_queue_drops_its_tail_and_a_rate_takes_time() {
    let Some(link) = link(Shape::OPEN) else {
        return;
    };
    let (left, right) = sockets(&link);
    // Ten frames of 1042 bytes wait, and no byte more; each takes 41.68 ms.
    link.reshape(
        Direction::LeftToRight,
        Shape {
            rate_bit_per_s: Some(200_000),
            queue_bytes: 10 * 1042,
            ..Shape::OPEN
        },
    );
    let before = link.traffic(Direction::LeftToRight).counts;
    let begin = Instant::now();
    for number in 0..40_u8 {
        left.send(&[number; 1000]).unwrap();
    }
    let mut got = Vec::new();
    let mut payload = [0; 2000];
    while let Ok(bytes) = right.recv(&mut payload) {
        assert_eq!(bytes, 1000);
        got.push(payload[0]);
    }
    let traffic = link.traffic(Direction::LeftToRight);
    let (after, lateness) = (traffic.counts, traffic.lateness);
    // While they were sent, one more may have left.
    let carried = after.carried - before.carried;
    assert!((10..=12).contains(&carried), "{after:?}");
    assert_eq!(carried + after.dropped - before.dropped, 40);
    assert_eq!(
        after.carried_bytes - before.carried_bytes,
        carried * (1000 + HEADER_BYTES)
    );
    assert_eq!(
        got,
        (0..got.len() as u8).collect::<Vec<_>>(),
        "the tail is dropped"
    );
    assert_eq!(got.len() as u64, carried);
    let least = Duration::from_micros(41_680) * carried as u32;
    assert!(begin.elapsed() >= least, "{:?}", begin.elapsed());
    assert!(lateness.frames >= carried);
}

#[test]
fn some_are_lost_and_the_others_arrive_in_order() {
    let Some(link) = link(Shape::OPEN) else {
        return;
    };
    let (left, right) = sockets(&link);
    link.reshape(
        Direction::LeftToRight,
        Shape {
            loss: 0.3,
            seed: 7,
            ..Shape::OPEN
        },
    );
    let before = link.traffic(Direction::LeftToRight).counts;
    let mut got = 0_u64;
    for number in 0..500_u32 {
        left.send(&number.to_be_bytes()).unwrap();
        if number % 20 == 19 {
            let mut payload = [0; 64];
            let until = number;
            while let Ok(4) = right.recv(&mut payload) {
                let number = u32::from_be_bytes(payload[..4].try_into().unwrap());
                assert!(number <= until);
                got += 1;
                let now = link.traffic(Direction::LeftToRight).counts;
                let sent = u64::from(until) + 1;
                let all = now.carried + now.lost - before.carried - before.lost;
                if all == sent && got == now.carried - before.carried {
                    break;
                }
            }
        }
    }
    let after = link.traffic(Direction::LeftToRight).counts;
    let (carried, lost) = (after.carried - before.carried, after.lost - before.lost);
    assert_eq!(carried + lost, 500);
    assert_eq!(got, carried);
    assert!((100..200).contains(&lost), "{lost}");
}

#[test]
fn the_port_that_is_watched_is_counted_apart() {
    let Some(link) = link(Shape::OPEN) else {
        return;
    };
    let (left, right) = sockets(&link);
    let bind = || UdpSocket::bind((LEFT, 0)).unwrap();
    let other = link.left.run(bind).unwrap();
    let forth = || link.traffic(Direction::LeftToRight);
    let before = forth();
    link.watch(9000);
    for _ in 0..10 {
        left.send(&[1; 100]).unwrap();
        other.send_to(&[2; 50], (RIGHT, 9001)).unwrap();
        right.recv(&mut [0; 200]).unwrap();
    }
    let watched = forth().watched_bytes - before.watched_bytes;
    assert_eq!(watched, 10 * (100 + HEADER_BYTES));
    assert!(forth().counts.carried_bytes - before.counts.carried_bytes > watched);
}
