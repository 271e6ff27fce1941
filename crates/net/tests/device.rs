//! Devices are lent to namespaces, come back as they were, and those in use are
//! left alone. A namespace plays the host, veths its cards.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::snapshot::{Random, Settings, differences, snapshot, unsettle};
use lockgate_net::device::{DeviceError, lend};
use lockgate_net::journal::sweep_folder;
use lockgate_net::netlink::{Route, RouteKind, VethEnd, add_veth};
use lockgate_net::sysfs::Sysfs;
use lockgate_net::{Entry, Journal, Namespace, Netlink, Tag, napi};
use testing::{Again, is_root};

struct Host {
    namespace: Namespace,
    guest: Namespace,
    device: String,
    peer: String,
    journal: Journal,
}

/// `None` without root's rights.
fn host() -> Option<Host> {
    is_root().then(|| host_with(Journal::open().unwrap()))
}

fn host_with(journal: Journal) -> Host {
    let tag = Tag::fresh();
    let make = |role| Namespace::create(&journal, &tag.name(role).unwrap()).unwrap();
    let (namespace, guest) = (make("host"), make("guest"));
    let [device, peer] = ["n", "m"].map(|role| tag.interface(role).unwrap());
    let [one, other] = [&device, &peer].map(|name| VethEnd {
        mtu: Some(1700),
        queues: 2,
        ..VethEnd::new(&namespace, name)
    });
    add_veth(&one, &other).unwrap();
    namespace.netlink().unwrap().set_up(&device).unwrap();
    // They have the numbers that the device would keep where it is lent to.
    for _ in 0..4 {
        let bridge = Tag::fresh().interface("br").unwrap();
        guest.netlink().unwrap().add_bridge(&bridge).unwrap();
    }
    Host {
        namespace,
        guest,
        device,
        peer,
        journal,
    }
}

impl Host {
    fn lend(&self) -> Result<lockgate_net::device::Lent, DeviceError> {
        let lend = || lend(&self.journal, &self.device, &self.guest);
        self.namespace.run(lend).unwrap()
    }

    fn snapshot(&self) -> Settings {
        self.namespace.run(|| snapshot(&self.device)).unwrap()
    }

    fn devices(&self) -> Vec<Entry> {
        let mut entries = self.journal.entries();
        entries.retain(|entry| matches!(entry, Entry::Device { .. }));
        entries
    }
}

/// Does to a device, where it was lent to, all that is done to ports, and more; or
/// only some of it, as where an error comes between.
fn use_as_port(namespace: &Namespace, device: &str, steps: u64) {
    let mut netlink = namespace.netlink().unwrap();
    let sysfs = Sysfs::of(namespace).unwrap();
    let write = |file: &str, value: &str| {
        sysfs.write(&format!("{device}/{file}"), value).unwrap();
    };
    let gro_for_threads = [
        ("rx-gro", true),
        ("tx-tcp-segmentation", false),
        ("tx-checksum-ip-generic", false),
    ];
    let all: [&mut dyn FnMut(); STEPS as usize] = [
        &mut || netlink.set_mtu(device, 1500).unwrap(),
        &mut || namespace.netlink().unwrap().set_up(device).unwrap(),
        &mut || {
            let mut netlink = namespace.netlink().unwrap();
            netlink.set_offloads(device, &gro_for_threads).unwrap();
        },
        &mut || napi::set_threaded(namespace, device, true).unwrap(),
        &mut || {
            let mut netlink = namespace.netlink().unwrap();
            for thread in napi::threads(&mut netlink, device, 2).unwrap() {
                let cpu = sys::affinity::allowed_cpus().unwrap()[0];
                thread.pin(&[cpu]).unwrap();
            }
        },
        &mut || {
            write("napi_defer_hard_irqs", "201");
            write("gro_flush_timeout", "1000001");
        },
        &mut || {
            let mut netlink = namespace.netlink().unwrap();
            netlink.set_promiscuous(device, false).unwrap();
            netlink.set_promiscuous(device, true).unwrap();
            netlink.set_address(device, [2, 0, 0, 0, 0, 7]).unwrap();
            netlink.set_queue_length(device, 17).unwrap();
        },
    ];
    for step in all.into_iter().take(usize::try_from(steps).unwrap()) {
        step();
    }
}

const STEPS: u64 = 7;

fn rounds() -> impl Iterator<Item = bool> {
    (0..testing::cases(6, 100)).map(|round| round % 2 == 1)
}

