//! Links, addresses, neighbours and routes, made in namespaces of their own.

use std::net::{IpAddr, Ipv4Addr};

use crate::common::{ONE_ADDRESS, OTHER_ADDRESS, Pair};
use lockgate_net::netlink::{Route, RouteKind, Rule, Selector, VethEnd, add_veth};
use lockgate_net::{Journal, Namespace, NetlinkError, Tag};
use testing::is_root;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn a_pair_is_as_it_was_asked_for() {
    if !is_root() {
        return;
    }
    let pair = Pair::up(2);
    let mut netlink = pair.one.netlink().unwrap();
    let link = netlink.link(&pair.one_link).unwrap();
    assert_eq!(link.kind, "veth");
    assert_eq!((link.address, link.mtu), (ONE_ADDRESS, 1600));
    assert_eq!((link.rx_queues, link.tx_queues), (2, 2));
    assert!(link.up && link.running && !link.xdp, "{link:?}");
    let names: Vec<_> = netlink
        .links()
        .unwrap()
        .into_iter()
        .map(|link| link.name)
        .collect();
    assert_eq!(names, ["lo".to_owned(), pair.one_link.clone()]);
    let mut other = pair.other.netlink().unwrap();
    assert_eq!(other.link(&pair.other_link).unwrap().address, OTHER_ADDRESS);
    other.set_down(&pair.other_link).unwrap();
    assert!(!netlink.link(&pair.one_link).unwrap().running);
}

#[test]
fn packets_pass_and_are_counted() {
    if !is_root() {
        return;
    }
    let pair = Pair::up(1);
    let mut one = pair.one.netlink().unwrap();
    for (address, other) in [
        ("192.0.2.1", "192.0.2.2"),
        ("2001:2:0:ff00::1", "2001:2:0:ff00::2"),
    ] {
        let length = if ip(address).is_ipv4() { 30 } else { 126 };
        one.add_address(&pair.one_link, ip(address), length)
            .unwrap();
        one.set_neighbour(&pair.one_link, ip(other), OTHER_ADDRESS)
            .unwrap();
        let mut netlink = pair.other.netlink().unwrap();
        netlink
            .add_address(&pair.other_link, ip(other), length)
            .unwrap();
        netlink
            .set_neighbour(&pair.other_link, ip(address), ONE_ADDRESS)
            .unwrap();
        assert!(
            netlink
                .addresses(&pair.other_link)
                .unwrap()
                .contains(&(ip(other), length))
        );

        let bind = || std::net::UdpSocket::bind((ip(other), 7)).unwrap();
        let receiver = pair.other.run(bind).unwrap();
        receiver
            .set_read_timeout(Some(std::time::Duration::from_secs(10)))
            .unwrap();
        let sender = || std::net::UdpSocket::bind((ip(address), 0)).unwrap();
        let sender = pair.one.run(sender).unwrap();
        sender.send_to(b"gate", (ip(other), 7)).unwrap();
        let mut text = [0; 8];
        assert_eq!(receiver.recv(&mut text).unwrap(), 4);
    }
    let neighbours = one.neighbours().unwrap();
    let permanent = neighbours
        .iter()
        .filter(|neighbour| neighbour.permanent && neighbour.valid);
    assert_eq!(
        permanent
            .filter_map(|neighbour| neighbour.link_address)
            .collect::<Vec<_>>(),
        [OTHER_ADDRESS, OTHER_ADDRESS]
    );
    assert!(one.statistics(&pair.one_link).unwrap().tx_packets >= 2);
    one.remove_neighbour(&pair.one_link, ip("192.0.2.2"))
        .unwrap();
    let error = one
        .remove_neighbour(&pair.one_link, ip("192.0.2.2"))
        .unwrap_err();
    assert!(error.is_absent(), "{error}");
}

