//! Whatever else decides about frames is found, whoever tells of it.

use std::process::Command;
use std::time::Duration;

use lockgate_net::deciders::About;
use lockgate_net::{Deciders, Event, Monitor, Netlink, Topic};

use crate::common::Pair;
use crate::common::bpf::{Planted, plant};

/// Who tells that it came, and that it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// The monitor.
    ByTheKernel,
    /// Nobody: `have_changed` sees that it came, and it stays as long as the namespace.
    OnlyThatItCame,
}

use Told::{ByTheKernel, OnlyThatItCame};

type About_ = fn(u32) -> Vec<About>;

/// Commands with LINK for the link: one that makes it, one that takes it away; about
/// which frames it decides, by the link's number; a part of its name.
type Case = (&'static str, &'static str, About_, &'static str, Told);

const CASES: &[Case] = &[
    (
        "nft add table ip t; add chain ip t f { type filter hook forward priority 0; policy drop; }",
        "nft delete table ip t",
        |_| vec![About::Ipv4],
        "chain f of table ip t (forward)",
        ByTheKernel,
    ),
    (
        "nft add table ip6 t; add chain ip6 t p { type filter hook prerouting priority -150; }",
        "nft add table ip6 t { flags dormant; }",
        |_| vec![About::Ipv6],
        "(prerouting)",
        ByTheKernel,
    ),
    (
        "nft add table inet n; add chain inet n s { type nat hook postrouting priority 100; }",
        "nft delete chain inet n s",
        |_| vec![About::Ipv4, About::Ipv6],
        "table inet n (postrouting)",
        ByTheKernel,
    ),
    (
        "nft add table netdev d; add chain netdev d i { type filter hook ingress device LINK priority 0; }",
        "nft flush ruleset",
        |link| vec![About::Incoming(link)],
        "(ingress)",
        ByTheKernel,
    ),
    (
        "nft add table netdev d; add chain netdev d e { type filter hook egress device LINK priority 0; }",
        "nft flush ruleset",
        |link| vec![About::Outgoing(link)],
        "(egress)",
        ByTheKernel,
    ),
    (
        "nft add table inet i; add chain inet i i { type filter hook ingress device LINK priority 0; }",
        "nft flush ruleset",
        |link| vec![About::Incoming(link)],
        "table inet i (ingress)",
        ByTheKernel,
    ),
    (
        "tc qdisc add dev LINK root tbf rate 1gbit burst 10000 limit 10000",
        "tc qdisc del dev LINK root",
        |link| vec![About::Outgoing(link)],
        "discipline tbf",
        ByTheKernel,
    ),
    (
        "tc qdisc add dev LINK clsact; filter add dev LINK ingress protocol ip u32 match ip dst 192.0.2.9/32 action mirred egress redirect dev LINK",
        "tc filter del dev LINK ingress",
        |link| vec![About::Incoming(link)],
        "filters of what comes in",
        ByTheKernel,
    ),
    (
        "tc filter add dev LINK egress protocol all u32 match u32 0 0 action mirred egress redirect dev LINK",
        "tc qdisc del dev LINK clsact",
        |link| vec![About::Outgoing(link)],
        "filters of what leaves",
        ByTheKernel,
    ),
    (
        "ip xfrm policy add dir fwd src 192.0.2.0/24 dst 198.51.100.0/24 action block",
        "ip xfrm policy flush",
        |_| vec![About::Policies],
        "IPsec",
        ByTheKernel,
    ),
    (
        "iptables-legacy -A FORWARD -d 192.0.2.9 -j DROP",
        "",
        |_| vec![About::Ipv4],
        "iptables-legacy: the tables filter",
        OnlyThatItCame,
    ),
    (
        "ip6tables-legacy -t raw -A PREROUTING -d 2001:db8::9 -j DROP",
        "",
        // The one above is still there.
        |_| vec![About::Ipv4, About::Ipv6],
        "ip6tables-legacy: the tables raw",
        OnlyThatItCame,
    ),
];

/// Several of one program, with `;` between them, as one batch of its own where it has one.
fn run(pair: &Pair, commands: &str) -> Result<(), String> {
    let commands = commands.replace("LINK", &pair.one_link);
    let (program, rest) = commands.split_once(' ').expect("a program and its words");
    let batches: Vec<&str> = match program {
        "nft" => vec![rest],
        _ => rest.split("; ").collect(),
    };
    for words in batches {
        let mut command = Command::new(program);
        match program {
            "nft" => command.arg(words),
            _ => command.args(words.split(' ')),
        };
        let ended = pair
            .one
            .spawn_process(command)
            .and_then(|child| child.wait_with_output());
        match ended {
            Ok(output) if output.status.success() => {}
            other => return Err(format!("'{program} {words}' does not work here: {other:?}")),
        }
    }
    Ok(())
}

struct Looked {
    monitor: Monitor,
    deciders: Deciders,
    netlink: Netlink,
    links: Vec<u32>,
}

impl Looked {
    fn at(pair: &Pair) -> Self {
        let mut netlink = pair.one.netlink().unwrap();
        let links = vec![netlink.link(&pair.one_link).unwrap().index];
        Self {
            monitor: Monitor::open(
                &pair.one,
                &[Topic::Traffic, Topic::Nftables, Topic::Policies],
            )
            .unwrap(),
            deciders: pair.one.run(Deciders::open).unwrap().unwrap(),
            netlink,
            links,
        }
    }

    /// What decides now; and who told that this is another answer than before.
    fn find(&mut self, pair: &Pair) -> (Vec<(About, String)>, bool, bool) {
        let events = self.monitor.wait(Duration::ZERO).unwrap();
        pair.one
            .run(|| {
                let is_seen = self.deciders.have_changed().unwrap();
                let found = self.deciders.find(&mut self.netlink, &self.links).unwrap();
                let found = found.into_iter().map(|one| (one.about, one.name)).collect();
                (found, events.contains(&Event::Other), is_seen)
            })
            .unwrap()
    }
}

fn abouts(found: &[(About, String)]) -> Vec<About> {
    let mut abouts: Vec<About> = found.iter().map(|(about, _)| *about).collect();
    abouts.dedup();
    abouts
}

#[test]
fn each_kind_is_found_told_and_forgotten() {
    testing::timed(|| {
        let Some(pair) = Pair::up(1) else { return };
        let mut looked = Looked::at(&pair);
        assert_eq!(looked.find(&pair).0, []);
        for (make, take_away, about, name, told) in CASES {
            let (before, ..) = looked.find(&pair);
            if let Err(why) = run(&pair, make) {
                testing::left_out(format!(
                    "{why}; install nftables, iptables and iproute2, and take a kernel that has it"
                ));
                continue;
            }
            let (found, by_kernel, by_looking) = looked.find(&pair);
            assert_eq!(abouts(&found), about(looked.links[0]), "{make}: {found:?}");
            assert!(
                found.iter().any(|(_, own)| own.contains(name)),
                "{make}: {found:?}"
            );
            assert_eq!(
                (by_kernel, by_looking),
                (*told == ByTheKernel, *told != ByTheKernel),
                "{make}"
            );
            // Nothing has changed since.
            assert_eq!(looked.find(&pair), (found, false, false), "{make}");
            if *told != OnlyThatItCame {
                run(&pair, take_away).unwrap();
                assert_eq!(looked.find(&pair), (before, true, false), "{take_away}");
            }
        }
    });
}

#[test]
fn what_decides_nothing_about_frames_that_pass_is_not_found() {
    testing::timed(|| {
        let Some(pair) = Pair::up(1) else { return };
        let mut looked = Looked::at(&pair);
        for command in [
            "nft add table inet l; add chain inet l i { type filter hook input priority 0; policy drop; }; add chain inet l j",
            "nft add table bridge b; add chain bridge b f { type filter hook forward priority 0; }",
            "nft add table netdev x; add chain netdev x i { type filter hook ingress device lo priority 0; }",
            "tc qdisc add dev LINK clsact",
            "tc qdisc add dev lo root tbf rate 1gbit burst 10000 limit 10000",
        ] {
            if let Err(why) = run(&pair, command) {
                testing::left_out(format!("{why}; install nftables and iproute2"));
            }
            assert_eq!(looked.find(&pair).0, [], "{command}");
        }
        // Rules and elements come in floods, and move no hook.
        if run(&pair, "nft add set inet l s { type ipv4_addr; }; add element inet l s { 192.0.2.1, 192.0.2.2 }; add rule inet l i ip saddr @s accept").is_ok() {
        assert_eq!(looked.find(&pair), (vec![], false, false));
    }
    });
}

#[test]
fn bpf_programs_of_others_are_seen_though_nobody_tells() {
    testing::alone(|| {
        let Some(pair) = Pair::up(1) else { return };
        let mut looked = Looked::at(&pair);
        let mut netlink = pair.one.netlink().unwrap();
        let mut places = vec![
            (
                Planted::TcxIngress,
                looked.links[0],
                About::Incoming as fn(u32) -> About,
            ),
            (Planted::TcxEgress, looked.links[0], About::Outgoing),
            (Planted::Netfilter, looked.links[0], |_| About::Ipv6),
        ];
        // An XDP program of the router's own stands at the link itself.
        let vlan = pair.tag.interface("v").unwrap();
        match netlink.add_vlan(&vlan, &pair.one_link, 7) {
            Ok(()) => {
                let index = netlink.link(&vlan).unwrap().index;
                looked.links.push(index);
                places.push((Planted::Xdp, index, About::Incoming));
            }
            Err(error) if error.is_unsupported() => {
                testing::left_out("no VLAN links; a kernel with CONFIG_VLAN_8021Q has them");
            }
            Err(error) => panic!("{error}"),
        }
        looked.find(&pair);
        for (planted, at, about) in places {
            let program = match pair.one.run(|| plant(planted, at)).unwrap() {
                Ok(program) => program,
                Err(error) => {
                    testing::left_out(format!(
                        "{planted:?} cannot be planted: {error}; take Linux 6.6 or newer"
                    ));
                    continue;
                }
            };
            let (found, by_kernel, by_looking) = looked.find(&pair);
            assert_eq!(abouts(&found), [about(at)], "{planted:?}: {found:?}");
            assert!(!by_kernel && by_looking, "{planted:?}");
            assert!(!looked.find(&pair).2, "{planted:?}");
            drop(program);
            // A link ends some time after its file.
            testing::until(|| looked.find(&pair).0, Vec::is_empty);
        }
    });
}