/// Its peer is lent, too, and still has a program: the kernel then answers that it
/// segments, and does not.
#[test]
fn a_device_whose_peer_has_a_program_segments_as_before() {
    let Some(host) = host() else { return };
    let both = || snapshot_of_offloads(&host);
    let before = both();
    let lend = |device: &str| {
        let lend = || lend(&host.journal, device, &host.guest);
        host.namespace.run(lend).unwrap().unwrap()
    };
    let (device, peer) = (lend(&host.device), lend(&host.peer));
    let mut netlink = host.guest.netlink().unwrap();
    let off = [
        "tx-tcp-segmentation",
        "tx-tcp6-segmentation",
        "tx-checksum-ip-generic",
    ];
    netlink
        .set_offloads(&host.device, &off.map(|name| (name, false)))
        .unwrap();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf/pass.bpf.o");
    let attach = || {
        let mut ip = Command::new("ip");
        let words = format!("link set {} xdp obj {program} sec xdp", host.peer);
        ip.args(words.split(' '));
        ip.status().is_ok_and(|status| status.success())
    };
    if !host.guest.run(attach).unwrap() {
        return testing::skipped("`ip` cannot attach a program; install iproute2 with libbpf");
    }
    let bring_back = || {
        drop(device);
        drop(peer);
    };
    host.namespace.run(bring_back).unwrap();
    assert_eq!(both(), before);
}

fn snapshot_of_offloads(host: &Host) -> [std::collections::BTreeSet<String>; 2] {
    let mut netlink = host.namespace.netlink().unwrap();
    [&host.device, &host.peer].map(|name| netlink.offloads(name).unwrap())
}

#[test]
fn a_device_comes_back_as_it_was() {
    let mut random = Random::new();
    for threaded in rounds() {
        let Some(host) = host() else { return };
        unsettle(&host.namespace, &host.device, threaded, &mut random);
        let before = host.snapshot();
        let lent = host.lend().unwrap();
        let steps = random.number(0, STEPS);
        use_as_port(&host.guest, &host.device, steps);
        // From elsewhere it is not brought to the wrong place.
        let entry = host.devices().remove(0);
        let error = entry.undo().unwrap_err();
        let cause = error.source().unwrap().to_string();
        assert!(cause.contains("another network namespace"), "{cause}");
        // As a sweep does it, twice.
        for _ in 0..2 {
            host.namespace.run(|| entry.undo().unwrap()).unwrap();
            let changed = differences(&before, &host.snapshot());
            assert_eq!(changed, [""; 0], "threaded: {threaded}, steps: {steps}");
        }
        host.namespace.run(|| drop(lent)).unwrap();
        assert_eq!(differences(&before, &host.snapshot()), [""; 0]);
        assert_eq!(host.devices(), []);
    }
}

#[test]
fn what_somebody_else_set_meanwhile_stays_and_is_told() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let host = host_with(Journal::open_in(folder.path()).unwrap());
    let lent = host.lend().unwrap();
    use_as_port(&host.guest, &host.device, STEPS);
    // Directly, as by another program.
    let theirs = Namespace::named(host.guest.name()).unwrap();
    let mut netlink = theirs.netlink().unwrap();
    netlink.set_mtu(&host.device, 1444).unwrap();
    let before = host.namespace.run(|| {
        drop(lent);
        snapshot(&host.device)
    });
    assert_eq!(before.unwrap()["mtu"], "1444");
    assert_eq!(host.devices(), []);
    drop(host);
    // By the next start, once.
    let swept = sweep_folder(folder.path()).unwrap();
    let [said] = &swept.failed[..] else {
        panic!("it is not said: {swept:?}");
    };
    let said = said.source().unwrap().to_string();
    assert!(said.contains("mtu stays '1444' and was '1700'"), "{said}");
    assert!(said.contains("another program"), "{said}");
    assert_eq!(said.matches("stays").count(), 1, "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn nothing_is_owed_to_a_home_that_is_gone() {
    let Some(host) = host() else { return };
    let lent = host.lend().unwrap();
    let entry = host.devices().remove(0);
    assert!(entry.undo().is_err(), "its home is still there");
    // The other end would take the device with it once its namespace is destroyed,
    // which is some time after its name is gone.
    let mut home = host.namespace.netlink().unwrap();
    home.move_link(&host.peer, &host.guest).unwrap();
    drop((home, host.namespace));
    entry.undo().unwrap();
    drop(lent);
    assert!(host.guest.netlink().unwrap().link(&host.device).is_ok());
}

#[test]
fn the_namespace_that_it_is_in_stays_until_it_is_back() {
    let Some(host) = host() else { return };
    let lent = host.lend().unwrap();
    let name = host.guest.name().to_owned();
    // The wrong order: the device would be destroyed with it.
    drop(host.guest);
    assert!(Namespace::named(&name).is_some());
    host.namespace.run(|| drop(lent)).unwrap();
    let mut netlink = host.namespace.netlink().unwrap();
    assert!(netlink.link(&host.device).unwrap().up);
    let entry = Entry::Namespace { name: name.clone() };
    assert!(host.journal.entries().contains(&entry));
    drop((host.namespace, host.journal));
    assert!(Namespace::named(&name).is_none());
}

const LENDER: &str = "LOCKGATE_TEST_LENDER";

