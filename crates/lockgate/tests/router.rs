//! `lockgate router`: what it refuses, and routers that come, change and go.

use std::path::{Path, PathBuf};

use forward::plane::RouterShown;
use net::netlink::{VethEnd, add_veth};
use net::{Namespace, Netlink, Tag};

use crate::common::{Desk, Ended};

#[test]
fn wrong_files_name_what_is_wrong() {
    let desk = Desk::new();
    desk.write("none.toml", "schema = 1\n");
    desk.write(
        "loop.toml",
        "schema = 1\n[router.a]\n[[router.a.port]]\nname = \"p\"\nto = \"a.p\"\n",
    );
    desk.write("path.toml", "schema = 1\n[router.a]\npath = \"dpdk\"\n");
    let rows = "
        router up absent.toml      => cannot read absent.toml
        router up none.toml        => none.toml | no router
        router up loop.toml        => a.p leads to a.p | a loop
        router up path.toml        => dpdk | kernel
        router reload none.toml    => no router
        router up none.toml --check --foreground => --check | --foreground
    ";
    desk.refuses(rows, &[]);
}

/// Routers of a file whose names on the host are of this test alone.
struct Routers {
    desk: Desk,
    tag: Tag,
    file: PathBuf,
}

impl Routers {
    fn new() -> Self {
        let desk = Desk::new();
        let file = desk.path().join("routers.toml");
        Self {
            desk,
            tag: Tag::fresh(),
            file,
        }
    }

    /// Of a router, and after `lockgate-` of its namespace.
    fn name(&self, role: &str) -> String {
        self.tag
            .name(role)
            .unwrap()
            .trim_start_matches("lockgate-")
            .to_owned()
    }

    fn link(&self, role: &str) -> String {
        self.tag.interface(role).unwrap()
    }

    /// Writes the file with `EDGE`, `CORE`, `LAN1` and `LAN2` replaced.
    fn write(&self, text: &str) {
        let mut text = format!("schema = 1\n{text}");
        for (word, name) in [
            ("EDGE", self.name("edge")),
            ("CORE", self.name("core")),
            ("LAN1", self.link("l1")),
            ("LAN2", self.link("l2")),
            ("CPU", last_cpu().to_string()),
        ] {
            text = text.replace(word, &name);
        }
        std::fs::write(&self.file, text).unwrap();
    }

    fn router(&self, command: &str) -> Ended {
        let mut words: Vec<&str> = vec!["router"];
        words.extend(command.split(' '));
        words.push(self.file.to_str().unwrap());
        self.desk.lockgate(&words)
    }

    fn show(&self) -> Vec<RouterShown> {
        serde_json::from_str(&self.router("show --json").ok().stdout).unwrap()
    }

    fn inside(&self, role: &str) -> Namespace {
        Namespace::named(&format!("lockgate-{}", self.name(role))).unwrap()
    }

    fn is_anything_left(&self) -> bool {
        let namespace = |role: &str| {
            let name = format!("lockgate-{}", self.name(role));
            Path::new("/run/netns").join(name).exists()
        };
        let link = |role: &str| Path::new("/sys/class/net").join(self.link(role)).exists();
        namespace("edge") || namespace("core") || link("l1") || link("l2")
    }
}

fn last_cpu() -> usize {
    *sys::affinity::allowed_cpus().unwrap().last().unwrap()
}

/// However a test ends: what is up goes.
impl Drop for Routers {
    fn drop(&mut self) {
        let _ = self.router("down");
    }
}

const TWO: &str = r#"
[router.EDGE]
path = "xdp"
threads = [CPU]
[[router.EDGE.port]]
name = "lan"
veth = "LAN1"
addresses = ["192.0.2.1/30"]
[[router.EDGE.port]]
name = "core"
to = "CORE.edge"
addresses = ["198.51.100.0/31"]
[[router.EDGE.route]]
to = "198.18.0.0/16"
via = "192.0.2.2"
[[router.EDGE.route]]
to = "198.19.0.0/16"
via = "198.51.100.1"

