//! Settings at random: after each few of them, frames at random go through a DUT that
//! the kernel routes for and one that the subject does, and the same comes out.
//!
//! Most commands are refused at times, e.g. a route that is there already: by both.

use std::cell::{Cell, RefCell};
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Command, Stdio};
use std::time::Duration;

use net::Journal;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use wire::protocol;

use crate::behaviour::catalogue;
use crate::behaviour::changes::{LOCAL_V4, LOCAL_V6};
use crate::behaviour::command::is_obeyed;
use crate::behaviour::plan;
use crate::behaviour::probe::Pair;
use crate::behaviour::rig::Rig;
use crate::behaviour::subject::Subject;

/// After a change a path may be out of date for so long.
const SETTLED: Duration = Duration::from_millis(120);

/// A further gateway on port 1's link.
const SECOND: [&str; 2] = ["198.51.100.7", "2001:2:0:b3::7"];

/// With `IN` and `OUT` for the links of port 0 and 1.
#[derive(Clone, Debug)]
pub enum Step {
    /// A command of `ip -4` or `ip -6`.
    Ip(usize, String),
    Set(String, String),
    /// One of `nft`, `tc` or `iptables-legacy`, which may then decide about frames.
    Decide(String),
}

#[derive(Clone, Debug)]
pub struct Probe {
    port: usize,
    source: IpAddr,
    destination: IpAddr,
    data: usize,
    type_of_service: u8,
    dont_fragment: bool,
}

type Case = Vec<(Vec<Step>, Vec<Probe>)>;

fn of(words: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    select(words)
}

/// What routes and rules are about, of each family.
const NETWORKS: [&[&str]; 2] = [
    &[
        "198.19.0.0/16",
        "198.19.0.0/16",
        "198.19.0.0/24",
        "198.19.0.0/28",
        "198.19.0.7/32",
        "198.18.0.0/16",
        "198.18.0.0/24",
        "198.18.0.7/32",
        "0.0.0.0/0",
    ],
    &[
        "2001:2:0:1::/64",
        "2001:2:0:1::/64",
        "2001:2:0:1::/96",
        "2001:2:0:1::/124",
        "2001:2:0:1::7/128",
        "2001:2::/64",
        "2001:2::7/128",
        "2001:2::/32",
        "::/0",
    ],
];
const WAYS: [&[&str]; 2] = [
    &[
        "via 192.0.2.6 dev OUT",
        "via 192.0.2.6 dev OUT",
        "via 198.51.100.7 dev OUT",
        "via 192.0.2.2 dev IN",
        "dev OUT scope link",
        "via inet6 2001:2:0:b3::7 dev OUT",
        "nexthop via 192.0.2.6 dev OUT nexthop via 198.51.100.7 dev OUT",
        "nexthop via 192.0.2.6 dev OUT nexthop via 192.0.2.2 dev IN",
        "nhid 7",
        "nhid 9",
    ],
    &[
        "via 2001:2:0:ff01::2 dev OUT",
        "via 2001:2:0:ff01::2 dev OUT",
        "via 2001:2:0:b3::7 dev OUT",
        "via 2001:2:0:ff00::2 dev IN",
        "dev OUT",
        "nexthop via 2001:2:0:ff01::2 dev OUT nexthop via 2001:2:0:b3::7 dev OUT",
        "nhid 7",
        "nhid 9",
    ],
];
const MORE: [&[&str]; 2] = [
    &[
        "",
        "",
        "",
        "",
        "mtu 700",
        "mtu 1300",
        "mtu lock 700",
        "tos 0x08",
        "metric 5",
        "metric 5 mtu 700",
        "table 100",
        "table 100 mtu 700",
        "src 192.0.2.5",
        "hoplimit 3",
        "advmss 500",
        "realms 3",
    ],
    &[
        "",
        "",
        "",
        "",
        "mtu 1290",
        "mtu 1350",
        "mtu lock 1290",
        "metric 5",
        "metric 5 mtu 1290",
        "table 100",
        "table 100 mtu 1290",
        "expires 900",
        "from 2001:2::/64",
        "hoplimit 3",
        "pref high",
    ],
];
const GATEWAYS: [&[&str]; 2] = [
    &["192.0.2.6", "198.51.100.7"],
    &["2001:2:0:ff01::2", "2001:2:0:b3::7"],
];
/// Addresses that the DUT may have: those of [`changes`](super::changes), and one that it
/// has.
const OWN: [&[&str]; 2] = [
    &["198.19.1.9/32", "198.19.1.9/32", "192.0.2.5/30"],
    &["2001:2:0:1::109/128"],
];

