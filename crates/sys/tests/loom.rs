//! In a process of its own: `--cfg loom` builds it alone.
//!
//! Loom models of the ring and the wake index: every interleaving of up to
//! three items, preemption bound 3.
//! Run: `RUSTFLAGS="--cfg loom" cargo test -p lockgate-sys --test loom --release`
#![cfg(loom)]

use lockgate_sys::ready::{Known, ReadySet};
use lockgate_sys::{ring::ring, wake::WakeIndex};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

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

/// A sleeper that wants `batch` items at a time never sleeps for ever, with a waker
/// that forces the wake-up when it runs dry (as a lane's worker does).
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

fn offer(
    producer: &mut lockgate_sys::ring::Producer<u32>,
    slot: u32,
    shared: &(ReadySet, WakeIndex, Event),
) {
    producer.push(slot).unwrap();
    WakeIndex::fence_after_publish();
    shared.0.announce(slot);
    if shared.1.claim(0, true) {
        shared.2.signal();
    }
}

/// A worker that forgets an empty ring at once, and sleeps when it knows
/// none, gets all items of clients that announce what it does not know.
fn ready_set_finds_all(slots: u32, items: u32) {
    let shared = Arc::new((ReadySet::new(64), WakeIndex::default(), Event::default()));
    let mut consumers = Vec::new();
    let mut clients = Vec::new();
    for slot in 0..slots {
        let (mut producer, consumer) = ring::<u32>(4);
        consumers.push(consumer);
        let shared = Arc::clone(&shared);
        clients.push(thread::spawn(move || {
            for _ in 0..items {
                offer(&mut producer, slot, &shared);
            }
        }));
    }
    let (mut known, mut queue, mut got) = (Known::none(64), Vec::new(), 0);
    while got < slots * items {
        shared.0.sweep(&mut known, |slot| queue.push(slot));
        while let Some(slot) = queue.pop() {
            let ring = &mut consumers[slot as usize];
            got += ring.drain(4, |item| assert_eq!(*item, slot)) as u32;
            shared.0.retire(&mut known, [slot]);
            if ring.len_now() > 0 {
                known.know(slot);
                queue.push(slot);
            }
        }
        if got < slots * items {
            shared.1.arm(0);
            if !shared.0.has_news() || shared.1.disarm() {
                shared.2.wait();
            }
            shared.1.disarm();
        }
    }
    for client in clients {
        client.join().unwrap();
    }
}

#[test]
fn a_client_that_publishes_again_is_found() {
    model(|| ready_set_finds_all(1, 2));
}

#[test]
fn two_clients_of_one_word_are_found() {
    model(|| ready_set_finds_all(2, 1));
}
