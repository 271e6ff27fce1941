//! Routes of a router's table become others while frames pass.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use net::Netlink;
use net::netlink::{NetlinkError, Route};
use sys::failure::Failure;

use super::BenchError;
use super::result::Changes;
use crate::topology::plan::{self, Side};
use crate::topology::{Family, NetworkError, Routes, Topology};

/// Steps over the table's routes: odd and far, so that no two changes that follow each
/// other are of neighbours.
const STEP: u64 = 0x9e37_79b1;
/// The thread looks at least so often whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

/// Changes of the routes behind side 1, from the tester's address there to a second one
/// of its and back.
pub(super) struct Churn {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Changes, NetlinkError>>>,
}

impl Churn {
    /// `begun` changes were made before, in other trials.
    pub fn start(topology: &Topology, per_s: u32, begun: u64) -> Result<Self, BenchError> {
        let Routes::Table(count) = topology.spec().routes else {
            unreachable!("an offer with changes is checked")
        };
        let mut netlink = topology.router().netlink().map_err(NetworkError::from)?;
        let link = netlink.link(topology.router_link(Side::One));
        let interface = link.map_err(NetworkError::from)?.index;
        let is_over = Arc::new(AtomicBool::new(false));
        let inside = Arc::clone(&is_over);
        let work = move || {
            let table = Table { count, interface };
            change(&mut netlink, table, (per_s, begun), &inside)
        };
        let thread = std::thread::Builder::new()
            .name("lockgate-churn".to_owned())
            .spawn(work)
            .map_err(Failure::of("cannot start the thread that changes routes"))
            .map_err(NetworkError::from)?;
        Ok(Self {
            is_over,
            thread: Some(thread),
        })
    }

    /// Ends, and says how many changes were made in what time.
    pub fn end(mut self) -> Result<Changes, BenchError> {
        self.is_over.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it ends once");
        let changed = thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok(changed.map_err(NetworkError::from)?)
    }
}

impl Drop for Churn {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[derive(Clone, Copy)]
struct Table {
    count: u32,
    interface: u32,
}

impl Table {
    /// Every pass over all of them takes the other gateway.
    fn route(self, number: u64) -> Route {
        let half = u64::from(self.count / 2);
        let index = (number % half).wrapping_mul(STEP) % half;
        let gateway: IpAddr = match number / half % 2 {
            0 => plan::second_gateway(Side::One).into(),
            _ => plan::tester_address(Side::One, Family::V4),
        };
        let index = u32::try_from(index).unwrap_or(0);
        let network = plan::table_route(Side::One, self.count, index);
        Route::via(network.address, network.bits, gateway, self.interface)
    }
}

fn change(
    netlink: &mut Netlink,
    table: Table,
    (per_s, begun): (u32, u64),
    is_over: &AtomicBool,
) -> Result<Changes, NetlinkError> {
    let interval = Duration::from_secs(1) / per_s;
    let start = Instant::now();
    let mut made = 0;
    while !is_over.load(Ordering::Relaxed) {
        // The first after half an interval: so many come in any time on the average.
        let due = start + interval / 2 + interval.mul_f64(made as f64);
        let wait = due.saturating_duration_since(Instant::now());
        if !wait.is_zero() {
            std::thread::sleep(wait.min(LOOK));
            continue;
        }
        netlink.replace_route(&table.route(begun + made))?;
        made += 1;
    }
    Ok(Changes {
        made,
        time: start.elapsed(),
    })
}