fn route(family: usize) -> impl Strategy<Value = String> {
    let verb = of(&[
        "add", "add", "append", "prepend", "replace", "replace", "change", "del",
    ]);
    let networks = (of(NETWORKS[family]), of(WAYS[family]), of(MORE[family]));
    let by_way = (verb, networks)
        .prop_map(|(verb, (network, way, more))| format!("route {verb} {network} {more} {way}"));
    let kind = of(&["blackhole", "unreachable", "prohibit", "throw"]);
    let verb = of(&["add", "replace", "del"]);
    let nowhere = (
        verb,
        kind,
        of(NETWORKS[family]),
        of(&["", "metric 5", "table 100"]),
    )
        .prop_map(|(verb, kind, network, more)| format!("route {verb} {kind} {network} {more}"));
    let gone = of(NETWORKS[family]).prop_map(|network| format!("route del {network}"));
    prop_oneof![6 => by_way, 2 => nowhere, 2 => gone]
}

/// Whom a rule is about: never the frames that end a look.
fn rule(family: usize) -> impl Strategy<Value = String> {
    let about = prop_oneof![
        3 => of(NETWORKS[family]).prop_map(|network| format!("from {network}")),
        3 => of(NETWORKS[family]).prop_map(|network| format!("to {network}")),
        2 => of(&["iif IN", "iif OUT", "oif OUT", "iif lo"]).prop_map(str::to_owned),
        2 => of(&["tos 0x08", "ipproto udp dport 7", "ipproto tcp", "fwmark 1", "not fwmark 1",
            "uidrange 0-0"]).prop_map(str::to_owned),
    ];
    let then = of(&[
        "lookup 100",
        "lookup 100",
        "lookup main",
        "lookup main suppress_prefixlength 0",
        "lookup main suppress_prefixlength 16",
        "blackhole",
        "prohibit",
        "unreachable",
        "goto 32766",
        "nop",
    ]);
    let all = |about: &String| about.ends_with("/0");
    let verb = of(&["add", "add", "add", "del"]);
    (
        verb,
        50..54_u32,
        about.prop_filter("that would be all", move |about| !all(about)),
        then,
    )
        .prop_map(|(verb, priority, about, then)| {
            format!("rule {verb} pref {priority} {about} {then}")
        })
}

fn other(family: usize) -> impl Strategy<Value = String> {
    let state = of(&["permanent", "permanent", "stale", "reachable", "noarp"]);
    let address = of(&[
        "02:00:00:00:01:01",
        "02:00:00:00:07:07",
        "02:00:00:00:09:09",
    ]);
    let neighbour = (of(GATEWAYS[family]), address, state).prop_map(|(gateway, address, state)| {
        format!("neigh replace {gateway} lladdr {address} dev OUT nud {state}")
    });
    let forgotten = of(GATEWAYS[family]).prop_map(|gateway| format!("neigh del {gateway} dev OUT"));
    let own = (of(&["add", "del"]), of(OWN[family]))
        .prop_map(|(verb, address)| format!("addr {verb} {address} dev OUT"));
    let way = of(GATEWAYS[family]);
    let hop =
        (of(&["7", "8"]), way, of(&["add", "replace", "del"])).prop_map(
            |(id, way, verb)| match verb {
                "del" => format!("nexthop del id {id}"),
                _ => format!("nexthop {verb} id {id} via {way} dev OUT"),
            },
        );
    let group = of(&[
        "nexthop add id 9 group 7",
        "nexthop replace id 9 group 7/8",
        "nexthop replace id 9 group 8",
        "nexthop replace id 9 blackhole",
    ])
    .prop_map(str::to_owned);
    prop_oneof![3 => neighbour, 1 => forgotten, 1 => own, 2 => hop, 1 => group]
}

fn link() -> impl Strategy<Value = String> {
    of(&[
        "link set OUT mtu 1300",
        "link set OUT mtu 1400",
        "link set IN mtu 1280",
        "link set OUT address 02:00:00:00:02:09",
        "link set OUT promisc on",
        "link set OUT down",
        "link set OUT up",
        "link add br9 type bridge\nlink set br9 up\nlink set OUT master br9",
        "link add br9 type bridge\nlink set br9 up\nlink set IN master br9",
        "link set OUT nomaster",
        "link add vrf9 type vrf table 100\nlink set vrf9 up\nlink set OUT master vrf9",
    ])
    .prop_map(str::to_owned)
}

