//! Links, addresses, neighbours and routes, made in namespaces of their own.

use crate::common::{ONE_ADDRESS, OTHER_ADDRESS, Pair, has_ip, ip, ip_does, route};
use lockgate_net::netlink::{Route, RouteKind, Rule, Selector, VethEnd, add_veth};
use lockgate_net::{Journal, Namespace, NetlinkError, Tag};
use testing::is_root;

#[test]
fn a_pair_is_as_it_was_asked_for() {
    let Some(pair) = Pair::up(2) else { return };
    let mut netlink = pair.one.netlink().unwrap();
    let link = netlink.link(&pair.one_link).unwrap();
    assert_eq!(link.kind, "veth");
    assert_eq!((link.address, link.mtu), (ONE_ADDRESS, 1600));
    assert_eq!((link.rx_queues, link.tx_queues), (2, 2));
    assert!(link.up && link.running && !link.xdp, "{link:?}");
    let links = netlink.links().unwrap();
    let names: Vec<_> = links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["lo", &pair.one_link]);
    let mut other = pair.other.netlink().unwrap();
    assert_eq!(other.link(&pair.other_link).unwrap().address, OTHER_ADDRESS);
    other.set_down(&pair.other_link).unwrap();
    assert!(!netlink.link(&pair.one_link).unwrap().running);
}

#[test]
fn packets_pass_and_are_counted() {
    let Some(pair) = Pair::up(1) else { return };
    let mut one = pair.one.netlink().unwrap();
    let mut other = pair.other.netlink().unwrap();
    let (one_link, other_link) = (&pair.one_link, &pair.other_link);
    for (from, to, bits) in [
        ("192.0.2.1", "192.0.2.2", 30),
        ("2001:2:0:ff00::1", "2001:2:0:ff00::2", 126),
    ] {
        let (from, to) = (ip(from), ip(to));
        one.add_address(one_link, from, bits).unwrap();
        one.set_neighbour(one_link, to, OTHER_ADDRESS).unwrap();
        other.add_address(other_link, to, bits).unwrap();
        other.set_neighbour(other_link, from, ONE_ADDRESS).unwrap();
        assert!(other.addresses(other_link).unwrap().contains(&(to, bits)));

        let bind = || std::net::UdpSocket::bind((to, 7)).unwrap();
        let receiver = pair.other.run(bind).unwrap();
        let patience = Some(std::time::Duration::from_secs(10));
        receiver.set_read_timeout(patience).unwrap();
        let sender = || std::net::UdpSocket::bind((from, 0)).unwrap();
        let sender = pair.one.run(sender).unwrap();
        sender.send_to(b"gate", (to, 7)).unwrap();
        let mut text = [0; 8];
        assert_eq!(receiver.recv(&mut text).unwrap(), 4);
    }
    let neighbours = one.neighbours().unwrap();
    let permanent = neighbours
        .iter()
        .filter(|neighbour| neighbour.permanent && neighbour.valid);
    let macs: Vec<_> = permanent.filter_map(|it| it.link_address).collect();
    assert_eq!(macs, [OTHER_ADDRESS, OTHER_ADDRESS]);
    assert!(one.statistics(one_link).unwrap().tx_packets >= 2);
    one.remove_neighbour(one_link, ip("192.0.2.2")).unwrap();
    let error = one.remove_neighbour(one_link, ip("192.0.2.2"));
    assert!(error.unwrap_err().is_absent());
}

#[test]
fn a_hundred_thousand_routes_come() {
    let Some(pair) = Pair::up(1) else { return };
    let (mut netlink, index) = pair.addressed();
    let many = || (0..100_000).map(|number| route(index, number));
    let began = std::time::Instant::now();
    assert_eq!(netlink.add_routes(many()).unwrap(), 100_000);
    eprintln!("100,000 routes in {:?}", began.elapsed());
    let ours = |route: &Route| route.gateway == Some(ip("192.0.2.2"));
    let listed = netlink.routes(ip("0.0.0.0")).unwrap();
    assert_eq!(listed.iter().filter(|route| ours(route)).count(), 100_000);
    assert_eq!(
        netlink.route_to(ip("10.1.2.3")).unwrap().gateway,
        Some(ip("192.0.2.2"))
    );

    // The same again: the first refusal says why.
    let error = netlink.add_routes(many().skip(7).take(2)).unwrap_err();
    assert!(error.to_string().contains("add many routes"), "{error}");
    netlink.remove_route(&route(index, 516)).unwrap();
    let error = netlink.route_to(ip("10.1.2.3")).unwrap_err();
    assert!(error.errno().is_some(), "{error}");
}

