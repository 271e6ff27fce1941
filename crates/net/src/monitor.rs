//! Changes of a namespace's links, addresses, neighbours, routes, rules, traffic
//! control, IPsec policies and nftables, as they happen: rtnetlink(7), multicast groups
//! of `linux/rtnetlink.h`, `linux/xfrm.h` and `linux/netfilter/nfnetlink.h`.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use netlink_packet_core::{NLM_F_APPEND, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_sys::Socket;
use netlink_sys::protocols::{NETLINK_NETFILTER, NETLINK_ROUTE, NETLINK_XFRM};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use sys::failure::Failure;

use crate::namespace::Namespace;
use crate::netlink::{Link, Neighbour, Route, wire};

/// The kernel's own messages are at most 32 KiB.
const RECEIVE_BYTES: usize = 64 << 10;
/// Room for about 50,000 unread changes.
const RECEIVE_BUFFER_BYTES: usize = 64 << 20;
/// Maximum number of reads in one look, so that a flood does not keep the caller.
const READS_MAX: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    Links,
    Addresses,
    Neighbours,
    Routes,
    Rules,
    /// Whether links forward and check sources (`/proc/sys/net/ipv4/conf`, …).
    Settings,
    Policies,
    /// Queueing disciplines and filters of links.
    Traffic,
    /// Where nftables' chains stand; not their rules and sets.
    Nftables,
}

impl Topic {
    /// All of them: whatever can change where a packet goes.
    pub const ALL: [Self; 9] = [
        Self::Links,
        Self::Addresses,
        Self::Neighbours,
        Self::Routes,
        Self::Rules,
        Self::Settings,
        Self::Policies,
        Self::Traffic,
        Self::Nftables,
    ];

    fn protocol(self) -> isize {
        match self {
            Self::Policies => NETLINK_XFRM,
            Self::Nftables => NETLINK_NETFILTER,
            _ => NETLINK_ROUTE,
        }
    }