#[test]
fn a_hundred_thousand_routes_come_and_go() {
    if !is_root() {
        return;
    }
    let pair = Pair::up(1);
    let mut netlink = pair.one.netlink().unwrap();
    netlink
        .add_address(&pair.one_link, ip("192.0.2.1"), 30)
        .unwrap();
    let index = netlink.link(&pair.one_link).unwrap().index;
    let route = |number: u32| {
        let first = Ipv4Addr::from_bits((10 << 24) + number * 128);
        Route::via(first.into(), 25, ip("192.0.2.2"), index)
    };
    let began = std::time::Instant::now();
    assert_eq!(
        netlink.add_routes((0..100_000).map(route)).unwrap(),
        100_000
    );
    eprintln!("100,000 routes in {:?}", began.elapsed());
    let ours = |route: &Route| route.gateway == Some(ip("192.0.2.2"));
    let listed = netlink.routes(ip("0.0.0.0")).unwrap();
    assert_eq!(listed.iter().filter(|route| ours(route)).count(), 100_000);
    assert_eq!(
        netlink.route_to(ip("10.1.2.3")).unwrap().gateway,
        Some(ip("192.0.2.2"))
    );

    // The same again: the first refusal says why.
    let error = netlink.add_routes([route(7), route(8)]).unwrap_err();
    assert!(error.to_string().contains("add many routes"), "{error}");
    assert_eq!(
        netlink.remove_routes((0..100_000).map(route)).unwrap(),
        100_000
    );
    assert!(!netlink.routes(ip("0.0.0.0")).unwrap().iter().any(ours));
    assert!(
        netlink
            .route_to(ip("10.1.2.3"))
            .unwrap_err()
            .errno()
            .is_some()
    );
}

#[test]
fn routes_of_all_kinds_are_read_as_written() {
    if !is_root() {
        return;
    }
    let pair = Pair::up(1);
    let mut netlink = pair.one.netlink().unwrap();
    netlink
        .add_address(&pair.one_link, ip("192.0.2.1"), 30)
        .unwrap();
    netlink
        .add_address(&pair.one_link, ip("2001:2:0:ff00::1"), 126)
        .unwrap();
    let index = netlink.link(&pair.one_link).unwrap().index;
    let v4 = Route::via(ip("198.19.0.0"), 16, ip("192.0.2.2"), index);
    let v6 = Route {
        metric: Some(1024),
        ..Route::via(ip("2001:2:0:1::"), 64, ip("2001:2:0:ff00::2"), index)
    };
    let default = Route {
        destination: ip("0.0.0.0"),
        prefix_length: 0,
        ..v4
    };
    let direct = Route {
        gateway: None,
        destination: ip("198.51.0.0"),
        ..v4
    };
    let metric = Route {
        metric: Some(7),
        table: 1000,
        ..v4
    };
    let dropped = Route {
        destination: ip("203.0.113.0"),
        prefix_length: 24,
        gateway: None,
        interface: None,
        kind: RouteKind::Blackhole,
        ..v4
    };
    for route in [v4, v6, default, direct, metric, dropped] {
        let any = if route.destination.is_ipv4() {
            ip("0.0.0.0")
        } else {
            ip("::")
        };
        netlink.add_route(&route).unwrap();
        assert!(netlink.routes(any).unwrap().contains(&route), "{route:?}");
        assert!(netlink.add_route(&route).is_err());
        netlink.replace_route(&route).unwrap();
        netlink.remove_route(&route).unwrap();
        assert!(netlink.remove_route(&route).unwrap_err().is_absent());
    }
}

#[test]
fn bridges_and_moves() {
    if !is_root() {
        return;
    }
    let pair = Pair::up(1);
    let mut netlink = pair.one.netlink().unwrap();
    let bridge = pair.tag.interface("br").unwrap();
    netlink.add_bridge(&bridge).unwrap();
    netlink.set_master(&pair.one_link, Some(&bridge)).unwrap();
    let index = netlink.link(&bridge).unwrap().index;
    assert_eq!(netlink.link(&pair.one_link).unwrap().master, Some(index));
    netlink.set_master(&pair.one_link, None).unwrap();
    assert_eq!(netlink.link(&pair.one_link).unwrap().master, None);

    netlink.set_mtu(&bridge, 1400).unwrap();
    netlink.set_address(&bridge, [2, 0, 0, 0, 0, 9]).unwrap();
    netlink.set_queue_length(&bridge, 2000).unwrap();
    netlink.set_promiscuous(&bridge, true).unwrap();
    let link = netlink.link(&bridge).unwrap();
    assert_eq!((link.mtu, link.address), (1400, [2, 0, 0, 0, 0, 9]));

    netlink.move_link(&pair.one_link, &pair.other).unwrap();
    assert!(matches!(
        netlink.link(&pair.one_link),
        Err(NetlinkError::NoLink { .. })
    ));
    let mut other = pair.other.netlink().unwrap();
    assert!(!other.link(&pair.one_link).unwrap().up);
}

