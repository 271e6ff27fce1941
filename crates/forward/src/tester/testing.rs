//! Trials that never ran, for tests.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trial::Histogram;
use wire::Stamp;

use super::accounting::Account;
use super::port::{PortError, Received, Receiver, Transmitted, Transmitter};
use super::stream::{Addresses, FrameSize, Link, Stream};
use super::trial::{Counting, Direction, Sender};

/// One second of 64-byte frames at `rate_pps`.
pub(crate) fn stream(rate_pps: Option<f64>) -> Stream {
    Stream {
        trial: 1,
        id: 0,
        link: Link {
            source: [2, 0, 0, 0, 0, 1],
            destination: [2, 0, 0, 0, 0, 2],
            vlan: None,
        },
        addresses: Addresses::V4 {
            source: Ipv4Addr::new(192, 0, 2, 2),
            sources: 1,
            first: Ipv4Addr::new(198, 19, 0, 1),
            count: 1,
            stride: 1,
        },
        size: FrameSize::Fixed(64),
        rate_pps,
        duration: Duration::from_secs(1),
        frames_max: None,
        in_flight_max: None,
    }
}

/// A quiet second in which `offered` frames were sent and `received` came.
pub(crate) fn direction(offered: u64, received: u64) -> Direction {
    let mut latency = Histogram::new();
    latency.record_many(50_000, received);
    Direction {
        stream: stream(Some(offered as f64)),
        sent: Transmitted {
            due: offered,
            offered,
            elapsed_ns: 1_000_000_000,
            behind_ns_max: 20_000,
            gap_ns_max: 20_000,
            cpu_ns: 990_000_000,
            ..Transmitted::default()
        },
        received: Received {
            received,
            bytes: received.saturating_mul(64),
            elapsed_ns: 1_000_000_000,
            latency,
            ..Received::default()
        },
        counting: Counting {
            frames: received,
            cpu_ns: 100_000_000,
        },
        sender: Sender {
            waited_ns: 1_000_000,
            receive_softirqs: 3,
        },
    }
}

/// What a link between two ends in memory does to its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    DropEvery(u64),
    Fail,
    Panic,
    Forever,
}

pub(crate) fn link(fault: Fault) -> (LinkTransmitter, LinkReceiver) {
    let account = Arc::new(Mutex::new(Account::new(0, 0)));
    let transmitter = LinkTransmitter {
        fault,
        account: Arc::clone(&account),
    };
    (transmitter, LinkReceiver { account })
}

pub(crate) struct LinkTransmitter {
    fault: Fault,
    account: Arc<Mutex<Account>>,
}

impl LinkTransmitter {
    fn carry(&self, stream: &Stream, sequence: u64) {
        if matches!(self.fault, Fault::DropEvery(n) if sequence % n == n - 1) {
            return;
        }
        let stamp = Stamp {
            trial: stream.trial,
            stream: stream.id,
            sequence,
            due_ns: 1_000,
        };
        let mut account = self.account.lock().unwrap();
        account.record_stamp(Some(stamp), 60, 1_000 + sequence);
    }
}

impl Transmitter for LinkTransmitter {
    fn transmit(&mut self, stream: &Stream, stop: &AtomicBool) -> Result<Transmitted, PortError> {
        if self.fault == Fault::Fail {
            return Err(PortError::new("planted"));
        }
        assert!(self.fault != Fault::Panic, "planted");
        let rate_pps = stream.rate_pps.unwrap_or(f64::INFINITY);
        let due = rate_pps * stream.duration.as_secs_f64();
        let mut offered = 0;
        while (offered as f64) < due
            && !(self.fault == Fault::Forever && stop.load(Ordering::Relaxed))
        {
            self.carry(stream, offered);
            offered += 1;
        }
        Ok(Transmitted {
            due: offered,
            offered,
            elapsed_ns: stream.duration.as_nanos() as u64,
            ..Transmitted::default()
        })
    }
}

pub(crate) struct LinkReceiver {
    account: Arc<Mutex<Account>>,
}

impl Receiver for LinkReceiver {
    fn begin(&mut self, stream: &Stream) -> Result<(), PortError> {
        *self.account.lock().unwrap() = Account::new(stream.trial, stream.id);
        Ok(())
    }

    fn counts(&mut self) -> Result<Received, PortError> {
        Ok(self.account.lock().unwrap().counts().clone())
    }

    /// A ns a frame.
    fn cpu_ns(&mut self) -> Result<u64, PortError> {
        Ok(self.counts()?.received)
    }
}