[router.CORE]
[[router.CORE.port]]
name = "edge"
to = "EDGE.core"
addresses = ["198.51.100.1/31"]
[[router.CORE.port]]
name = "lan"
veth = "LAN2"
addresses = ["192.0.2.5/30"]
[[router.CORE.port]]
name = "guest"
tap = true
[[router.CORE.route]]
to = "198.18.0.0/16"
via = "198.51.100.0"
[[router.CORE.route]]
to = "198.19.0.0/16"
via = "192.0.2.6"
"#;

fn supported(ended: Ended) -> Option<Ended> {
    if ended.code == Some(4) {
        testing::skipped(&ended.stderr);
        return None;
    }
    Some(ended)
}

/// The tester's two ports are the other ends of the routers' veths.
#[test]
fn frames_pass_two_routers_of_a_file() {
    testing::timed_as_root(|| {
        let routers = Routers::new();
        routers.write(TWO);
        routers
            .router("up --check")
            .ok()
            .shows(&["path xdp", "a cable to"]);
        assert!(!routers.is_anything_left());
        let Some(up) = supported(routers.router("up")) else {
            return;
        };
        up.ok().shows(&["up: "]);
        let ports = format!("{},{}", routers.link("l1"), routers.link("l2"));
        let tested = routers.desk.line(&format!(
            "rfc2544 --ports {ports} --sizes 64 --tests throughput --trial 0.1"
        ));
        tested.ok().shows(&["Throughput"]);
        let shown = routers.show();
        let [core, edge] = &shown[..] else {
            panic!("{shown:?}");
        };
        assert_eq!((core.path.as_str(), edge.path.as_str()), ("kernel", "xdp"));
        let xdp = edge.xdp.as_ref().unwrap();
        assert!(xdp.forwarded >= 8 && xdp.failed.is_empty(), "{xdp:?}");
        // One way: what was forwarded came in by one port.
        let by_port = |name: &str| {
            let port = edge.ports.iter().find(|port| port.name == name).unwrap();
            port.xdp.as_ref().unwrap()
        };
        let (lan, cable) = (by_port("lan"), by_port("core"));
        assert_eq!((lan.forwarded, cable.forwarded), (xdp.forwarded, 0));
        // The ports were asked first, and something may have come since.
        assert!(lan.received + cable.received <= xdp.received, "{edge:?}");
        assert!(
            lan.received >= lan.forwarded && cable.received > 0,
            "{edge:?}"
        );
        assert!(core.xdp.is_none());
        for port in &edge.ports {
            let [thread] = port.threads[..] else {
                panic!("{port:?}");
            };
            let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap();
            assert!(status.contains(&format!("Cpus_allowed_list:\t{}\n", last_cpu())));
        }
        assert!(core.ports.iter().all(|port| port.threads.is_empty()));
        // Both networks, both links.
        assert_eq!((core.routes[0], edge.routes[0]), (4, 4));
        let names: Vec<_> = core.ports.iter().map(|port| port.name.as_str()).collect();
        assert_eq!(names, ["edge", "guest", "lan"]);
        routers.router("show").ok().shows(&[
            "XDP: received",
            "XDP, all ports: received",
            "for a guest",
        ]);
        let again = routers.router("up");
        assert_eq!(again.code, Some(3), "{}", again.stderr);
        again.says(&["are up", "reload"]);
        routers.router("down").ok().shows(&["gone"]);
        assert!(!routers.is_anything_left());
        routers.router("down").ok();
        let shown = routers.router("show");
        assert_eq!(shown.code, Some(3));
        shown.says(&["not up", "router up"]);
    });
}

