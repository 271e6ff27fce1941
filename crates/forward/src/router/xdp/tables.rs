//! What a router's watcher knows of its routes, and how it reads all of them.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use net::monitor::RouteChange;
use net::netlink::{NetlinkError, Route, RouteKind, until_whole};
use net::{Namespace, Netlink};
use sys::failure::Failure;
use xdp::path::Alike;

use super::special::{Specials, are_like};

/// So many changes wait while all is read; with more it is read anew.
const SINCE_MAX: usize = 1 << 20;

/// What matters of the routes of all tables.
pub struct Tables {
    pub alike: Alike,
    pub specials: Specials,
    /// Next routers of IPv6. Whether one is there decides which of several default
    /// routes the kernel takes (RFC 4861, section 6.3.6).
    gateways: BTreeSet<Ipv6Addr>,
}

/// What a change of a route changed in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Addresses are distinguished that were alike before.
    pub is_narrower: bool,
    /// Something is special, or no longer, of the route's network.
    pub is_special: bool,
}

impl Tables {
    pub fn without_routes() -> Self {
        Self {
            alike: Alike::without_routes(),
            specials: Specials::default(),
            gateways: BTreeSet::new(),
        }
    }

    pub fn change(&mut self, route: &Route, change: RouteChange) -> Changed {
        let is_special = self.specials.change(route, change);
        if change == RouteChange::Removed {
            return Changed {
                is_narrower: false,
                is_special,
            };
        }
        if let Some(IpAddr::V6(gateway)) = route.gateway {
            self.gateways.insert(gateway);
        }
        let is_one_way = route.kind != RouteKind::Unicast || route.gateway.is_some();
        let alike = &mut self.alike;
        Changed {
            is_narrower: alike.add(route.destination, route.prefix_length, is_one_way),
            is_special,
        }
    }

    pub fn is_gateway_v6(&self, address: IpAddr) -> bool {
        matches!(address, IpAddr::V6(address) if self.gateways.contains(&address))
    }

    /// One route after the other: all at once would take some hundred MB.
    fn read(netlink: &mut Netlink) -> Result<Self, NetlinkError> {
        until_whole(|| {
            let mut tables = Self::without_routes();
            let mut before: Option<Route> = None;
            let mut add = |route: Route| {
                let is_appended = before
                    .replace(route)
                    .is_some_and(|before| are_like(&before, &route));
                let change = match is_appended {
                    true => RouteChange::Appended,
                    false => RouteChange::Added,
                };
                tables.change(&route, change);
            };
            netlink.each_route(Ipv4Addr::UNSPECIFIED.into(), &mut add)?;
            netlink.each_route(Ipv6Addr::UNSPECIFIED.into(), &mut add)?;
            Ok(tables)
        })
    }
}

/// All routes are being read, on a thread of its own: a full table takes seconds.
pub struct Reading {
    tables: Receiver<Result<(Tables, Duration), NetlinkError>>,
    /// Changes of routes since before it began.
    since: Vec<(Route, RouteChange)>,
    /// Some of them are not there.
    is_spoilt: bool,
}

impl Reading {
    pub fn begin(namespace: &Namespace) -> Result<Self, Failure> {
        let mut netlink = namespace.netlink().map_err(Failure::of(format!(
            "cannot ask for the routes of {}",
            namespace.name()
        )))?;
        let (done, tables) = sync_channel(1);
        let work = move || {
            let began = Instant::now();
            let read = Tables::read(&mut netlink);
            // Nobody waits for it any more, if it cannot be sent.
            let _ = done.send(read.map(|tables| (tables, began.elapsed())));
        };
        let spawned = std::thread::Builder::new()
            .name("lockgate-tables".to_owned())
            .spawn(work);
        spawned.map_err(Failure::of("cannot start the thread that reads the routes"))?;
        Ok(Self {
            tables,
            since: Vec::new(),
            is_spoilt: false,
        })
    }

    pub fn note(&mut self, route: &Route, change: RouteChange) {
        self.is_spoilt |= self.since.len() >= SINCE_MAX;
        if !self.is_spoilt {
            self.since.push((*route, change));
        }
    }

    /// Changes were lost.
    pub fn spoil(&mut self) {
        self.is_spoilt = true;
        self.since = Vec::new();
    }

    pub fn is_spoilt(&self) -> bool {
        self.is_spoilt
    }

    /// The tables as they are now, and how long it took to read them; `None` while they
    /// are being read.
    pub fn done(&mut self) -> Result<Option<(Tables, Duration)>, Failure> {
        let failed = || "cannot read the routes".to_owned();
        match self.tables.try_recv() {
            Err(TryRecvError::Empty) => Ok(None),
            Err(error @ TryRecvError::Disconnected) => Err(Failure::of(failed())(error)),
            Ok(read) => {
                let (mut tables, took) = read.map_err(Failure::of(failed()))?;
                for (route, change) in self.since.drain(..) {
                    tables.change(&route, change);
                }
                Ok(Some((tables, took)))
            }
        }
    }
}
