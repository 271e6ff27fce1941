//! Whatever else on the host decides about a frame is asked: frames that it decides about
//! are the kernel's, counted by their reason, and only those.

use xdp::Reason;

use crate::behaviour::catalogue;
use crate::behaviour::command::is_obeyed;
use crate::behaviour::probe::Pair;

/// What stands in the way, a command each with `;` between them; what takes it away, empty
/// where nothing does; and for the frames of [`frames`], why they are the kernel's.
type Case = (&'static str, &'static str, [Option<Reason>; 3]);

const FORWARD_DROP: &str =
    "nft add table ip t; add chain ip t f { type filter hook forward priority 0; policy drop; }";

const CASES: &[Case] = &[
    (FORWARD_DROP, "nft delete table ip t", IPV4),
    (
        "nft add table ip6 t; add chain ip6 t f { type filter hook forward priority 0; }; add rule ip6 t f udp dport 7 drop",
        "nft flush ruleset",
        IPV6,
    ),
    (
        "nft add table inet m; add chain inet m p { type filter hook prerouting priority -150; }; add rule inet m p ip ttl set 9",
        "nft flush ruleset",
        [Some(Reason::Firewall); 3],
    ),
    (
        "nft add table ip n; add chain ip n s { type nat hook postrouting priority 100; }; add rule ip n s oifname OUT masquerade",
        "nft flush ruleset",
        IPV4,
    ),
    (
        "nft add table ip n; add chain ip n d { type nat hook prerouting priority -100; }; add rule ip n d udp dport 7 dnat to 198.19.0.8",
        "nft flush ruleset",
        IPV4,
    ),
    (
        "nft add table netdev d; add chain netdev d i { type filter hook ingress device IN priority 0; }; add rule netdev d i udp dport 7 drop",
        "nft flush ruleset",
        INCOMING,
    ),
    (
        "nft add table netdev d; add chain netdev d e { type filter hook egress device OUT priority 0; }; add rule netdev d e meta length > 60 drop",
        "nft flush ruleset",
        OUTGOING,
    ),
    (
        "tc qdisc add dev IN clsact; tc filter add dev IN ingress protocol ip u32 match ip protocol 17 0xff action mirred egress redirect dev IN",
        "tc qdisc del dev IN clsact",
        INCOMING,
    ),
    (
        "tc qdisc add dev OUT clsact; tc filter add dev OUT egress protocol ip u32 match ip protocol 17 0xff action mirred egress redirect dev IN",
        "tc filter del dev OUT egress",
        OUTGOING,
    ),
    // It drops what is longer than its burst: all but what ends a look.
    (
        "tc qdisc add dev OUT root tbf rate 1gbit burst 60 limit 100000",
        "tc qdisc del dev OUT root",
        OUTGOING,
    ),
    (
        "ip xfrm policy add dir fwd src 198.18.0.0/16 dst 198.19.0.0/16 action block",
        "ip xfrm policy flush",
        POLICIES,
    ),
    (
        "ip xfrm policy add dir fwd src 2001:2::/64 dst 2001:2:0:1::/64 action block",
        "ip xfrm policy flush",
        POLICIES,
    ),
    (
        "ip xfrm policy setdefault fwd block",
        "ip xfrm policy setdefault fwd accept",
        POLICIES,
    ),
    ("iptables-legacy -A FORWARD -p udp -j DROP", "", IPV4),
    (
        "ip6tables-legacy -t mangle -A FORWARD -j HL --hl-set 9",
        "",
        // The one above is there still.
        [Some(Reason::Firewall); 3],
    ),
];

const IPV4: [Option<Reason>; 3] = [Some(Reason::Firewall), None, Some(Reason::Firewall)];
const IPV6: [Option<Reason>; 3] = [None, Some(Reason::Firewall), None];
const INCOMING: [Option<Reason>; 3] = [Some(Reason::FilterIn), Some(Reason::FilterIn), None];
const OUTGOING: [Option<Reason>; 3] = [Some(Reason::FilterOut), Some(Reason::FilterOut), None];
const POLICIES: [Option<Reason>; 3] = [Some(Reason::Policies); 3];

/// From port 0 of each family, and from port 1 to port 0, by the port they come in by.
fn frames() -> [(usize, Vec<u8>); 3] {
    [
        (0, catalogue::plain4(0)),
        (0, catalogue::plain6(0)),
        (1, catalogue::plain4(1)),
    ]
}

/// In both; `false` where this host lacks what it asks for.
fn is_done(pair: &Pair, commands: &str) -> bool {
    let program = commands.split(' ').next().unwrap_or_default();
    let each: Vec<&str> = match program {
        "nft" => vec![commands],
        _ => commands.split("; ").collect(),
    };
    let mut all = each
        .iter()
        .flat_map(|one| pair.both().map(|rig| (one, rig)));
    let refused = all.find(|(one, rig)| !is_obeyed(rig, one));
    if let Some((one, _)) = refused {
        testing::left_out(format!(
            "'{one}' does not work here; install nftables, iptables and iproute2, and take a kernel that has it"
        ));
    }
    refused.is_none()
}

/// The same comes out of both while something decides, and the subject's program takes part
/// as it should: frames and the marks that end a look are its own where nobody decides
/// (`None`), else the kernel's.
fn is_as_the_kernel(
    pair: &mut Pair,
    (port, frame): &(usize, Vec<u8>),
    [of_frame, of_mark]: [Option<Reason>; 2],
) {
    let wanted = [of_frame, of_mark]
        .iter()
        .filter(|one| one.is_none())
        .count() as u64;
    let counted = || {
        let before = pair.subject.path.counters();
        pair.same(*port, frame);
        (before, pair.subject.path.counters())
    };
    testing::until(counted, |(before, after)| {
        let (Some(before), Some(after)) = (before, after) else {
            return true;
        };
        let is_counted = |reason| after.passed(reason) > before.passed(reason);
        after.forwarded - before.forwarded == wanted && of_frame.is_none_or(is_counted)
    });
}

pub fn are_asked(pair: &mut Pair) {
    let frames = frames();
    for frame in &frames {
        is_as_the_kernel(pair, frame, [None, None]);
    }
    for (make, take_away, reasons) in CASES {
        println!("{make}");
        if !is_done(pair, make) {
            continue;
        }
        // Marks are of IPv4.
        let marks = [reasons[0], reasons[0], reasons[2]];
        for ((frame, reason), mark) in frames.iter().zip(reasons).zip(marks) {
            is_as_the_kernel(pair, frame, [*reason, mark]);
            // Nothing depends on what was kept before.
            pair.same(frame.0, &frame.1);
        }
        if take_away.is_empty() {
            continue;
        }
        assert!(is_done(pair, take_away), "{take_away}");
        for frame in &frames {
            is_as_the_kernel(pair, frame, [None, None]);
        }
    }
}

/// A firewall that drops all is noticed: else the cases above could not fail.
pub fn drop_what_they_drop(pair: &mut Pair) {
    let frame = catalogue::plain4(0);
    assert_eq!(pair.same(0, &frame)[1].len(), 1);
    if is_done(pair, FORWARD_DROP) {
        let passed = || pair.same(0, &frame)[1].len();
        testing::until(passed, |passed| *passed == 0);
    }
}