#[test]
fn routes_of_all_kinds_are_read_as_written() {
    let Some(pair) = Pair::up(1) else { return };
    let (mut netlink, index) = pair.addressed();
    let six = ip("2001:2:0:ff00::1");
    netlink.add_address(&pair.one_link, six, 126).unwrap();
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
    let dropped = Route::new(ip("203.0.113.0"), 24, RouteKind::Blackhole);
    for route in [v4, v6, default, direct, metric, dropped] {
        let any = ip(["::", "0.0.0.0"][usize::from(route.destination.is_ipv4())]);
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
    let Some(pair) = Pair::up(1) else { return };
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
    let Some(pair) = Pair::up(1) else { return };
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
    let Some(pair) = Pair::up(2) else { return };
    let mut netlink = pair.one.netlink().unwrap();
    let link = &pair.one_link;
    for on in [true, false] {
        let wanted = [("rx-gro", on), ("tx-checksum-ip-generic", on)];
        netlink.set_offloads(link, &wanted).unwrap();
        assert_eq!(netlink.offloads(link).unwrap().contains("rx-gro"), on);
    }
    let error = netlink.set_offloads(link, &[("no-such", true)]);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("offloads"), "{error}");
}

#[test]
fn errors_name_what_was_asked() {
    let Some(pair) = Pair::up(1) else { return };
    let mut netlink = pair.one.netlink().unwrap();
    let error = netlink.set_up("lgnowhere").unwrap_err();
    assert!(error.is_absent(), "{error}");
    assert!(error.to_string().contains("lgnowhere"), "{error}");
    for name in ["", "a name", "a/b", "longer-than-fifteen"] {
        assert!(matches!(
            netlink.set_up(name),
            Err(NetlinkError::Argument { .. })
        ));
    }
    let added = netlink.add_address(&pair.one_link, ip("192.0.2.1"), 33);
    assert!(added.is_err());
    let free = VethEnd::new(&pair.other, "lgfree");
    let taken = VethEnd::new(&pair.one, &pair.one_link);
    let error = add_veth(&taken, &free).unwrap_err().to_string();
    assert!(error.contains("there is one already"), "{error}");
    let mut none = VethEnd::new(&pair.one, "lgfree");
    none.queues = 0;
    assert!(add_veth(&none, &free).is_err());
}

#[test]
fn what_a_namespace_holds_goes_with_it() {
    if !is_root() {
        return;
    }
    let (journal, tag) = (Journal::open().unwrap(), Tag::fresh());
    let name = tag.name("gone").unwrap();
    let namespace = Namespace::create(&journal, &name).unwrap();
    for (taken, why) in [(name.as_str(), "it is taken"), ("other", "it is not ours")] {
        let made = Namespace::create(&journal, taken);
        assert!(made.is_err(), "{why}");
    }
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
    let Some(pair) = Pair::up(1) else { return };
    pair.one.set_sysctl("ipv4/ip_forward", "1").unwrap();
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
    if !has_ip() {
        return;
    }
    for (words, selector) in [
        ("to 192.0.2.0/24", Selector::Addresses),
        ("fwmark 3", Selector::More),
        ("ipproto udp dport 7", Selector::More),
    ] {
        let add = format!("rule add priority 5 {words} lookup 7");
        assert!(ip_does(&namespace, &add), "{add}");
        let rules = netlink.rules(ip("0.0.0.0")).unwrap();
        let added = rules.iter().find(|rule| rule.priority == 5).unwrap();
        assert_eq!((added.selector, added.is_usual()), (selector, false));
        assert!(ip_does(&namespace, "rule del priority 5"));
    }
}

/// Such routes do not depend on the destination alone: the kernel forgets them by
/// itself, or keeps them for some sources.
#[test]
fn routes_that_hold_for_a_time_or_for_some_sources_are_told_apart() {
    let Some(pair) = Pair::up(1) else { return };
    if !has_ip() {
        return;
    }
    let mut netlink = pair.one.netlink().unwrap();
    let link = &pair.one_link;
    let six = ip("2001:2:0:ff00::1");
    netlink.add_address(link, six, 126).unwrap();
    for (words, is_conditional) in [
        ("2001:2:0:1::/64", false),
        ("2001:2:0:2::/64 expires 100", true),
        ("2001:2:0:3::/64 from 2001:2:0:5::/64", true),
    ] {
        let add = format!("-6 route add {words} via 2001:2:0:ff00::2 dev {link}");
        if !ip_does(&pair.one, &add) {
            testing::left_out(format!("this kernel or ip takes no route \"{words}\""));
            continue;
        }
        let destination = ip(words.split('/').next().unwrap());
        let routes = netlink.routes(ip("::")).unwrap();
        let is_it = |route: &&Route| (route.destination, route.prefix_length) == (destination, 64);
        let found = routes.iter().find(is_it).expect("it was added");
        assert_eq!(found.is_conditional, is_conditional, "{found:?}");
    }
}
