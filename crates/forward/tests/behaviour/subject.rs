//! Paths that a DUT can forward on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use xdp::Attached;
use xdp::path::{CacheControl, Fib, FibCached, LEASE, RouterOptions, RouterPort, Wire};

use crate::plan;
use crate::rig::Rig;

/// Which path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The kernel's own.
    Kernel,
    /// Every frame out of the other port as it came: no router.
    Wire,
    /// The kernel's table, asked for each frame.
    Fib,
    /// The same without a look at sources: not as the kernel does it.
    FibAnySource,
    /// The kernel's table, remembered.
    FibCached,
}

/// What runs on a DUT as long as it lives.
pub enum Running {
    Wire(Attached<Wire>),
    Fib(Attached<Fib>),
    FibCached(Attached<FibCached>, Listener),
}

impl Running {
    /// Frames that it sent on itself, instead of the kernel.
    pub fn forwarded(&self) -> u64 {
        let counters = match self {
            Self::Wire(path) => path.counters(),
            Self::Fib(path) => path.counters(),
            Self::FibCached(path, _) => path.counters(),
        };
        counters.unwrap().forwarded
    }

    /// Answers that it remembered.
    pub fn hits(&self) -> Option<u64> {
        match self {
            Self::FibCached(path, _) => Some(path.counters().unwrap().hits),
            _ => None,
        }
    }

    /// The kernel's tables changed. Who notices that by himself is tested with
    /// the router; here a path is told.
    pub fn tell_of_change(&self) {
        if let Self::FibCached(_, listener) = self {
            listener.control.invalidate().unwrap();
        }
    }
}

/// Says all the time that it listens, until dropped.
pub struct Listener {
    control: CacheControl,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    fn new(control: CacheControl) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (renewed, ended) = (control.clone(), Arc::clone(&stop));
        let renew = move || {
            while !ended.load(Ordering::Relaxed) {
                renewed.renew().unwrap();
                std::thread::sleep(LEASE.min(Duration::from_secs(1)) / 10);
            }
        };
        Self {
            control,
            stop,
            thread: Some(std::thread::spawn(renew)),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(ended.is_none_or(|ended| ended.is_ok()));
        }
    }
}

impl Rig {
    /// Puts a path on the DUT's ports, in place of the one there.
    pub fn start(&mut self, subject: Subject) {
        self.path = None;
        let [zero, one] = self.links.each_ref().map(|(_, index)| *index);
        let ports = [0, 1].map(|side| self.router_port(side));
        let start = || match subject {
            Subject::Kernel => None,
            Subject::Wire => {
                let path = Wire::load([zero, one]).unwrap();
                Some(Running::Wire(Attached::new(path).unwrap()))
            }
            Subject::Fib | Subject::FibAnySource => {
                let options = RouterOptions {
                    any_source: subject == Subject::FibAnySource,
                    ..RouterOptions::default()
                };
                let path = Fib::load(&ports, options).unwrap();
                Some(Running::Fib(Attached::new(path).unwrap()))
            }
            Subject::FibCached => {
                let path = FibCached::load(&ports, RouterOptions::default()).unwrap();
                let listener = Listener::new(path.control());
                Some(Running::FibCached(Attached::new(path).unwrap(), listener))
            }
        };
        self.path = self.dut.run(start).unwrap();
    }

    fn router_port(&self, side: usize) -> RouterPort {
        let (link, ifindex) = &self.links[side];
        let filter = |link: &str| {
            let name = format!("ipv4/conf/{link}/rp_filter");
            self.dut.sysctl(&name).unwrap().parse::<u8>().unwrap()
        };
        RouterPort {
            ifindex: *ifindex,
            address: plan::DUT[side],
            vlan: None,
            strict_source: filter("all").max(filter(link)) == 1,
        }
    }
}