/// `false` where this host has no nftables.
fn drops_all(namespace: &Namespace) -> bool {
    let mut nft = std::process::Command::new("nft");
    nft.arg(
        "add table ip t; add chain ip t f { type filter hook forward priority 0; policy drop; }",
    );
    let ended = namespace.spawn_process(nft).and_then(|mut nft| nft.wait());
    let is_done = ended.is_ok_and(|status| status.success());
    if !is_done {
        testing::skipped("no nftables here: apt-get install nftables, and CONFIG_NF_TABLES");
    }
    is_done
}

#[test]
fn a_firewall_is_obeyed_and_named_and_bypassed_where_the_file_says_so() {
    testing::timed_as_root(|| {
        let routers = Routers::new();
        routers.write(TWO);
        let Some(up) = supported(routers.router("up")) else {
            return;
        };
        assert!(!up.ok().stdout.contains("nftables"));
        let edge = |routers: &Routers| routers.show().pop().unwrap();
        assert_eq!(edge(&routers).deciders, []);
        if !drops_all(&routers.inside("edge")) {
            return;
        }
        let deciders = || edge(&routers).deciders;
        let named = testing::until(deciders, |deciders| deciders.len() == 1);
        assert!(named[0].is_obeyed && named[0].about == "IPv4", "{named:?}");
        routers.router("show").ok().shows(&[
            "IPv4: nftables: chain f of table ip t (forward); the kernel forwards these frames",
        ]);
        // A router of the kernel's has no need to say so.
        assert!(drops_all(&routers.inside("core")));
        let shown = routers.show();
        assert_eq!(shown[0].deciders, [], "{shown:?}");
        let file = TWO.replace("path = \"xdp\"", "path = \"xdp\"\nfirewall = \"bypass\"");
        routers.write(&file);
        routers.router("reload").ok().shows(&["firewall bypass"]);
        routers
            .router("show")
            .ok()
            .shows(&["firewall = \"bypass\"", "(forward); bypassed"]);
        routers.router("down").ok();
        routers
            .router("up")
            .ok()
            .shows(&["which bypasses firewalls"]);
        assert!(drops_all(&routers.inside("edge")));
        let ports = format!("{},{}", routers.link("l1"), routers.link("l2"));
        let tested = routers.desk.line(&format!(
            "rfc2544 --ports {ports} --sizes 64 --tests throughput --trial 0.1"
        ));
        tested.ok().shows(&["Throughput"]);
        let xdp = edge(&routers).xdp.unwrap();
        assert!(xdp.forwarded >= 8 && xdp.failed.is_empty(), "{xdp:?}");
    });
}

