//! Topologies, homes and the kernel's own paths carry packets both ways, and
//! leave nothing.

use std::time::Duration;

use crate::support::{built, passes, spec};
use lockgate_forward::bench::tcp::{self, TcpError};
use lockgate_forward::home::Kind;
use lockgate_forward::router::Router;
use lockgate_forward::router::bridge::Bridge;
use lockgate_forward::router::kernel::Kernel;
use lockgate_forward::topology::address::{self, Layer};
use lockgate_forward::topology::plan::Side;
use lockgate_forward::topology::{Attachment, Family, NetworkError, Routes, Spec, Topology};
use net::Journal;
use testing::is_root;

type Start = fn(&Topology) -> Option<Box<dyn Router>>;

fn kernel(topology: &Topology) -> Option<Box<dyn Router>> {
    match Kernel::start(topology) {
        Err(error) if error.lacks().is_some() => {
            testing::skipped(error.lacks()?);
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
        Err(error @ NetworkError::NoVlan(_)) => return testing::skipped(error),
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
fn kernel_routing() {
    testing::alone(|| {
        if is_root() {
            carries(Kind::Namespace, &spec(), kernel);
        }
    });
}

#[test]
fn kernel_routing_without_ipv6() {
    testing::alone(|| {
        if is_root() {
            let spec = Spec {
                ipv6: false,
                ..spec()
            };
            carries(Kind::Namespace, &spec, kernel);
        }
    });
}

#[test]
fn kernel_routing_over_a_vlan() {
    testing::alone(|| {
        if is_root() {
            let spec = Spec {
                vlan: Some(7),
                ..spec()
            };
            carries(Kind::Namespace, &spec, kernel);
        }
    });
}

#[test]
fn kernel_routing_with_several_queues_and_a_table() {
    testing::alone(|| {
        if is_root() {
            let spec = Spec {
                queues: 3,
                routes: Routes::Table(1000),
                ..spec()
            };
            carries(Kind::Namespace, &spec, kernel);
        }
    });
}

#[test]
fn bridging() {
    testing::alone(|| {
        if is_root() {
            carries(Kind::Namespace, &spec(), bridge);
        }
    });
}

#[test]
fn bridging_a_vlan() {
    testing::alone(|| {
        if is_root() {
            let spec = Spec {
                vlan: Some(7),
                ..spec()
            };
            carries(Kind::Namespace, &spec, bridge);
        }
    });
}

#[test]
fn a_namespace_behind_bridges() {
    testing::alone(|| {
        if is_root() {
            let spec = Spec {
                attachment: Attachment::Bridged,
                ..spec()
            };
            carries(Kind::Namespace, &spec, kernel);
        }
    });
}

#[test]
fn a_container_of_lxc() {
    testing::alone(|| {
        if is_root() {
            carries(Kind::Lxc, &spec(), kernel);
        }
    });
}

#[test]
fn a_container_of_runc() {
    testing::alone(|| {
        if is_root() {
            carries(Kind::Runc, &spec(), kernel);
        }
    });
}

#[test]
fn tcp_through_a_router_and_a_bridge() {
    testing::alone(|| {
        for (start, layer) in [(kernel as Start, Layer::Three), (bridge, Layer::Two)] {
            if !is_root() {
                return;
            }
            let journal = Journal::open().unwrap();
            let (home, topology) = built(&journal, Kind::Namespace, &spec()).unwrap();
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
