//! `lockgate rfc2544`: what it refuses, a router on this host, and cards with real
//! drivers in a guest.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use net::netlink::{Route, RouteKind, VethEnd, add_veth};
use net::{Journal, Namespace, Tag};
use trial::{Dimension, Point, Run};
use vm::image::{HostProgram, Image};
use vm::{Cache, Guest, Qemu, Shape};

use crate::common::{Desk, program};

#[test]
fn wrong_flags_name_the_value_and_what_is_allowed() {
    let desk = Desk::new();
    let rows = "
        rfc2544 --ports a                              => names 1 | takes two
        rfc2544 --ports a,b,c                          => names 3 | takes two
        rfc2544 --ports a,a                            => port a twice
        rfc2544 --ports a,b --sizes 63                 => 63 | 64 to 1518
        rfc2544 --ports a,b --sizes 9000               => 9000 | 64 to 1518
        rfc2544 --ports a,b --ipv6 --sizes 64          => 64 | 84 to 1518
        rfc2544 --ports a,b --sizes big                => 'big' | imix
        rfc2544 --ports a,b --trial 0.01               => 0.01 | 0.1 s
        rfc2544 --ports a,b --loss 2                   => '2' | 0.1%
        rfc2544 --ports a,b --speed 10                 => '10' | 2.5G
        rfc2544 --ports a,b --layer 4                  => '4' | 2, 3
        rfc2544 --ports a,b --destinations 3           => 3 destinations | power of two
        rfc2544 --ports a,b --tester 10.0.0.1          => '10.0.0.1' | address/bits
        rfc2544 --ports a,b --tester 10.0.0.1/24       => --tester names 1
        rfc2544 --ports a,b --device 10.0.0.1,10.0.1.1 => 10.0.0.1 | 192.0.2.2/30
        rfc2544 --ports a,b --behind 10.0.0.0/8,10.1.0.0/16 => overlap
        rfc2544 --ports a,b --behind 10.0.0.1/8,10.1.0.0/16 => write 10.0.0.0/8
        rfc2544 --ports a,b --cpus 0                   => --cpus names one
        rfc2544 --ports a,b --calibrate --layer 2      => --calibrate | --layer
        rfc2544 --ports a,b --rfc --trial 3            => --rfc | --trial
    ";
    desk.refuses(rows, &[]);
}

#[test]
fn a_plan_says_what_changes_and_what_a_router_needs() {
    if !testing::is_root() {
        return;
    }
    let (desk, router) = (Desk::new(), Router::new());
    let [one, other] = &router.cards;
    let plan = desk.line(&format!("rfc2544 --ports {one},{other} --check"));
    plan.ok().shows(&[
        &format!("{one} and {other} are moved there"),
        "comes back",
        &format!("the address 192.0.2.1/30 at {one}, and a route to 198.18.0.0/16 by 192.0.2.2"),
        "RFC 2544's take 60 s",
    ]);
    assert!(router.are_here() && desk.runs().is_empty());
}

/// At once, with or without `--check`, before anything is made. Looking needs no root.
#[test]
fn ports_that_cannot_be_taken_are_refused_at_once() {
    let desk = Desk::new();
    let nobody = i32::MAX;
    for check in ["", "--check"] {
        let rows = format!(
            "
            rfc2544 --ports lo,lgnone2 {check}      => the device lo | no Ethernet device
            rfc2544 --ports lgnone1,lgnone2 {check} => no device 'lgnone1' | ip link
            rfc2544 --ports lo,lgnone2 --device-pid {nobody} {check} => no process {nobody}
            "
        );
        desk.refuses(&rows, &[]);
    }
    if !testing::is_root() {
        return;
    }
    let router = Router::new();
    let [card, other] = &router.cards;
    let mut netlink = net::Netlink::open().unwrap();
    let bridge = Tag::fresh().interface("br").unwrap();
    netlink.add_bridge(&bridge).unwrap();
    netlink.set_mtu(other, 1280).unwrap();
    let refuses = |parts: &str| {
        let rows = ["", "--check"]
            .map(|check| format!("rfc2544 --ports {other},{card} {check} => {parts}"));
        desk.refuses(&rows.join("\n"), &[]);
    };
    desk.refuses(
        &format!("rfc2544 --ports {card},{bridge} => {bridge} | a bridge | a network card"),
        &[],
    );
    refuses("frames of 1518 bytes | 64 to 1298 | MTU of 1500");
    netlink.set_master(card, Some(&bridge)).unwrap();
    refuses(&format!("the device {card} is in use | a port of {bridge}"));
    netlink.set_master(card, None).unwrap();
    netlink.remove_link(&bridge).unwrap();
    netlink.set_up(card).unwrap();
    let index = netlink.link(card).unwrap().index;
    // None of another test's frames go there.
    let mut route = Route::new([203, 0, 113, 9].into(), 32, RouteKind::Unicast);
    route.interface = Some(index);
    netlink.add_route(&route).unwrap();
    refuses("carries the route to 203.0.113.9/32");
    netlink
        .add_address(card, [192, 0, 2, 77].into(), 24)
        .unwrap();
    refuses("has the address 192.0.2.77/24 | free this one");
    assert!(router.are_here());
}