fn setting() -> impl Strategy<Value = (String, String)> {
    let of_link = |names: &'static [(&'static str, &'static [&'static str])]| {
        let one = select(names).prop_flat_map(|(name, values)| (Just(name), select(values)));
        (one, of(&["IN", "OUT", "all"]))
            .prop_map(|((name, value), link)| (name.replace("LINK", link), value.to_owned()))
    };
    const OFTEN: &[(&str, &[&str])] = &[
        ("ipv4/conf/LINK/rp_filter", &["0", "1", "2"]),
        ("ipv6/conf/LINK/mtu", &["1280", "1300", "1400"]),
        ("ipv4/conf/LINK/forwarding", &["0", "1", "1"]),
        ("ipv6/conf/LINK/forwarding", &["0", "1", "1"]),
        ("ipv6/conf/LINK/disable_ipv6", &["0", "0", "1"]),
        ("ipv4/ip_forward_use_pmtu", &["0", "1"]),
    ];
    const SELDOM: &[(&str, &[&str])] = &[
        ("ipv6/conf/LINK/force_forwarding", &["0", "1"]),
        ("ipv6/conf/LINK/proxy_ndp", &["0", "1"]),
        ("ipv4/conf/LINK/accept_local", &["0", "1"]),
        ("ipv4/conf/LINK/route_localnet", &["0", "1"]),
        ("ipv4/conf/LINK/src_valid_mark", &["0", "1"]),
        ("ipv4/conf/LINK/send_redirects", &["0", "1"]),
        ("ipv4/conf/LINK/proxy_arp", &["0", "1"]),
        ("ipv4/conf/LINK/ignore_routes_with_linkdown", &["0", "1"]),
        ("ipv6/conf/LINK/ignore_routes_with_linkdown", &["0", "1"]),
        ("ipv6/conf/LINK/accept_source_route", &["0", "1"]),
        ("ipv6/conf/LINK/hop_limit", &["5", "64"]),
        ("ipv4/fib_multipath_hash_policy", &["0", "1"]),
        ("ipv6/fib_multipath_hash_policy", &["0", "1"]),
        ("ipv4/fib_multipath_use_neigh", &["0", "1"]),
        ("ipv4/nexthop_compat_mode", &["0", "1"]),
        ("ipv4/ip_forward_update_priority", &["0", "1"]),
    ];
    prop_oneof![3 => of_link(OFTEN), 1 => of_link(SELDOM)]
}

fn step() -> impl Strategy<Value = Step> {
    let family = 0..2_usize;
    let by_family = family.prop_flat_map(|family| {
        let of_family = prop_oneof![6 => route(family), 2 => rule(family), 3 => other(family)];
        (Just(family), of_family).prop_map(|(family, command)| Step::Ip(family, command))
    });
    prop_oneof![
        9 => by_family,
        1 => link().prop_map(|command| Step::Ip(0, command)),
        3 => setting().prop_map(|(name, value)| Step::Set(name, value)),
        3 => decider().prop_map(Step::Decide),
    ]
}

/// Chains come with a rule each, since an empty one changes nothing; what stands there
/// already may get more rules, be taken away, or be another's.
fn decider() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0..2_usize).prop_flat_map(between_the_ports),
        2 => at_a_port(),
        2 => (0..2_usize).prop_flat_map(legacy),
        3 => traffic_control(),
        1 => of(&["ip xfrm policy add dir fwd src 198.18.0.0/16 dst 198.19.0.0/24 action block",
            "ip xfrm policy add dir fwd src 2001:2::/64 dst 2001:2:0:1::/64 action block",
            "ip xfrm policy flush", "ip xfrm policy flush"]).prop_map(str::to_owned),
        4 => of(&["nft flush ruleset", "nft flush ruleset", "nft delete table inet t",
            "nft add table ip t { flags dormant; }", "nft flush chain inet t forward",
            "tc qdisc del dev OUT root", "tc qdisc del dev OUT clsact",
            "tc qdisc del dev IN clsact"]).prop_map(str::to_owned),
    ]
}

