//! What tests that make networks share.
#![allow(dead_code, reason = "each test uses its part")]

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use lockgate_forward::home::{Home, HomeError, Kind};
use lockgate_forward::topology::plan::{self, Side};
use lockgate_forward::topology::{Cpus, Family, Spec, Topology};
use net::{Journal, Tag};

pub fn spec() -> Spec {
    Spec::new(Cpus::of_host().unwrap())
}

pub fn built(journal: &Journal, kind: Kind, spec: &Spec) -> Option<(Home, Topology)> {
    let tag = Tag::fresh();
    let home = match Home::start(journal, &tag, kind) {
        Err(error @ HomeError::NotSupported { .. }) => {
            testing::left_out(error);
            return None;
        }
        started => started.unwrap(),
    };
    let topology = Topology::build(journal, tag, spec, home.namespace().clone()).unwrap();
    Some((home, topology))
}

/// A topology in a namespace, with what it lives in.
pub fn in_namespace(spec: &Spec) -> (Journal, Home, Topology) {
    let journal = Journal::open().unwrap();
    let (home, topology) = built(&journal, Kind::Namespace, spec).unwrap();
    (journal, home, topology)
}

/// Sends datagrams from one side's tester to the other's until one arrives.
pub fn passes(topology: &Topology, from: Side, family: Family) -> bool {
    let to = plan::tester_address(from.other(), family);
    let own = plan::tester_address(from, family);
    let inside = |side: Side, address| {
        let bind = move || UdpSocket::bind((address, 9)).unwrap();
        topology.side(side).tester.run(bind).unwrap()
    };
    let (sender, receiver) = (inside(from, own), inside(from.other(), to));
    receiver
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while Instant::now() < deadline {
        sender.send_to(b"lockgate", (to, 9)).unwrap();
        let mut bytes = [0; 16];
        if let Ok((8, whose)) = receiver.recv_from(&mut bytes) {
            assert_eq!(whose.ip(), own);
            return true;
        }
    }
    false
}