/// Not a test: borrows a device, changes it, and is killed.
#[test]
fn lender() {
    let Ok(arguments) = std::env::var(LENDER) else {
        return;
    };
    let [folder, device, steps] = arguments.split(' ').collect::<Vec<_>>()[..] else {
        panic!("folder, device and steps, not {arguments}");
    };
    let (journal, tag) = (Journal::open_in(Path::new(folder)).unwrap(), Tag::fresh());
    let router = Namespace::create(&journal, &tag.name("router").unwrap()).unwrap();
    let lent = lend(&journal, device, &router).unwrap();
    use_as_port(&router, device, steps.parse().unwrap());
    println!("\nlent {}", router.name());
    std::thread::sleep(Duration::from_secs(60));
    drop(lent);
}

/// Borrows the host's device in a process that is killed; the name of the namespace
/// that the device is in.
fn lend_and_kill(host: &Host, folder: &Path, steps: u64) -> String {
    let arguments = format!("{} {} {steps}", folder.display(), host.device);
    let start = || Again::start("device::lender", LENDER, &arguments);
    let mut lender = host.namespace.run(start).unwrap();
    let router = lender.says("lent ");
    lender.kill();
    router
}

#[test]
fn a_killed_borrower_s_device_is_not_lost_and_comes_back_as_it_was() {
    let mut random = Random::new();
    for threaded in rounds() {
        let Some(host) = host() else { return };
        unsettle(&host.namespace, &host.device, threaded, &mut random);
        let before = host.snapshot();
        let folder = tempfile::tempdir().unwrap();
        let steps = random.number(0, STEPS);
        let router = lend_and_kill(&host, folder.path(), steps);
        let at = |namespace: &Namespace| namespace.netlink().unwrap().link(&host.device).ok();

        // A sweep from elsewhere can only complain: of the device, and of the
        // namespace with which it would be gone.
        let swept = sweep_folder(folder.path()).unwrap();
        let cause = |error: &sys::failure::Failure| error.source().unwrap().to_string();
        let failed: Vec<_> = swept.failed.iter().map(cause).collect();
        assert_eq!(failed.len(), 2, "{failed:?}");
        assert!(failed[0].starts_with("cannot bring back"), "{failed:?}");
        assert!(failed[1].contains(&format!("{router} stays")), "{failed:?}");
        assert!(at(&Namespace::named(&router).unwrap()).is_some());
        assert!(at(&host.namespace).is_none());

        let sweep = || sweep_folder(folder.path()).unwrap();
        let swept = host.namespace.run(sweep).unwrap();
        assert!(swept.failed.is_empty(), "{:?}", swept.failed);
        let changed = differences(&before, &host.snapshot());
        assert_eq!(changed, [""; 0], "threaded: {threaded}, steps: {steps}");
        assert!(Namespace::named(&router).is_none());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_device_in_use_is_left_alone() {
    type Use = fn(&Host, Netlink);
    let uses: [(Use, &str); 4] = [
        (
            |host, mut netlink| {
                let address = "192.0.2.1".parse().unwrap();
                netlink.add_address(&host.device, address, 24).unwrap();
            },
            "has the address 192.0.2.1/24",
        ),
        (
            |host, mut netlink| {
                let index = netlink.link(&host.device).unwrap().index;
                let any = "0.0.0.0".parse().unwrap();
                let mut route = Route::new(any, 0, RouteKind::Unicast);
                route.interface = Some(index);
                netlink.set_up(&host.peer).unwrap();
                netlink.add_route(&route).unwrap();
            },
            "carries the default route",
        ),
        (
            |host, mut netlink| {
                let bridge = Tag::fresh().interface("br").unwrap();
                netlink.add_bridge(&bridge).unwrap();
                netlink.set_master(&host.device, Some(&bridge)).unwrap();
            },
            "is a port of lg",
        ),
        (
            |host, mut netlink| {
                netlink.remove_link(&host.device).unwrap();
            },
            "there is no device",
        ),
    ];
    for (take_into_use, says) in uses {
        let Some(host) = host() else { return };
        take_into_use(&host, host.namespace.netlink().unwrap());
        let error = host.lend().unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        assert!(error.contains(&host.device), "{error}");
        assert_eq!(host.devices(), [], "and nothing is to be undone");
    }
}

#[test]
fn a_device_with_a_queue_of_its_own_is_left_alone() {
    if !testing::has_programs(&["tc"], "iproute2") {
        return;
    }
    let Some(host) = host() else { return };
    let mut tc = Command::new("tc");
    tc.args(["qdisc", "add", "dev", &host.device, "root", "pfifo"]);
    let mut tc = host.namespace.spawn_process(tc).unwrap();
    assert!(tc.wait().unwrap().success());
    let error = host.lend().unwrap_err().to_string();
    let says = "has tc: the queueing discipline pfifo, which would be lost";
    assert!(error.contains(says), "{error}");
    assert_eq!(host.devices(), []);
}