/// Words that a rule of nftables is about, of each family.
fn about(family: usize) -> impl Strategy<Value = String> {
    let name = ["ip", "ip6"][family];
    prop_oneof![
        2 => (of(&["saddr", "daddr"]), of(NETWORKS[family]))
            .prop_map(move |(which, network)| format!("{name} {which} {network}")),
        2 => of(&["udp dport 7", "udp length > 700", "meta length > 1000", "iifname IN", "oifname OUT",
            "ct state new", "ct state established"]).prop_map(str::to_owned),
        1 => Just(String::new()),
    ]
}

fn between_the_ports(family: usize) -> impl Strategy<Value = String> {
    let name = ["ip", "ip6"][family];
    let tables = select(vec![name, name, "inet"]);
    let policy = of(&["accept", "accept", "accept", "drop"]);
    let hook = of(&["prerouting", "forward", "forward", "postrouting"]);
    let limit = ["ttl", "hoplimit"][family];
    let then = select(vec![
        "drop".to_owned(),
        "drop".to_owned(),
        "reject".to_owned(),
        "accept".to_owned(),
        "counter".to_owned(),
        "meta mark set 1".to_owned(),
        "notrack".to_owned(),
        format!("{name} {limit} set 9"),
        format!("{name} dscp set af11"),
    ]);
    let filter = (tables.clone(), hook, policy, about(family), then).prop_map(
        |(table, hook, policy, about, then)| {
            // Where the answers pass, too, that end a look, not all is dropped.
            let policy = if hook == "forward" { policy } else { "accept" };
            format!(
                "nft add table {table} t; add chain {table} t {hook} {{ type filter hook {hook} priority -150; policy {policy}; }}; add rule {table} t {hook} {about} {then}"
            )
        },
    );
    // Each address has one of its own: where two share one, the kernel draws ports.
    let networks = [
        [
            "198.18.0.0/24 : 10.18.0.0/24",
            "198.19.0.0/24 : 198.19.5.0/24",
        ],
        [
            "2001:2::/112 : 2001:2::5:0/112",
            "2001:2:0:1::/112 : 2001:2:0:1::5:0/112",
        ],
    ][family];
    let nat = (about(family), any::<bool>()).prop_map(move |(about, is_source)| {
        let (hook, what, which, to) = match is_source {
            true => ("postrouting", "snat", "saddr", networks[0]),
            false => ("prerouting", "dnat", "daddr", networks[1]),
        };
        format!(
            "nft add table {name} n; add chain {name} n {hook} {{ type nat hook {hook} priority 0; }}; add rule {name} n {hook} {about} {what} {name} prefix to {name} {which} map {{ {to} }}"
        )
    });
    prop_oneof![3 => filter, 1 => nat]
}

fn at_a_port() -> impl Strategy<Value = String> {
    let place = of(&["ingress", "ingress", "egress"]);
    let link = of(&["IN", "OUT"]);
    let about = of(&[
        "udp dport 7",
        "ip daddr 198.19.0.0/24",
        "ip6 daddr 2001:2:0:1::7",
        "meta length > 1000",
    ]);
    (of(&["netdev", "netdev", "inet"]), place, link, about).prop_map(|(table, place, link, about)| {
        format!(
            "nft add table {table} p; add chain {table} p {place}{link} {{ type filter hook {place} device {link} priority 0; }}; add rule {table} p {place}{link} {about} drop"
        )
    })
}

fn legacy(family: usize) -> impl Strategy<Value = String> {
    let program = ["iptables-legacy", "ip6tables-legacy"][family];
    let set = ["TTL --ttl-set 9", "HL --hl-set 9"][family];
    let to = [
        ["198.19.0.0/24", "198.19.5.0/24"],
        ["2001:2:0:1::/112", "2001:2:0:1::5:0/112"],
    ][family];
    let one = select(vec![
        "-A FORWARD -p udp -j DROP".to_owned(),
        format!("-A FORWARD -d {} -j DROP", NETWORKS[family][4]),
        "-P FORWARD DROP".to_owned(),
        format!("-t mangle -A FORWARD -j {set}"),
        format!(
            "-t raw -A PREROUTING -s {} -j DROP",
            NETWORKS[family][7 - family]
        ),
        format!("-t nat -A PREROUTING -d {} -j NETMAP --to {}", to[0], to[1]),
        "-F FORWARD".to_owned(),
        "-L -n".to_owned(),
    ]);
    one.prop_map(move |words| format!("{program} {words}"))
}