/// A router of the kernel's in a namespace, and the host's two cards, which veths play.
struct Router {
    cards: [String; 2],
    // Its links go with it, and the cards with these.
    inside: Namespace,
    _journal: Journal,
}

impl Router {
    fn new() -> Self {
        let (journal, tag) = (Journal::open().unwrap(), Tag::fresh());
        let inside = Namespace::create(&journal, &tag.name("router").unwrap()).unwrap();
        let cards = ["c0", "c1"].map(|role| tag.interface(role).unwrap());
        let here = Namespace::current().unwrap();
        let mut netlink = inside.netlink().unwrap();
        for (index, card) in cards.iter().enumerate() {
            let port = tag.interface(&format!("p{index}")).unwrap();
            add_veth(&VethEnd::new(&here, card), &VethEnd::new(&inside, &port)).unwrap();
            netlink.set_up(&port).unwrap();
            netlink.set_offloads(&port, &[("rx-gro", true)]).unwrap();
            net::napi::set_threaded(&inside, &port, true).unwrap();
            let base = 4 * u8::try_from(index).unwrap();
            let own = [192, 0, 2, base + 1].into();
            netlink.add_address(&port, own, 30).unwrap();
            let link = netlink.link(&port).unwrap().index;
            let second = 18 + u8::try_from(index).unwrap();
            let by = [192, 0, 2, base + 2].into();
            let route = Route::via([198, second, 0, 0].into(), 16, by, link);
            netlink.add_route(&route).unwrap();
        }
        inside.set_sysctl("ipv4/ip_forward", "1").unwrap();
        Self {
            cards,
            inside,
            _journal: journal,
        }
    }

    fn ports(&self) -> String {
        self.cards.join(",")
    }

    fn are_here(&self) -> bool {
        let here = |card: &String| Path::new("/sys/class/net").join(card).exists();
        self.cards.iter().all(here)
    }
}

fn of<'r>(run: &'r Run, procedure: &str) -> Vec<&'r Point> {
    let is_it = |point: &&Point| {
        point.dimensions.get("procedure") == Some(&Dimension::Text(procedure.to_owned()))
    };
    run.sections[0].points.iter().filter(is_it).collect()
}

#[test]
fn a_router_is_tested_and_the_ports_are_back() {
    testing::timed_as_root(|| {
        let router = Router::new();
        let desk = Desk::new();
        let line = format!(
            "rfc2544 --ports {} --sizes 64,imix --trial 0.1 --export json=report.json",
            router.ports()
        );
        let ended = desk.line(&line).ok();
        // Latencies need a rate that passed, which is a matter of the host's time.
        ended.shows(&["Throughput", "IMIX", "is not known for these ports"]);
        let run = desk.stored();
        assert_eq!(of(&run, "throughput").len(), 2, "{:?}", run.sections[0]);
        assert!(router.are_here());
        assert!(desk.path().join("report.json").exists());
        drop(router.inside);
    });
}

/// The next start brings back what a killed one took.
#[test]
fn ports_come_back_after_kill() {
    testing::timed_as_root(|| {
        let router = Router::new();
        let desk = Desk::new();
        let mut command = desk.command();
        command
            .args(["rfc2544", "--sizes", "64", "--ports", &router.ports()])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        testing::until(|| router.are_here(), |are_here| !are_here);
        // In the middle of taking them, or of a trial.
        std::thread::sleep(Duration::from_millis(700));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!router.are_here());
        desk.line("run probe.toml").ok();
        testing::until(|| router.are_here(), |are_here| *are_here);
    });
}

