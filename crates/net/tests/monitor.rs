//! Changes are reported, each once, in order.

use std::time::{Duration, Instant};

use crate::common::{OTHER_ADDRESS, Pair, has_ip, ip, ip_does, route};

use lockgate_net::monitor::RouteChange;
use lockgate_net::netlink::Route;
use lockgate_net::{Event, Monitor, Topic};

fn find(monitor: &mut Monitor, wanted: impl Fn(&Event) -> bool) -> Event {
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut seen = vec![];
    while Instant::now() < deadline {
        for event in monitor.wait(Duration::from_secs(1)).unwrap() {
            if wanted(&event) {
                return event;
            }
            seen.push(event);
        }
    }
    panic!("not among {seen:#?}");
}

#[test]
fn every_kind_of_change_is_told() {
    testing::timed(|| {
        let Some(pair) = Pair::up(1) else { return };
        let mut monitor = Monitor::open(&pair.one, &Topic::ALL).unwrap();
        let (mut netlink, index) = pair.addressed();
        find(
            &mut monitor,
            |event| matches!(event, Event::Address { address, removed: false, .. } if *address == ip("192.0.2.1")),
        );
        netlink
            .set_neighbour(&pair.one_link, ip("192.0.2.2"), OTHER_ADDRESS)
            .unwrap();
        let event = find(
            &mut monitor,
            |event| matches!(event, Event::Neighbour { neighbour, .. } if neighbour.address == ip("192.0.2.2")),
        );
        assert!(
            matches!(event, Event::Neighbour { neighbour, removed: false } if neighbour.link_address == Some(OTHER_ADDRESS) && neighbour.permanent)
        );
        let ours = Route::via(ip("198.19.0.0"), 16, ip("192.0.2.2"), index);
        let narrower = Route {
            mtu: Some(1400),
            ..ours
        };
        let told = |route, change| Event::Route { route, change };
        netlink.add_route(&ours).unwrap();
        find(&mut monitor, |event| {
            *event == told(ours, RouteChange::Added)
        });
        netlink.replace_route(&narrower).unwrap();
        find(&mut monitor, |event| {
            *event == told(narrower, RouteChange::Replaced)
        });
        netlink.remove_route(&ours).unwrap();
        find(&mut monitor, |event| {
            *event == told(narrower, RouteChange::Removed)
        });
        let gone = netlink.remove_neighbour(&pair.one_link, ip("192.0.2.2"));
        gone.unwrap();
        // The entry has ended, or is gone.
        find(&mut monitor, |event| {
            matches!(event, Event::Neighbour { neighbour, removed }
                if neighbour.address == ip("192.0.2.2") && (*removed || !neighbour.valid))
        });
        let mut other = pair.other.netlink().unwrap();
        other.set_down(&pair.other_link).unwrap();
        find(
            &mut monitor,
            |event| matches!(event, Event::Link { link, .. } if link.name == pair.one_link && !link.running),
        );
        netlink.remove_link(&pair.one_link).unwrap();
        find(
            &mut monitor,
            |event| matches!(event, Event::Link { link, removed: true } if link.name == pair.one_link),
        );
    });
}

#[test]
fn rules_and_settings_are_told() {
    testing::timed(|| {
        let Some(pair) = Pair::up(1) else { return };
        let mut settings = Monitor::open(&pair.one, &[Topic::Settings]).unwrap();
        pair.one.set_sysctl("ipv4/ip_forward", "1").unwrap();
        find(&mut settings, |event| *event == Event::Other);
        let mut rules = Monitor::open(&pair.one, &[Topic::Rules]).unwrap();
        let add = "rule add pref 77 from 198.18.0.0/16 table 77";
        if !has_ip() {
            return;
        }
        if !ip_does(&pair.one, add) {
            return testing::skipped("no rules; a kernel with CONFIG_IP_MULTIPLE_TABLES has them");
        }
        find(&mut rules, |event| *event == Event::Other);
    });
}

#[test]
fn a_flood_of_routes_is_told_whole_or_as_lost() {
    testing::timed(|| {
        let Some(pair) = Pair::up(1) else { return };
        let (mut netlink, index) = pair.addressed();
        let mut monitor = Monitor::open(&pair.one, &[Topic::Routes]).unwrap();
        let many = (0..20_000).map(|number| route(index, number));
        netlink.add_routes(many).unwrap();
        let (mut told, mut lost) = (0, false);
        loop {
            let events = monitor.wait(Duration::from_millis(100)).unwrap();
            if events.is_empty() {
                break;
            }
            for event in events {
                match event {
                    Event::Lost => lost = true,
                    Event::Route {
                        change: RouteChange::Added,
                        route,
                    } if route.gateway.is_some() => told += 1,
                    // IPv6 finds its own routes meanwhile.
                    Event::Route { route, .. } if route.destination.is_ipv6() => {}
                    other => panic!("{other:?}"),
                }
            }
        }
        assert!(told == 20_000 || lost, "{told}");
    });
}

#[test]
fn nothing_is_told_when_nothing_changed() {
    testing::timed(|| {
        let Some(pair) = Pair::up(1) else { return };
        let mut monitor = Monitor::open(&pair.one, &[Topic::Rules]).unwrap();
        assert_eq!(monitor.wait(Duration::from_millis(1)).unwrap(), []);
        // Another namespace's changes are not ours.
        let mut routes = Monitor::open(&pair.one, &[Topic::Routes]).unwrap();
        let mut other = pair.other.netlink().unwrap();
        let added = other.add_address(&pair.other_link, ip("192.0.2.2"), 30);
        added.unwrap();
        assert_eq!(routes.wait(Duration::from_millis(1)).unwrap(), []);
    });
}