fn traffic_control() -> impl Strategy<Value = String> {
    let queue = of(&[
        "tbf rate 1gbit burst 1200 limit 100000",
        "tbf rate 1gbit burst 10000 limit 100000",
        "blackhole",
        "pfifo limit 100",
        "htb",
        "noqueue",
    ]);
    let queue = queue.prop_map(|queue| format!("tc qdisc replace dev OUT root {queue}"));
    let link = select(vec!["IN", "OUT"]);
    let holder = link
        .clone()
        .prop_map(|link| format!("tc qdisc add dev {link} clsact"));
    let which = of(&[
        "protocol ip u32 match ip dst 198.19.0.7/32",
        "protocol ip u32 match ip tos 8 0xff",
        "protocol ipv6 u32 match ip6 dst 2001:2:0:1::7/128",
        "protocol all u32 match u32 0 0",
    ]);
    let place = of(&["ingress", "egress"]);
    let filter = (link, place, which).prop_map(|(link, place, which)| {
        format!("tc filter add dev {link} {place} {which} action mirred egress redirect dev {link}")
    });
    prop_oneof![2 => queue, 2 => holder, 2 => filter]
}

/// A few flows, each with packets of several kinds: what one of them leaves behind is
/// there for the next.
fn probes() -> impl Strategy<Value = Vec<Probe>> {
    let size = select(&[10_usize, 10, 30, 680, 1250, 1270, 1300, 1360, 1440][..]);
    let kind = (size, select(&[0_u8, 0, 8][..]), any::<bool>());
    let flow = (0..2_usize, 0..2_usize, 0..6_usize, 0..8_usize);
    let flows = prop::collection::vec(flow, 2..5);
    (flows, prop::collection::vec(kind, 2..5)).prop_map(|(flows, kinds)| {
        let of_flow = flows.into_iter().flat_map(|flow| {
            let kinds = kinds.iter();
            kinds.map(move |kind| probe(flow, *kind))
        });
        of_flow.collect()
    })
}

fn probe(
    (port, family, source, destination): (usize, usize, usize, usize),
    (data, type_of_service, dont_fragment): (usize, u8, bool),
) -> Probe {
    let (near, far) = (port, 1 - port);
    let [source, destination]: [IpAddr; 2] = match family {
        0 => {
            let behind =
                |side: usize, last: [u8; 2]| Ipv4Addr::new(198, 18 + side as u8, last[0], last[1]);
            let sources = [
                behind(near, [0, 7]),
                behind(near, [0, 9]),
                plan::TESTER_V4[near],
                behind(far, [0, 9]),
                Ipv4Addr::new(8, 8, 8, 8),
                plan::DUT_V4[far],
            ];
            let destinations = [
                behind(far, [0, 7]),
                behind(far, [0, 7]),
                behind(far, [0, 8]),
                behind(far, [0, 20]),
                LOCAL_V4,
                plan::TESTER_V4[far],
                Ipv4Addr::new(8, 8, 4, 4),
                behind(near, [0, 7]),
            ];
            [sources[source].into(), destinations[destination].into()]
        }
        _ => {
            let behind =
                |side: usize, last: u16| Ipv6Addr::new(0x2001, 2, 0, side as u16, 0, 0, 0, last);
            let sources = [
                behind(near, 7),
                behind(near, 9),
                plan::TESTER_V6[near],
                behind(far, 9),
                Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 8),
                plan::DUT_V6[far],
            ];
            let destinations = [
                behind(far, 7),
                behind(far, 7),
                behind(far, 8),
                behind(far, 20),
                LOCAL_V6,
                plan::TESTER_V6[far],
                Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 4),
                behind(near, 7),
            ];
            [sources[source].into(), destinations[destination].into()]
        }
    };
    Probe {
        port,
        source,
        destination,
        data,
        type_of_service,
        dont_fragment,
    }
}

impl Probe {
    fn frame(&self) -> Vec<u8> {
        let data = vec![0x5a; self.data];
        let mut frame = match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let repr = wire::ipv4::Repr {
                    dont_fragment: self.dont_fragment,
                    ..wire::ipv4::Repr::new(source, destination, protocol::UDP)
                };
                let frame = catalogue::udp4_with(&repr, &data);
                catalogue::edited4(frame, |header| header[1] = self.type_of_service)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let repr = wire::ipv6::Repr::new(source, destination, protocol::UDP);
                catalogue::udp6_with(&repr, &data)
            }
            _ => unreachable!("both are of one family"),
        };
        let (from, to) = (plan::TESTER[self.port], plan::DUT[self.port]);
        wire::ethernet::readdress(&mut frame, from, to).unwrap();
        frame
    }
}

