//! When a guest is told of what is done: it keeps many requests in flight, and yet
//! submits them one by one, slower than the device is.

use std::time::{Duration, Instant};

use lockgate_vhost::front::{Driver, FrontConfig, FrontEnd, Interrupts, Request};
use wire::virtio_crypto::Header;

use crate::common::{LONG, Rig, cipher, is_ok, open_aes};

const LEN: usize = 64;
/// A driver's own work for a request, before the next.
const PAUSE: Duration = Duration::from_micros(20);

/// A driver that submits one request after the other as long as fewer than `depth` are in
/// flight, and takes back what is done when it is told, and then only.
struct Guest {
    front: FrontEnd,
    driver: Driver,
    header: Header,
    ended: usize,
}

impl Guest {
    fn new(rig: &Rig) -> Self {
        let mut front = rig.front(FrontConfig {
            queue_size: 64,
            interrupts: Interrupts::EventIndex,
            ..FrontConfig::default()
        });
        let driver = front.start(0).unwrap();
        let header = cipher(open_aes(&mut front, true), true, LEN);
        driver.interrupt().clear();
        Self {
            front,
            driver,
            header,
            ended: 0,
        }
    }

    /// Until `count` more have ended; how often it was told.
    fn run(&mut self, depth: usize, count: usize) -> usize {
        let (mut told, until) = (0, self.ended + count);
        while self.ended < until {
            let is_told = if self.driver.in_flight() < depth {
                self.submit();
                self.driver.interrupt().clear()
            } else {
                assert!(self.driver.interrupt().wait(LONG), "{} hang", depth);
                true
            };
            if is_told {
                told += 1;
                self.reap();
            }
        }
        told
    }

    /// Of what ends before it has asked to be told, nobody tells it.
    fn reap(&mut self) {
        loop {
            let reaped = self.driver.reap(|done| assert!(is_ok(&done), "{done:?}"));
            self.driver.ask_after(0);
            if reaped == 0 {
                return;
            }
            self.ended += reaped;
        }
    }

    fn submit(&mut self) {
        let begin = Instant::now();
        while begin.elapsed() < PAUSE {
            std::hint::spin_loop();
        }
        let place = [(self.front.data_at(), LEN)];
        let request = Request {
            header: self.header,
            iv: [1; 16],
            source: &place,
            destination: &place,
        };
        self.driver.submit(&request, 0).unwrap();
        self.driver.kick();
    }
}

#[test]
fn a_guest_is_told_of_many_at_once() {
    testing::timed(|| {
        let rig = Rig::new();
        let mut guest = Guest::new(&rig);
        for depth in [16, 48] {
            guest.run(depth, 20 * depth);
            let (requests, kicks) = (100 * depth, guest.driver.kicks());
            let told = guest.run(depth, requests);
            // Without moderation it is told of each; beside other tests its thread is kept
            // from the CPU, and is told more often than it need be.
            assert!(told <= requests / 2, "{told} of {requests}");
            // What is expected needs no kick.
            let kicks = guest.driver.kicks() - kicks;
            assert!(kicks <= requests as u64 / 2, "{kicks} of {requests}");
        }
    });
}

/// It waits for each, so nothing is to come: each is told at once, and none was held.
#[test]
fn a_guest_with_one_in_flight_is_told_of_each_at_once() {
    let rig = Rig::new();
    let mut guest = Guest::new(&rig);
    assert_eq!(guest.run(1, 300), 300);
    let held = rig.device().function().watch().counters();
    assert_eq!((held.held, held.notifications), (0, 300));
}

/// Once it kept many in flight, and now it waits for each: that is learnt by one that is
/// late, and by less than a guest notices.
#[test]
fn a_guest_that_comes_to_wait_for_each_is_told_at_once_again() {
    let rig = Rig::new();
    let mut guest = Guest::new(&rig);
    guest.run(16, 500);
    let until_alone = |guest: &mut Guest| {
        while guest.driver.in_flight() > 0 {
            assert!(guest.driver.interrupt().wait(LONG));
            guest.reap();
        }
    };
    until_alone(&mut guest);
    guest.run(1, 5);
    let before = rig.device().function().watch().counters();
    assert_eq!(guest.run(1, 200), 200);
    let since = rig.device().function().watch().counters().since(&before);
    assert_eq!((since.held, since.notifications), (0, 200));
}