#[test]
fn a_vlan_is_a_link_of_a_link() {
    if !is_root() {
        return;
    }
    let pair = Pair::up(1);
    let mut netlink = pair.one.netlink().unwrap();
    let vlan = pair.tag.interface("v7").unwrap();
    let error = netlink.add_vlan(&vlan, &pair.one_link, 4095).unwrap_err();
    assert!(error.to_string().contains("1 to 4094"), "{error}");
    match netlink.add_vlan(&vlan, &pair.one_link, 7) {
        Err(error) if error.is_unsupported() => {
            testing::skipped("no VLAN links; a kernel with CONFIG_VLAN_8021Q has them");
            return;
        }
        made => made.unwrap(),
    }
    assert_eq!(netlink.link(&vlan).unwrap().kind, "vlan");
    netlink.remove_link(&vlan).unwrap();
    assert!(netlink.remove_link(&vlan).unwrap_err().is_absent());
}

#[test]
fn offloads_are_set() {
    if !is_root() {
        return;
    }
    let pair = Pair::up(2);
    let mut netlink = pair.one.netlink().unwrap();
    for on in [true, false] {
        let wanted = [("rx-gro", on), ("tx-checksum-ip-generic", on)];
        netlink.set_offloads(&pair.one_link, &wanted).unwrap();
        assert_eq!(
            netlink.offloads(&pair.one_link).unwrap().contains("rx-gro"),
            on
        );
    }
    let error = netlink
        .set_offloads(&pair.one_link, &[("no-such", true)])
        .unwrap_err();
    assert!(error.to_string().contains("offloads"), "{error}");
}

#[test]
fn errors_name_what_was_asked() {
    if !is_root() {
        return;
    }
    let pair = Pair::up(1);
    let mut netlink = pair.one.netlink().unwrap();
    let error = netlink.set_up("lgnowhere").unwrap_err();
    assert!(
        error.is_absent() && error.to_string().contains("lgnowhere"),
        "{error}"
    );
    for name in ["", "a name", "a/b", "longer-than-fifteen"] {
        assert!(matches!(
            netlink.set_up(name),
            Err(NetlinkError::Argument { .. })
        ));
    }
    assert!(
        netlink
            .add_address(&pair.one_link, ip("192.0.2.1"), 33)
            .is_err()
    );
    let end = |namespace, name, queues| VethEnd {
        namespace,
        name,
        queues,
        address: None,
        mtu: None,
    };
    let taken = end(&pair.one, &pair.one_link, 1);
    let error = add_veth(&taken, &end(&pair.other, "lgfree", 1)).unwrap_err();
    assert!(
        error.to_string().contains("there is one already"),
        "{error}"
    );
    let none = end(&pair.one, "lgfree", 0);
    assert!(add_veth(&none, &end(&pair.other, "lgfree", 1)).is_err());
}

#[test]
fn what_a_namespace_holds_goes_with_it() {
    if !is_root() {
        return;
    }
    let (journal, tag) = (Journal::open().unwrap(), Tag::fresh());
    let name = tag.name("gone").unwrap();
    let namespace = Namespace::create(&journal, &name).unwrap();
    assert!(
        Namespace::create(&journal, &name).is_err(),
        "the name is taken"
    );
    assert!(
        Namespace::create(&journal, "other").is_err(),
        "the name is not ours"
    );
    let path = format!("/run/netns/{name}");
    assert!(std::path::Path::new(&path).exists());
    assert_eq!(journal.entries().len(), 1);
    let clone = namespace.clone();
    drop(namespace);
    assert!(std::path::Path::new(&path).exists());
    drop(clone);
    assert!(!std::path::Path::new(&path).exists());
    assert_eq!(journal.entries(), []);
}

