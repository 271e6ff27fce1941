//! Loom models of the ring and the wake index: every interleaving of up to
//! three items, preemption bound 3.
//! Run: `RUSTFLAGS="--cfg loom" cargo test -p lockgate-sys --test loom --release`
#![cfg(loom)]

use lockgate_sys::{ring::ring, wake::WakeIndex};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

/// Stands for the eventfd: a counter one can wait on.
#[derive(Default)]
struct Event(Mutex<bool>, Condvar);

impl Event {
    fn signal(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_one();
    }

    fn wait(&self) {
        let mut signalled = self.0.lock().unwrap();
        while !*signalled {
            signalled = self.1.wait(signalled).unwrap();
        }
        *signalled = false;
    }
}

#[test]
fn ring_delivers_in_order_through_a_lap() {
    model(|| {
        let (mut producer, mut consumer) = ring::<u32>(2);
        let sender = thread::spawn(move || {
            for item in 0..3 {
                while producer.push(item).is_err() {
                    thread::yield_now();
                }
            }
        });
        for expected in 0..3 {
            let item = loop {
                match consumer.pop() {
                    Some(item) => break item,
                    None => thread::yield_now(),
                }
            };
            assert_eq!(item, expected);
        }
        sender.join().unwrap();
    });
}

#[test]
fn staged_batches_arrive_whole() {
    model(|| {
        let (mut producer, mut consumer) = ring::<u32>(4);
        let sender = thread::spawn(move || {
            producer.stage(7).unwrap();
            producer.stage(8).unwrap();
            producer.publish();
            producer.push(9).unwrap();
        });
        let mut seen = Vec::new();
        while seen.len() < 3 {
            if consumer.drain(3, |item| seen.push(*item)) == 0 {
                thread::yield_now();
            }
            assert_ne!(seen.len(), 1, "the two staged items appear together");
        }
        assert_eq!(seen, [7, 8, 9]);
        sender.join().unwrap();
    });
}

/// A sleeper that wants `batch` items at a time never sleeps for ever, with
/// a waker that forces the wake-up when it runs dry (as a lane's worker does).
fn sleeper_gets_all(items: u32, batch: u32) {
    let (mut producer, mut consumer) = ring::<u32>(4);
    let shared = Arc::new((WakeIndex::default(), Event::default()));
    let waker = Arc::clone(&shared);
    let sender = thread::spawn(move || {
        for item in 0..items {
            producer.push(item).unwrap();
            WakeIndex::fence_after_publish();
            let dry = item + 1 == items;
            if waker.0.claim(producer.index(), dry) {
                waker.1.signal();
            }
        }
    });
    let mut got = 0;
    while got < items {
        let wanted = batch.min(items - got);
        shared.0.arm(consumer.index().wrapping_add(wanted));
        if consumer.len_now() >= wanted as usize {
            if shared.0.disarm() {
                shared.1.wait();
            }
        } else {
            shared.1.wait();
        }
        got += consumer.drain(4, |_| ()) as u32;
    }
    sender.join().unwrap();
}

#[test]
fn no_wake_up_is_lost_one_by_one() {
    model(|| sleeper_gets_all(2, 1));
}

#[test]
fn no_wake_up_is_lost_in_batches() {
    model(|| sleeper_gets_all(3, 2));
}
