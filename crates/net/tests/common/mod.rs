//! What the tests of this crate share.

#![allow(dead_code, reason = "each test file uses a part")]

pub mod bpf;

use std::net::{IpAddr, Ipv4Addr};

use lockgate_net::napi::{self, NapiThread};
use lockgate_net::netlink::{Netlink, Route, VethEnd, add_veth};
use lockgate_net::{Journal, Namespace, Tag};

pub struct Pair {
    pub tag: Tag,
    pub journal: Journal,
    pub one: Namespace,
    pub other: Namespace,
    pub one_link: String,
    pub other_link: String,
}

pub const ONE_ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub const OTHER_ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 2];

impl Pair {
    /// Two namespaces and a cable between them, up; `None` without root's rights.
    pub fn up(queues: u32) -> Option<Self> {
        if !testing::is_root() {
            return None;
        }
        let tag = Tag::fresh();
        let journal = Journal::open().unwrap();
        let one = Namespace::create(&journal, &tag.name("one").unwrap()).unwrap();
        let other = Namespace::create(&journal, &tag.name("other").unwrap()).unwrap();
        let (one_link, other_link) = (tag.interface("a").unwrap(), tag.interface("b").unwrap());
        let end = |namespace, name, address| VethEnd {
            address: Some(address),
            mtu: Some(1600),
            queues,
            ..VethEnd::new(namespace, name)
        };
        let ends = [
            end(&one, &one_link, ONE_ADDRESS),
            end(&other, &other_link, OTHER_ADDRESS),
        ];
        add_veth(&ends[0], &ends[1]).unwrap();
        for step in [Netlink::set_up, Netlink::wait_until_running] {
            for end in &ends {
                step(&mut end.namespace.netlink().unwrap(), end.name).unwrap();
            }
        }
        Some(Self {
            tag,
            journal,
            one,
            other,
            one_link,
            other_link,
        })
    }

    /// Gives `one` the address 192.0.2.1/30: its netlink, and the number of its link.
    pub fn addressed(&self) -> (Netlink, u32) {
        let mut netlink = self.one.netlink().unwrap();
        let address = ip("192.0.2.1");
        netlink.add_address(&self.one_link, address, 30).unwrap();
        let index = netlink.link(&self.one_link).unwrap().index;
        (netlink, index)
    }

    /// Has threads of NAPI receive at `other`.
    pub fn threaded(&self, queues: usize) -> (Netlink, Vec<NapiThread>) {
        let mut netlink = self.other.netlink().unwrap();
        let gro = [("rx-gro", true)];
        netlink.set_offloads(&self.other_link, &gro).unwrap();
        napi::set_threaded(&self.other, &self.other_link, true).unwrap();
        let threads = napi::threads(&mut netlink, &self.other_link, queues).unwrap();
        (netlink, threads)
    }
}

pub fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// One of many routes by a neighbour on link `index`, to 128 addresses each.
pub fn route(index: u32, number: u32) -> Route {
    let first = Ipv4Addr::from_bits((10 << 24) + number * 128);
    Route::via(first.into(), 25, ip("192.0.2.2"), index)
}

/// Has the program `ip` do this in a namespace, and tells whether it did.
pub fn ip_does(namespace: &Namespace, words: &str) -> bool {
    let mut command = std::process::Command::new("ip");
    command.args(words.split(' '));
    let mut child = namespace.spawn_process(command).unwrap();
    child.wait().unwrap().success()
}

/// Tells whether that program is here; if not, the test is reported as skipped.
#[track_caller]
pub fn has_ip() -> bool {
    testing::has_programs(&["ip"], "iproute2")
}