#[test]
fn settings_are_of_one_namespace() {
    if !is_root() {
        return;
    }
    let pair = Pair::up(1);
    pair.one.set_forwarding(true).unwrap();
    assert_eq!(pair.one.sysctl("ipv4/ip_forward").unwrap(), "1");
    assert_eq!(pair.other.sysctl("ipv4/ip_forward").unwrap(), "0");
    assert!(pair.one.sysctl("../kernel/pid_max").is_err());
    assert!(pair.one.sysctl("/etc/hostname").is_err());
    assert!(pair.one.set_sysctl("ipv4/no_such", "1").is_err());
}

#[test]
fn rules_are_the_usual_ones_until_one_is_added() {
    if !is_root() {
        return;
    }
    let journal = Journal::open().unwrap();
    let name = Tag::fresh().name("rules").unwrap();
    let namespace = Namespace::create(&journal, &name).unwrap();
    let mut netlink = namespace.netlink().unwrap();
    let rules = netlink.rules(ip("0.0.0.0")).unwrap();
    assert_eq!(rules.len(), 3, "{rules:?}");
    assert!(rules.iter().all(Rule::is_usual), "{rules:?}");
    assert!(netlink.rules(ip("::")).unwrap().iter().all(Rule::is_usual));
    let cases: [(&[&str], Selector); 3] = [
        (&["to", "192.0.2.0/24", "lookup", "7"], Selector::Addresses),
        (&["fwmark", "3", "lookup", "7"], Selector::More),
        (
            &["ipproto", "udp", "dport", "7", "lookup", "7"],
            Selector::More,
        ),
    ];
    for (words, selector) in cases {
        let mut command = std::process::Command::new("ip");
        command.args(["rule", "add", "priority", "5"]).args(words);
        let Ok(mut child) = namespace.spawn_process(command) else {
            return testing::skipped("no 'ip' to set rules with; apt-get install iproute2");
        };
        assert!(child.wait().unwrap().success());
        let rules = netlink.rules(ip("0.0.0.0")).unwrap();
        let added = rules.iter().find(|rule| rule.priority == 5).unwrap();
        assert_eq!((added.selector, added.is_usual()), (selector, false));
        let mut command = std::process::Command::new("ip");
        command.args(["rule", "del", "priority", "5"]);
        let mut child = namespace.spawn_process(command).unwrap();
        assert!(child.wait().unwrap().success());
    }
}

/// Such routes do not depend on the destination alone: the kernel forgets them by
/// itself, or keeps them for some sources.
#[test]
fn routes_that_hold_for_a_time_or_for_some_sources_are_told_apart() {
    if !is_root() {
        return;
    }
    let pair = Pair::up(1);
    let mut netlink = pair.one.netlink().unwrap();
    let link = &pair.one_link;
    netlink
        .add_address(link, ip("2001:2:0:ff00::1"), 126)
        .unwrap();
    for (words, is_conditional) in [
        ("2001:2:0:1::/64", false),
        ("2001:2:0:2::/64 expires 100", true),
        ("2001:2:0:3::/64 from 2001:2:0:5::/64", true),
    ] {
        let mut ip_route = std::process::Command::new("ip");
        ip_route
            .args(["-6", "route", "add"])
            .args(words.split(' '))
            .args(["via", "2001:2:0:ff00::2", "dev", link]);
        let Ok(mut child) = pair.one.spawn_process(ip_route) else {
            testing::skipped("no program ip; apt-get install iproute2");
            return;
        };
        if !child.wait().unwrap().success() {
            testing::left_out(format!("this kernel or ip takes no route \"{words}\""));
            continue;
        }
        let destination = ip(words.split('/').next().unwrap());
        let routes = netlink.routes(ip("::")).unwrap();
        let mut found = routes
            .iter()
            .filter(|route| route.destination == destination && route.prefix_length == 64);
        let found = found.next().expect("it was added");
        assert_eq!(found.is_conditional, is_conditional, "{found:?}");
    }
}