fn apply(rig: &Rig, steps: &[Step]) {
    let named = |text: &str| {
        let [inner, outer] = rig.links.each_ref().map(|(name, _)| name.as_str());
        text.replace("OUT", outer).replace("IN", inner)
    };
    for (family, flag) in ["-4", "-6"].into_iter().enumerate() {
        let commands = steps.iter().filter_map(|step| match step {
            Step::Ip(of, command) if *of == family => Some(named(command) + "\n"),
            _ => None,
        });
        let commands: String = commands.collect();
        let mut ip = Command::new("ip");
        ip.args([flag, "-force", "-batch", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = rig.dut.spawn_process(ip).unwrap();
        let mut input = child.stdin.take().expect("it is piped");
        input.write_all(commands.as_bytes()).unwrap();
        drop(input);
        child.wait().unwrap();
    }
    for step in steps {
        if let Step::Set(name, value) = step {
            // Of a link that has no IPv6 now, or that this kernel does not have.
            let _ = rig.dut.set_sysctl(&named(name), value);
        }
        if let Step::Decide(command) = step {
            // Refused at times, as others are.
            is_obeyed(rig, command);
        }
    }
}

fn cases() -> impl Strategy<Value = Case> {
    // One alone at times: what makes a path look at all there is hides what it missed.
    let alone = step().prop_map(|step| vec![step]);
    let steps = prop_oneof![1 => alone, 1 => prop::collection::vec(step(), 1..6)];
    prop::collection::vec((steps, probes()), 2..6)
}

/// Both begin with a gateway and a next hop more than the rig has, so that routes may
/// go there.
fn begin(rig: &Rig) {
    let mut netlink = rig.dut.netlink().unwrap();
    for second in SECOND {
        let address = second.parse().unwrap();
        let link = &rig.links[1].0;
        netlink
            .set_neighbour(link, address, [2, 0, 0, 0, 7, 7])
            .unwrap();
    }
}

fn compare(pair: &mut Pair, case: &Case) -> Result<(), TestCaseError> {
    for rig in pair.both() {
        begin(rig);
    }
    for (steps, probes) in case {
        for rig in pair.both() {
            apply(rig, steps);
        }
        std::thread::sleep(SETTLED);
        // The second of each is by what was kept of the first.
        for probe in probes.iter().chain(probes) {
            match pair.compare(probe.port, &probe.frame()) {
                Ok(_) => {}
                Err(difference) if difference.0.contains("the kernel DUT is mute") => return Ok(()),
                Err(difference) => {
                    let text = format!("after {steps:#?}:\n{}", difference.0);
                    return Err(TestCaseError::fail(text));
                }
            }
        }
    }
    Ok(())
}

/// `count` cases, or 1,000 with `LOCKGATE_THOROUGH=1`.
pub fn any_settings(subject: Subject, count: u32) {
    let mut runner = TestRunner::new(Config {
        cases: testing::cases(count, 1_000),
        max_shrink_iters: 100,
        failure_persistence: None,
        ..Config::default()
    });
    let journal = Journal::open().unwrap();
    let forwarded = RefCell::new([0_u64; 2]);
    let has_failed = Cell::new(false);
    let result = runner.run(&cases(), |case| {
        let rig = |subject| Rig::new(&journal, subject);
        let mut pair = Pair::new(rig(Subject::Kernel), rig(subject));
        pair.mute_after = Duration::from_millis(500);
        pair.forwarded_within = Duration::from_millis(10);
        pair.ignored = crate::behaviour::normal::is_limited;
        let compared = compare(&mut pair, &case);
        if compared.is_err() && !has_failed.replace(true) {
            println!("a difference was found; the least settings that show it take minutes");
        }
        let (own, kept) = pair.subject.path.forwarded();
        let mut forwarded = forwarded.borrow_mut();
        forwarded[0] += own.unwrap_or(0);
        forwarded[1] += kept.unwrap_or(0);
        compared
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    // Else the settings would be such that the kernel has all, which proves nothing.
    let [own, kept] = forwarded.into_inner();
    println!("{own} frames were its own, {kept} of them by what was kept");
    let enough = u64::from(testing::cases(count, 1_000));
    assert!(subject == Subject::Kernel || own > enough, "{own} frames");
}
