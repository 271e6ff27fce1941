//! Topologies, homes and the kernel's own paths carry packets both ways, and
//! leave nothing.

use std::time::Duration;

use crate::support::{built, in_namespace, passes, spec};
use lockgate_forward::bench::tcp::{self, TcpError};
use lockgate_forward::home::Kind;
use lockgate_forward::router::Router;
use lockgate_forward::router::bridge::Bridge;
use lockgate_forward::router::kernel::Kernel;
use lockgate_forward::topology::address::{self, Layer};
use lockgate_forward::topology::plan::Side;
use lockgate_forward::topology::{Attachment, Family, NetworkError, Routes, Spec, Topology};
use net::Journal;

type Start = fn(&Topology) -> Option<Box<dyn Router>>;

fn kernel(topology: &Topology) -> Option<Box<dyn Router>> {
    match Kernel::start(topology) {
        Err(error) if error.lacks().is_some() => {
            testing::left_out(error.lacks()?);
            None
        }
        started => Some(Box::new(started.unwrap())),
    }
}

fn bridge(topology: &Topology) -> Option<Box<dyn Router>> {
    Some(Box::new(Bridge::start(topology).unwrap()))
}

fn carries(kind: Kind, spec: &Spec, start: Start) {
    let journal = Journal::open().unwrap();
    let Some((home, topology)) = built(&journal, kind, spec) else {
        return;
    };
    let Some(mut router) = start(&topology) else {
        return;
    };
    let layer = match router.path() {
        "bridge" => Layer::Two,
        _ => Layer::Three,
    };
    match address::assign_tester(&topology, layer) {
        Err(error @ NetworkError::NoVlan(_)) => return testing::left_out(error),
        assigned => assigned.unwrap(),
    }
    let families = [Family::V4, Family::V6];
    for family in &families[..if spec.ipv6 { 2 } else { 1 }] {
        for from in Side::BOTH {
            assert!(passes(&topology, from, *family), "{family:?} from {from:?}");
        }
    }
    let counters = router.counters().unwrap();
    assert!(counters.received >= 2, "{counters:?}");
    assert!(counters.forwarded >= 2, "{counters:?}");
    assert!(router.cpu().unwrap().total_ns() > 0);
    drop((router, topology, home));
    assert_eq!(journal.entries(), []);
}

#[test]
fn every_topology_and_home_carries_both_families() {
    let tagged = || Spec {
        vlan: Some(7),
        ..spec()
    };
    let without_ipv6 = Spec {
        ipv6: false,
        ..spec()
    };
    let many_routes = Spec {
        queues: 3,
        routes: Routes::Table(1000),
        ..spec()
    };
    let behind_bridges = Spec {
        attachment: Attachment::Bridged,
        ..spec()
    };
    let cases: [(&str, Kind, Spec, Start); 9] = [
        ("routed", Kind::Namespace, spec(), kernel),
        ("IPv4 alone", Kind::Namespace, without_ipv6, kernel),
        ("over a VLAN", Kind::Namespace, tagged(), kernel),
        ("queues and a table", Kind::Namespace, many_routes, kernel),
        ("bridged", Kind::Namespace, spec(), bridge),
        ("bridged VLAN", Kind::Namespace, tagged(), bridge),
        ("behind bridges", Kind::Namespace, behind_bridges, kernel),
        ("LXC", Kind::Lxc, spec(), kernel),
        ("runc", Kind::Runc, spec(), kernel),
    ];
    testing::alone_as_root(|| {
        for (name, kind, spec, start) in &cases {
            println!("{name}");
            carries(*kind, spec, *start);
        }
    });
}

#[test]
fn tcp_through_a_router_and_a_bridge() {
    testing::alone_as_root(|| {
        for (start, layer) in [(kernel as Start, Layer::Three), (bridge, Layer::Two)] {
            let (_journal, home, topology) = in_namespace(&spec());
            let router = start(&topology).unwrap();
            address::assign_tester(&topology, layer).unwrap();
            let report = match tcp::run(&topology, true, Duration::from_millis(200), &|| true) {
                Err(error @ TcpError::Absent) => return testing::skipped(error),
                report => report.unwrap(),
            };
            assert!(report.forth.received_mbit_per_s > 0.0, "{report:?}");
            assert!(report.back.unwrap().received_mbit_per_s > 0.0, "{report:?}");
            println!("{report:?}");
            drop((router, topology, home));
        }
    });
}
