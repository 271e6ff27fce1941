//! In a process of its own: `--cfg loom` builds it alone.
//!
//! Loom models of a socket's rings, with the kernel's part played by a thread:
//! every interleaving of up to three packets, preemption bound 3.
//! Run: `RUSTFLAGS="--cfg loom" cargo test -p lockgate-xdp --test loom --release`
#![cfg(loom)]

use lockgate_xdp::socket::ring::{Consumer, Producer, on_heap};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

fn take<T: Copy>(ring: &mut Consumer<T>) -> T {
    loop {
        match ring.take() {
            Some(taken) => return taken,
            None => thread::yield_now(),
        }
    }
}

fn put<T: Copy + std::fmt::Debug>(ring: &mut Producer<T>, item: T) {
    while ring.stage(item).is_err() {
        thread::yield_now();
    }
    ring.publish();
}

#[test]
fn a_ring_delivers_in_order_through_a_lap() {
    model(|| {
        let (mut producer, mut consumer) = on_heap::<u32>(2);
        let kernel = thread::spawn(move || (1..=3).for_each(|item| put(&mut producer, item)));
        for expected in 1..=3 {
            assert_eq!(take(&mut consumer), expected);
        }
        kernel.join().unwrap();
    });
}

/// Two frames whose bytes loom watches: touched by two sides at a time, it
/// fails.
struct Memory([UnsafeCell<u32>; 2]);

// SAFETY: what the models must show: only its holder touches a frame.
unsafe impl Sync for Memory {}
// SAFETY: plain integers.
unsafe impl Send for Memory {}

impl Memory {
    fn write(&self, frame: u32, value: u32) {
        // SAFETY: loom reports any other access.
        self.0[frame as usize].with_mut(|byte| unsafe { *byte = value });
    }

    fn read(&self, frame: u32) -> u32 {
        // SAFETY: as above.
        self.0[frame as usize].with(|byte| unsafe { *byte })
    }
}

/// Fill, receive, change, send, complete, fill again: the kernel never writes a
/// frame that we read, nor we one that it sends.
#[test]
fn frames_go_round_and_are_with_one_side_at_a_time() {
    model(|| {
        let memory = Arc::new(Memory([UnsafeCell::new(0), UnsafeCell::new(0)]));
        let (mut fill, mut kernel_fill) = on_heap::<u32>(2);
        let (mut kernel_receive, mut receive) = on_heap::<u32>(2);
        let (mut transmit, mut kernel_transmit) = on_heap::<u32>(2);
        let (mut kernel_completion, mut completion) = on_heap::<u32>(2);
        let kernel_memory = Arc::clone(&memory);
        let kernel = thread::spawn(move || {
            for packet in 1..=2 {
                let frame = take(&mut kernel_fill);
                kernel_memory.write(frame, packet);
                put(&mut kernel_receive, frame);
                let sent = take(&mut kernel_transmit);
                assert_eq!(kernel_memory.read(sent), packet + 10);
                put(&mut kernel_completion, sent);
            }
        });
        let mut frame = 0;
        for packet in 1..=2 {
            put(&mut fill, frame);
            let received = take(&mut receive);
            assert_eq!(memory.read(received), packet);
            memory.write(received, packet + 10);
            put(&mut transmit, received);
            frame = take(&mut completion);
        }
        kernel.join().unwrap();
    });
}

#[test]
fn a_batch_arrives_whole() {
    model(|| {
        let (mut producer, mut consumer) = on_heap::<u32>(4);
        let kernel = thread::spawn(move || {
            producer.stage(7).unwrap();
            producer.stage(8).unwrap();
            producer.publish();
            put(&mut producer, 9);
        });
        let mut seen = Vec::new();
        while seen.len() < 3 {
            if consumer.drain(3, |item| seen.push(item)) == 0 {
                thread::yield_now();
            }
            assert_ne!(seen.len(), 1, "the two staged items appear together");
        }
        assert_eq!(seen, [7, 8, 9]);
        kernel.join().unwrap();
    });
}

/// Stands for the system call: the driver sleeps on it.
#[derive(Default)]
struct Call(Mutex<bool>, Condvar);

impl Call {
    fn wake(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_one();
    }

    fn wait(&self) {
        let mut called = self.0.lock().unwrap();
        while !*called {
            called = self.1.wait(called).unwrap();
        }
        *called = false;
    }
}

/// A driver that asks to be called, looks once more and sleeps, and a user that calls
/// only if asked: the driver never sleeps for ever.
#[test]
fn no_wake_up_is_lost() {
    model(|| {
        let (mut transmit, mut kernel_transmit) = on_heap::<u32>(2);
        let call = Arc::new(Call::default());
        let driver_call = Arc::clone(&call);
        let driver = thread::spawn(move || {
            for expected in 1..=2 {
                let taken = loop {
                    if let Some(taken) = kernel_transmit.take() {
                        break taken;
                    }
                    kernel_transmit.ask_for_wakeup(true);
                    if let Some(taken) = kernel_transmit.take() {
                        break taken;
                    }
                    driver_call.wait();
                };
                kernel_transmit.ask_for_wakeup(false);
                assert_eq!(taken, expected);
            }
        });
        for packet in 1..=2 {
            transmit.stage(packet).unwrap();
            transmit.publish();
            if transmit.needs_wakeup() {
                call.wake();
            }
        }
        driver.join().unwrap();
    });
}

/// The models can fail: a flag that is read without the fence loses a wake-up.
#[test]
#[should_panic(expected = "asleep for ever")]
fn without_the_fence_a_wake_up_is_lost() {
    model(|| {
        let asks = Arc::new(AtomicBool::new(false));
        let published = Arc::new(AtomicBool::new(false));
        let (driver_asks, driver_published) = (Arc::clone(&asks), Arc::clone(&published));
        let driver = thread::spawn(move || {
            driver_asks.store(true, Ordering::Relaxed);
            !driver_published.load(Ordering::Acquire)
        });
        published.store(true, Ordering::Release);
        let is_called = asks.load(Ordering::Relaxed);
        let sleeps = driver.join().unwrap();
        assert!(is_called || !sleeps, "asleep for ever");
    });
}