/// Where no other test's routers are seen: `/run/lockgate` is one of its own.
const ALL: &str = r#"
mkdir -p /run/lockgate && mount -t tmpfs -o mode=700 none /run/lockgate || exit 4
router() { echo "> $*"; "$LOCKGATE" router "$@" 2>&1; echo "= $?"; }
router show
router show --json
router down
router up one.toml
router up two.toml
router show
router show --json
rm two.toml
router down
router show
router up one.toml
for process in /proc/[0-9]*; do
    tr '\0' ' ' <$process/cmdline 2>/dev/null | grep -q -e "--foreground $PWD/one.toml" || continue
    kill -9 ${process##*/}
    while [ -e $process ] && ! grep -q ') Z' $process/stat 2>/dev/null; do sleep 0.02; done
done
router show
router down
router down
echo "> left"
ls /run/lockgate | grep router-
echo "= $?"
"#;

/// Commands of a script with what they said and how they ended.
fn steps(transcript: &str) -> Vec<(&str, &str)> {
    let steps = transcript.split("> ").skip(1);
    steps.map(|step| step.split_once('\n').unwrap()).collect()
}

#[test]
fn without_a_file_all_that_are_up_are_meant() {
    let programs = ["unshare", "mkdir", "mount", "rm", "tr", "grep", "ls"];
    if !testing::has_programs(&programs, "util-linux mount coreutils grep") {
        return;
    }
    testing::timed_as_root(|| {
        let routers = Routers::new();
        let [one, two] = ["edge", "core"].map(|role| routers.name(role));
        for (file, name) in [("one.toml", &one), ("two.toml", &two)] {
            let text = format!("schema = 1\n[router.{name}]\n");
            routers.desk.write(file, &text);
        }
        let folder = routers.desk.path().canonicalize().unwrap();
        let ended = std::process::Command::new("unshare")
            .args(["--mount", "sh", "-c", ALL])
            .env("LOCKGATE", crate::common::program())
            .current_dir(&folder)
            .output();
        let ended = Ended::from(ended.unwrap());
        if ended.code == Some(4) {
            return testing::skipped(&ended.stderr);
        }
        let none = "no routers are up; `lockgate router up FILE` makes those of a file\n= 0\n";
        let file = |name: &str| folder.join(name).display().to_string();
        let gone = format!(
            "{}:\n{one}: gone\n{}:\n{two}: gone\n= 0\n",
            file("one.toml"),
            file("two.toml")
        );
        let steps = steps(&ended.stdout);
        let said = |index: usize, command: &str| {
            let (own, said) = steps[index];
            assert_eq!(own, command, "{}", ended.stdout);
            said
        };
        assert_eq!(said(0, "show"), none);
        assert_eq!(said(1, "show --json"), "[]\n= 0\n");
        assert_eq!(said(2, "down"), none);
        for (index, file) in [(3, "one.toml"), (4, "two.toml"), (9, "one.toml")] {
            let said = said(index, &format!("up {file}"));
            assert!(said.ends_with("= 0\n"), "{said}");
        }
        let shown = said(5, "show");
        for part in [file("one.toml"), file("two.toml"), format!("{one}: path")] {
            assert!(shown.contains(&part), "{shown}");
        }
        let json = said(6, "show --json").trim_end_matches("= 0\n");
        let shown: Vec<RouterShown> = serde_json::from_str(json).unwrap();
        let names: Vec<_> = shown.into_iter().map(|one| one.name).collect();
        assert_eq!(names, [one.clone(), two.clone()]);
        assert_eq!(said(7, "down"), gone);
        assert_eq!(said(8, "show"), none);
        // After a kill there is something to remove, and nothing to show.
        assert_eq!(said(10, "show"), none);
        let down = said(11, "down");
        for part in [&file("one.toml"), "nothing of them is left\n= 0\n"] {
            assert!(down.contains(part), "{down}");
        }
        assert_eq!(said(12, "down"), none);
        assert_eq!(said(13, "left"), "= 1\n");
        assert!(!routers.is_anything_left());
    });
}

fn addresses(netlink: &mut Netlink, link: &str) -> Vec<String> {
    let all = netlink.addresses(link).unwrap();
    let mut all: Vec<_> = all
        .iter()
        .filter(|(address, _)| address.is_ipv4())
        .map(|(address, bits)| format!("{address}/{bits}"))
        .collect();
    all.sort();
    all
}

#[test]
fn a_reload_changes_what_differs_and_nothing_else() {
    testing::timed_as_root(|| {
        let routers = Routers::new();
        routers.write(TWO);
        if supported(routers.router("up")).is_none() {
            return;
        }
        routers.router("reload").ok().shows(&["nothing differs"]);
        let (edge, core) = (routers.inside("edge"), routers.inside("core"));
        let mut inside = edge.netlink().unwrap();
        let index = |netlink: &mut Netlink, link: &str| netlink.link(link).unwrap().index;
        let before = [index(&mut inside, "lan"), index(&mut inside, "core")];
        // An address, a route, an MTU, a port and a path.
        let changed = TWO
            .replace(
                "192.0.2.1/30\"]",
                "192.0.2.1/30\", \"10.0.0.1/24\"]\nmtu = 1400",
            )
            .replacen(
                "to = \"198.18.0.0/16\"\nvia = \"192.0.2.2\"",
                "to = \"203.0.113.0/24\"\nvia = \"10.0.0.2\"",
                1,
            )
            .replace(
                "name = \"guest\"\ntap = true",
                "name = \"spare\"\ntap = true\naddresses = [\"10.9.0.1/24\"]",
            )
            .replace("threads = [CPU]\n", "")
            .replace(
                "[router.CORE]",
                "[router.CORE]\npath = \"xdp\"\nthreads = [CPU]",
            );
        routers.write(&changed);
        let told = routers.router("reload").ok();
        told.shows(&[
            "lan: 10.0.0.1/24",
            "lan: MTU 1400",
            "route to 203.0.113.0/24 by 10.0.0.2",
            "no route to 198.18.0.0/16 by 192.0.2.2",
            "port guest gone",
            "port spare",
            "path xdp",
            "no threads of its own",
            "threads on CPUs",
        ]);
        assert_eq!(told.stdout.lines().count(), 10, "{}", told.stdout);
        assert_eq!(
            addresses(&mut inside, "lan"),
            ["10.0.0.1/24", "192.0.2.1/30"]
        );
        assert_eq!(inside.link("lan").unwrap().mtu, 1400);
        let after = [index(&mut inside, "lan"), index(&mut inside, "core")];
        assert_eq!(before, after);
        let mut inside_core = core.netlink().unwrap();
        assert!(inside_core.link("guest").is_err());
        assert!(inside_core.link("spare").is_ok());
        assert!(routers.show().iter().all(|router| router.xdp.is_some()));
        // A device that is in use is refused half way: all becomes as it was.
        let used = routers.link("used");
        let mut here = Netlink::open().unwrap();
        here.add_bridge(&used).unwrap();
        here.add_address(&used, [192, 0, 2, 99].into(), 24).unwrap();
        let port = format!("[[router.CORE.port]]\nname = \"{used}\"\ndevice = \"{used}\"\n");
        routers.write(&format!(
            "{}{port}",
            TWO.replace("192.0.2.1/30", "192.0.2.1/29")
        ));
        let refused = routers.router("reload");
        here.remove_link(&used).unwrap();
        assert_eq!(refused.code, Some(3), "{}", refused.stderr);
        refused.says(&["has the address 192.0.2.99/24"]);
        assert_eq!(
            addresses(&mut inside, "lan"),
            ["10.0.0.1/24", "192.0.2.1/30"]
        );
        routers.write(&changed);
        routers.router("reload").ok().shows(&["nothing differs"]);
        // One of the two goes, with its cable.
        let alone = TWO.split("[router.CORE]").next().unwrap().to_owned();
        let cable = alone.find("[[router.EDGE.port]]\nname = \"core\"").unwrap();
        routers.write(&alone[..cable]);
        routers
            .router("reload")
            .ok()
            .shows(&["gone", "port core gone"]);
        assert!(inside.link("core").is_err());
        assert_eq!(routers.show().len(), 1);
        routers.router("down").ok();
        assert!(!routers.is_anything_left());
    });
}

#[test]
fn nothing_is_left_after_kill() {
    testing::timed_as_root(|| {
        let routers = Routers::new();
        // A card of the host's, which a veth plays.
        let [card, other] = ["dev", "peer"].map(|role| routers.link(role));
        let here = Namespace::current().unwrap();
        add_veth(&VethEnd::new(&here, &card), &VethEnd::new(&here, &other)).unwrap();
        let is_here = || Path::new("/sys/class/net").join(&card).exists();
        let port = format!("[[router.CORE.port]]\nname = \"{card}\"\ndevice = \"{card}\"\n");
        routers.write(&format!("{TWO}{port}"));
        if supported(routers.router("up")).is_none() {
            return;
        }
        assert!(routers.is_anything_left() && !is_here());
        let file = routers.file.to_str().unwrap();
        kill(keeper(file).expect("the program that keeps them"));
        routers.router("down").ok();
        assert!(!routers.is_anything_left() && is_here());
        // And up again at once.
        routers.router("up").ok();
        assert!(!is_here());
        routers.router("down").ok();
        assert!(!routers.is_anything_left() && is_here());
        Netlink::open().unwrap().remove_link(&card).unwrap();
    });
}

fn kill(process: i32) {
    let pid = rustix::process::Pid::from_raw(process).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// By its command line.
fn keeper(file: &str) -> Option<i32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut numbers = processes.filter_map(|one| one.file_name().to_str()?.parse::<i32>().ok());
    numbers.find(|number| {
        let line = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let words: Vec<_> = line.split(|&byte| byte == 0).collect();
        words.contains(&file.as_bytes()) && words.contains(&&b"--foreground"[..])
    })
}

#[test]
fn ports_that_are_taken_leave_nothing_half_up() {
    if !testing::is_root() {
        return;
    }
    let routers = Routers::new();
    routers.write(TWO);
    let mut here = Netlink::open().unwrap();
    here.add_bridge(&routers.link("l2")).unwrap();
    let refused = routers.router("up");
    here.remove_link(&routers.link("l2")).unwrap();
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    refused.says(&["there is a link", &routers.link("l2")]);
    assert!(!routers.is_anything_left());
    routers.write(&TWO.replace("veth = \"LAN2\"", "device = \"lan\""));
    let refused = routers.router("up");
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    refused.says(&["no device 'lan'", "ip link"]);
    routers.write(&TWO.replace("path = \"xdp\"", "path = \"xdp\"\nbird = \"absent.conf\""));
    let refused = routers.router("up");
    assert!(matches!(refused.code, Some(2 | 4)), "{}", refused.stderr);
    refused.says(&["bird"]);
    assert!(!routers.is_anything_left());
}

/// What BGP brings is what XDP forwards by.
#[test]
fn two_routers_tell_each_other_by_bgp() {
    testing::timed_as_root(|| {
        let routers = Routers::new();
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let text = std::fs::read_to_string(examples.join("two-bgp.toml")).unwrap();
        let text = text.split("schema = 1").nth(1).unwrap();
        let mut text = text.replace("two-bgp.", &format!("{}/two-bgp.", examples.display()));
        for (from, to) in [
            ("edge1", "EDGE"),
            ("edge2", "CORE"),
            ("lan1", "LAN1"),
            ("lan2", "LAN2"),
        ] {
            text = text.replace(from, to);
        }
        // The configurations keep their names.
        text = text
            .replace("two-bgp.EDGE.conf", "two-bgp.edge1.conf")
            .replace("two-bgp.CORE.conf", "two-bgp.edge2.conf");
        routers.write(&text);
        let Some(up) = supported(routers.router("up")) else {
            return;
        };
        up.ok();
        let mut inside = routers.inside("edge").netlink().unwrap();
        let far = "198.19.7.7".parse().unwrap();
        testing::until(
            || inside.route_to(far).ok().and_then(|route| route.gateway),
            |gateway| *gateway == Some([198, 51, 100, 1].into()),
        );
        let ports = format!("{},{}", routers.link("l1"), routers.link("l2"));
        let tested = routers.desk.line(&format!(
            "rfc2544 --ports {ports} --sizes 64 --tests throughput --trial 0.1"
        ));
        tested.ok();
        let shown = routers.show();
        assert!(
            shown
                .iter()
                .all(|router| router.control.contains("birdc -s"))
        );
        let forwarded = |router: &RouterShown| router.xdp.as_ref().unwrap().forwarded;
        assert!(
            shown.iter().all(|router| forwarded(router) >= 8),
            "{shown:?}"
        );
        // Killed, it is said, and a reload starts it again.
        let words = shown[0].control.clone();
        let pid: i32 = words
            .split(&[' ', ';'][..])
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        kill(pid);
        testing::until(
            || routers.show()[0].control.clone(),
            |control| control.contains("has ended"),
        );
        routers.router("reload").ok().shows(&["bird started"]);
        routers.router("down").ok();
        assert!(!routers.is_anything_left());
    });
}

const FRR: &str = "\
router bgp 64513
 bgp router-id 192.0.2.5
 no bgp ebgp-requires-policy
 neighbor 198.51.100.0 remote-as 64512
 neighbor 198.51.100.0 timers connect 1
 address-family ipv4 unicast
  redistribute connected
  redistribute kernel
  redistribute static
 exit-address-family
ip route 203.0.113.0/24 192.0.2.6
";

/// BIRD on one side, FRR on the other.
#[test]
fn bird_and_frr_tell_each_other_by_bgp() {
    testing::timed_as_root(|| {
        let routers = Routers::new();
        let near = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/two-bgp.edge1.conf");
        let far = routers.desk.write("far.conf", FRR);
        let with = |text: &str| {
            let text = TWO
                .replace("[router.EDGE]", &format!("[router.EDGE]\nbird = {near:?}"))
                .replace("[router.CORE]", &format!("[router.CORE]\n{text}"));
            // The other side tells of these.
            text.replace(
                "to = \"198.19.0.0/16\"\nvia = \"198.51.100.1\"",
                "to = \"198.20.0.0/16\"\nvia = \"198.51.100.1\"",
            )
        };
        routers.write(&with(&format!("frr = {far:?}")));
        let Some(up) = supported(routers.router("up")) else {
            return;
        };
        up.ok().shows(&["frr"]);
        let mut inside = routers.inside("edge").netlink().unwrap();
        let mut gateway = |far: &str| {
            let far = far.parse().unwrap();
            inside.route_to(far).ok().and_then(|route| route.gateway)
        };
        let core = Some([198, 51, 100, 1].into());
        testing::until(|| gateway("203.0.113.7"), |found| *found == core);
        let shown = routers.show();
        let words = &shown
            .iter()
            .find(|one| one.control.contains("zebra"))
            .unwrap()
            .control;
        for part in ["staticd", "bgpd", "vtysh --vty_socket"] {
            assert!(words.contains(part), "{words}");
        }
        // Another configuration is taken, and a wrong one refused.
        std::fs::write(&far, FRR.replace("203.0.113.0/24", "203.0.113.0/25")).unwrap();
        routers.router("reload").ok().shows(&["frr started"]);
        testing::until(|| gateway("203.0.113.7"), |found| *found == core);
        testing::until(|| gateway("203.0.113.200"), Option::is_none);
        std::fs::write(&far, format!("{FRR}nonsense\n")).unwrap();
        let refused = routers.router("reload");
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        refused.says(&["nonsense"]);
        routers.write(&with(""));
        routers.router("reload").ok().shows(&["no frr"]);
        testing::until(|| gateway("203.0.113.7"), Option::is_none);
        // Programs that are another user's do not die with who started them: a sweep
        // ends them.
        std::fs::write(&far, FRR).unwrap();
        routers.write(&with(&format!("frr = {far:?}")));
        routers.router("reload").ok().shows(&["frr started"]);
        let words: Vec<String> = routers.show().into_iter().map(|one| one.control).collect();
        let words = words.join(" ");
        let numbers = words
            .split([' ', ',', ';'])
            .filter_map(|word| word.parse().ok());
        let numbers: Vec<i32> = numbers.collect();
        assert_eq!(numbers.len(), 4, "bird, zebra, staticd and bgpd: {words}");
        kill(keeper(routers.file.to_str().unwrap()).expect("it keeps them"));
        routers.router("down").ok();
        assert!(!routers.is_anything_left());
        let is_there = |number: &i32| {
            let state = std::fs::read_to_string(format!("/proc/{number}/stat"));
            state.is_ok_and(|text| !text.contains(") Z "))
        };
        testing::until(|| numbers.iter().any(is_there), |is_any| !is_any);
    });
}