/// A guest of two CPUs with four cards of that kind: the tester's two and the bridge's
/// two, on two cables.
fn guest(card: &str, qemu: &Qemu, cache: &Cache) -> Guest {
    let kernel = cache.kernel(None).expect("the first");
    let modules = ["virtio_net", "igb", "bridge"];
    let mut image = Image::new(cache, kernel);
    for module in modules {
        image = image.module(module);
    }
    let files = HostProgram::new(&program()).files("/bin/lockgate").unwrap();
    let image = image.files(files).build().unwrap();
    let mut arguments = Vec::new();
    for (index, hub) in [1, 1, 2, 2].into_iter().enumerate() {
        arguments.extend([
            "-netdev".to_owned(),
            format!("hubport,id=n{index},hubid={hub}"),
            // Two igb on one bus want the same slots for their virtual functions.
            "-device".to_owned(),
            format!("pcie-root-port,id=r{index},chassis={index}"),
            "-device".to_owned(),
            format!("{card},bus=r{index},netdev=n{index},mac=52:54:00:00:00:0{index}"),
        ]);
    }
    let shape = Shape {
        vcpus: 2,
        memory_mib: 2048,
        qemu_arguments: arguments,
        time_limit: Duration::from_secs(300),
        ..Shape::default()
    };
    Guest::boot(qemu, kernel, &image, &shape).unwrap()
}

const IN_GUEST: &str = r#"
# A bridge has the address of its first port.
name() { for card in /sys/class/net/e*; do [ "$(cat $card/address)" = "52:54:00:00:00:0$1" ] && echo ${card##*/}; done; }
brctl addbr br0
for index in 1 2; do
    brctl addif br0 $(name $index)
    ip link set $(name $index) up
done
ip link set br0 up
export HOME=/root
cd /tmp
/bin/lockgate rfc2544 --ports $(name 0),$(name 3) --layer 2 --sizes 512 \
    --tests throughput --trial 0.1 --frames FRAMES --export json=/tmp/report.json || exit 1
[ -e /sys/class/net/$(name 0) ] && [ -e /sys/class/net/$(name 3) ] && echo both are back
"#;

#[test]
fn cards_with_real_drivers() {
    testing::booting(|| {
        let cache = match Cache::open_default() {
            Ok(cache) => cache,
            Err(error) => return testing::skipped(error.to_string()),
        };
        let qemus = Qemu::find_all(Some(&cache));
        for card in ["virtio-net-pci", "igb"] {
            // The first that knows an igb is 8.0.
            let wants = if card == "igb" { 8 } else { 0 };
            let Some(qemu) = qemus.iter().find(|qemu| qemu.version.0 >= wants) else {
                testing::left_out(format!(
                    "no QEMU here has {card}: `make setup-guests GUESTS=all` fetches one"
                ));
                continue;
            };
            let mut guest = guest(card, qemu, &cache);
            // Packet sockets need nothing of a driver: once is enough.
            let all = ["live", "packet"];
            let kinds = if card == "igb" { &all[..1] } else { &all };
            for &frames in kinds {
                let script = IN_GUEST.replace("FRAMES", frames);
                // The bridge is there from the first time.
                let script = match frames {
                    "live" => script,
                    _ => script.replace("brctl add", "true "),
                };
                let run = vm::Run::new(script).within(Duration::from_secs(120));
                let ended = guest.run(&run).unwrap();
                let text = ended.text();
                println!("{card}, {frames}: {text}");
                testing::certainly!(ended.status == 0, "{text}");
                testing::certainly!(text.contains("both are back"));
                let report = guest.get("/tmp/report.json", 16 << 20).unwrap();
                let run = Run::read(&String::from_utf8(report).unwrap()).unwrap();
                let found = of(&run, "throughput");
                // That it ran at all, it says of frames that passed both ways. Whether a
                // rate is valid is a matter of the host's time.
                assert_eq!(found.len(), 1);
                let trials = found[0].metric("trials").map(|metric| metric.value);
                testing::certainly!(trials >= Some(1.0), "{found:?}");
            }
            guest.shutdown().unwrap();
        }
    });
}