    /// `RTNLGRP_…`, of both families; `XFRMNLGRP_EXPIRE` and `…_POLICY`;
    /// `NFNLGRP_NFTABLES`.
    fn groups(self) -> &'static [u32] {
        match self {
            Self::Links => &[1],
            Self::Addresses => &[5, 9],
            Self::Neighbours => &[3],
            Self::Routes => &[7, 11, 32],
            Self::Rules => &[8, 19],
            Self::Settings => &[24, 25],
            Self::Policies => &[2, 4],
            Self::Traffic => &[4],
            Self::Nftables => &[7],
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Link {
        link: Link,
        removed: bool,
    },
    Address {
        interface: u32,
        address: IpAddr,
        removed: bool,
    },
    Neighbour {
        neighbour: Neighbour,
        removed: bool,
    },
    Route {
        route: Route,
        change: RouteChange,
    },
    /// A rule, a setting, a policy, a next hop that several routes share, or what filters.
    Other,
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteChange {
    /// Alone or, of IPv4, before others to the same destination with the same metric.
    Added,
    /// After those, or as a further next hop.
    Appended,
    /// In place of the first of those.
    Replaced,
    Removed,
}

/// Reports changes since it was opened, in order; policies separately.
pub struct Monitor {
    namespace: String,
    sources: Vec<Source>,
    buffer: Vec<u8>,
    pending: VecDeque<Event>,
    is_drained: bool,
}

struct Source {
    protocol: isize,
    socket: Socket,
}

impl Monitor {
    pub fn open(namespace: &Namespace, topics: &[Topic]) -> Result<Self, Failure> {
        let opened = namespace
            .run(|| open_all(topics))
            .map_err(Failure::of("cannot watch a namespace"))?;
        let sources = opened.map_err(Failure::of(format!(
            "cannot watch the changes of {}; check the limit of open files (ulimit -n)",
            namespace.name()
        )))?;
        Ok(Self {
            namespace: namespace.name().to_owned(),
            sources,
            buffer: vec![0; RECEIVE_BYTES],
            pending: VecDeque::new(),
            is_drained: true,
        })
    }

    /// What changed since the last call. Waits at most this long for the first
    /// change; empty if nothing changed.
    pub fn wait(&mut self, at_most: Duration) -> Result<Vec<Event>, Failure> {
        let deadline = Instant::now() + at_most;
        loop {
            self.read_all().map_err(|error| self.failed(error.into()))?;
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.pending.is_empty() || left.is_zero() {
                return Ok(self.pending.drain(..).collect());
            }
            let sockets = self.sources.iter().map(|source| source.socket.as_fd());
            let sockets: Vec<_> = sockets.collect();
            sys::readable::any(&sockets, left).map_err(|error| self.failed(error))?;
        }
    }

    /// Whether the last [`wait`](Self::wait) returned everything that had changed
    /// when it was called: in a flood, it returns the first part.
    pub fn is_drained(&self) -> bool {
        self.is_drained
    }

    fn failed(&self, error: io::Error) -> Failure {
        Failure::of(format!(
            "cannot read the changes of {}: its socket failed",
            self.namespace
        ))(error)
    }

    fn read_all(&mut self) -> Result<(), Errno> {
        self.is_drained = true;
        for index in 0..self.sources.len() {
            self.is_drained &= self.read(index)?;
        }
        Ok(())
    }

    fn read(&mut self, index: usize) -> Result<bool, Errno> {
        for _ in 0..READS_MAX {
            let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
            match rustix::net::recv(&self.sources[index].socket, &mut self.buffer[..], flags) {
                Ok((_, length)) => self.note(self.sources[index].protocol, length),
                Err(Errno::NOBUFS) => self.pending.push_back(Event::Lost),
                Err(Errno::AGAIN) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    fn note(&mut self, protocol: isize, length: usize) {
        let Some(read) = self.buffer.get(..length) else {
            self.pending.push_back(Event::Lost);
            return;
        };
        if protocol == NETLINK_NETFILTER {
            let mut messages = wire::messages(read);
            let is_any = messages.any(|message| moves_a_hook(message.kind));
            self.pending.extend(is_any.then_some(Event::Other));
            return;
        }
        if protocol != NETLINK_ROUTE {
            self.pending.push_back(Event::Other);
            return;
        }
        for message in wire::messages(read) {
            // What is not understood changed something all the same.
            let event = wire::decode(message.kind, message.payload)
                .map_or(Some(Event::Other), |read| event_of(&read, message.flags));
            self.pending.extend(event);
        }
    }
}

/// A socket for each protocol of these topics that the kernel has: a missing one
/// cannot change.
fn open_all(topics: &[Topic]) -> io::Result<Vec<Source>> {
    let mut sources = Vec::new();
    for protocol in [NETLINK_ROUTE, NETLINK_XFRM, NETLINK_NETFILTER] {
        let mut topics = topics.iter().filter(|topic| topic.protocol() == protocol);
        if topics.clone().next().is_none() {
            continue;
        }
        match open(protocol, &mut topics) {
            Ok(socket) => sources.push(Source { protocol, socket }),
            Err(error) if is_lacking(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sources)
}

fn is_lacking(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::PROTONOSUPPORT.raw_os_error())
}

fn open(protocol: isize, topics: &mut dyn Iterator<Item = &Topic>) -> io::Result<Socket> {
    let mut socket = Socket::new(protocol)?;
    // As much as root may have; less makes `Lost` more likely, no worse.
    let _ = rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER_BYTES);
    socket.bind_auto()?;
    for group in topics.flat_map(|topic| topic.groups()) {
        socket.add_membership(*group)?;
    }
    Ok(socket)
}

/// Whether such a message of nftables may tell of a chain that stands elsewhere: all but
/// those about rules, sets, their elements, generations, traces and objects
/// (`NFT_MSG_NEWRULE` to `…_GETOBJ_RESET`). Elements may come by the thousand.
fn moves_a_hook(kind: u16) -> bool {
    !(6..=21).contains(&(kind & 0xff))
}

/// `None` for what is about neither, e.g. a bridge's own table.
fn event_of(message: &Message, flags: u16) -> Option<Event> {
    let removed = matches!(
        message,
        Message::DelLink(_)
            | Message::DelAddress(_)
            | Message::DelNeighbour(_)
            | Message::DelRoute(_)
    );
    match message {
        Message::NewLink(link) | Message::DelLink(link) => Some(Event::Link {
            link: wire::link(link),
            removed,
        }),
        Message::NewAddress(address) | Message::DelAddress(address) => Some(Event::Address {
            interface: address.header.index,
            address: wire::address(address)?.0,
            removed,
        }),
        Message::NewNeighbour(neighbour) | Message::DelNeighbour(neighbour) => {
            Some(Event::Neighbour {
                neighbour: wire::neighbour(neighbour)?,
                removed,
            })
        }
        Message::NewRoute(route) | Message::DelRoute(route) => Some(Event::Route {
            route: wire::route(route)?,
            change: match flags {
                _ if removed => RouteChange::Removed,
                flags if flags & NLM_F_REPLACE != 0 => RouteChange::Replaced,
                flags if flags & NLM_F_APPEND != 0 => RouteChange::Appended,
                _ => RouteChange::Added,
            },
        }),
        _ => Some(Event::Other),
    }
}
