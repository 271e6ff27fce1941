//! Devices are lent to namespaces, come back as they were, and those in use are
//! left alone. A namespace plays the host, veths its cards.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use lockgate_net::device::{DeviceError, lend};
use lockgate_net::journal::sweep_folder;
use lockgate_net::netlink::{Route, VethEnd, add_veth};
use lockgate_net::{Entry, Journal, Namespace, Tag};
use testing::is_root;

struct Host {
    namespace: Namespace,
    guest: Namespace,
    device: String,
    peer: String,
    journal: Journal,
}

fn host() -> Host {
    let (journal, tag) = (Journal::open().unwrap(), Tag::fresh());
    let make = |role| Namespace::create(&journal, &tag.name(role).unwrap()).unwrap();
    let (namespace, guest) = (make("host"), make("guest"));
    let [device, peer] = ["n", "m"].map(|role| tag.interface(role).unwrap());
    let [one, other] = [&device, &peer].map(|name| VethEnd {
        namespace: &namespace,
        name,
        address: None,
        mtu: Some(1700),
        queues: 1,
    });
    add_veth(&one, &other).unwrap();
    namespace.netlink().unwrap().set_up(&device).unwrap();
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

    fn devices(&self) -> Vec<Entry> {
        let mut entries = self.journal.entries();
        entries.retain(|entry| matches!(entry, Entry::Device { .. }));
        entries
    }
}

#[test]
fn a_device_comes_back_as_it_was() {
    if !is_root() {
        return;
    }
    let host = host();
    let mut netlink = host.namespace.netlink().unwrap();
    let mut inside = host.guest.netlink().unwrap();
    let (before, offloads) = (
        netlink.link(&host.device).unwrap(),
        netlink.offloads(&host.device).unwrap(),
    );
    let lent = host.lend().unwrap();
    assert!(netlink.link(&host.device).is_err());
    inside.set_mtu(&host.device, 1500).unwrap();
    inside.set_up(&host.device).unwrap();
    let changed = [("rx-gro", !offloads.contains("rx-gro"))];
    inside.set_offloads(&host.device, &changed).unwrap();
    // From elsewhere it is not brought to the wrong place.
    let entry = host.devices().remove(0);
    let error = entry.undo().unwrap_err();
    let cause = error.source().unwrap().to_string();
    assert!(cause.contains("another network namespace"), "{cause}");
    assert!(inside.link(&host.device).is_ok());
    // As a sweep does it, twice.
    for _ in 0..2 {
        host.namespace.run(|| entry.undo().unwrap()).unwrap();
        let now = netlink.link(&host.device).unwrap();
        assert_eq!((now.mtu, now.up), (before.mtu, before.up));
        assert_eq!(netlink.offloads(&host.device).unwrap(), offloads);
    }
    host.namespace.run(|| drop(lent)).unwrap();
    assert_eq!(host.devices(), []);
}

#[test]
fn nothing_is_owed_to_a_home_that_is_gone() {
    if !is_root() {
        return;
    }
    let host = host();
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
    if !is_root() {
        return;
    }
    let host = host();
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
    let (folder, device) = arguments.split_once(' ').unwrap();
    let (journal, tag) = (Journal::open_in(Path::new(folder)).unwrap(), Tag::fresh());
    let router = Namespace::create(&journal, &tag.name("router").unwrap()).unwrap();
    let lent = lend(&journal, device, &router).unwrap();
    let mut inside = router.netlink().unwrap();
    inside.set_mtu(device, 1500).unwrap();
    inside.set_up(device).unwrap();
    println!("\nlent {}", router.name());
    std::thread::sleep(Duration::from_secs(60));
    drop(lent);
}

#[test]
fn a_killed_borrower_s_device_is_not_lost_and_comes_back() {
    if !is_root() {
        return;
    }
    let host = host();
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "device::lender", "--nocapture"])
            .env(
                LENDER,
                format!("{} {}", folder.path().display(), host.device),
            )
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let mut child = host.namespace.run(start).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let router = lines
        .find_map(|line| Some(line.unwrap().strip_prefix("lent ")?.to_owned()))
        .unwrap_or_else(|| panic!("it lent nothing: {:?}", child.wait()));
    child.kill().unwrap();
    child.wait().unwrap();
    let at = |namespace: &Namespace| namespace.netlink().unwrap().link(&host.device).ok();

    // A sweep from elsewhere can only complain: of the device, and of the
    // namespace with which it would be gone.
    let swept = sweep_folder(folder.path()).unwrap();
    let failed: Vec<_> = swept.failed.iter().map(|error| error.source()).collect();
    let failed: Vec<_> = failed
        .iter()
        .map(|error| error.unwrap().to_string())
        .collect();
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert!(failed[0].starts_with("cannot bring back"), "{failed:?}");
    assert!(failed[1].contains(&format!("{router} stays")), "{failed:?}");
    let borrower = Namespace::named(&router).unwrap();
    assert_eq!(at(&borrower).unwrap().mtu, 1500);
    assert!(at(&host.namespace).is_none());

    let sweep = || sweep_folder(folder.path()).unwrap();
    let swept = host.namespace.run(sweep).unwrap();
    assert!(swept.failed.is_empty(), "{:?}", swept.failed);
    let back = at(&host.namespace).unwrap();
    assert_eq!((back.mtu, back.up), (1700, true));
    assert!(Namespace::named(&router).is_none());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_device_in_use_is_left_alone() {
    if !is_root() {
        return;
    }
    type Use = fn(&Host);
    let uses: [(Use, &str); 4] = [
        (
            |host| {
                let mut netlink = host.namespace.netlink().unwrap();
                let address = "192.0.2.1".parse().unwrap();
                netlink.add_address(&host.device, address, 24).unwrap();
            },
            "has the address 192.0.2.1/24",
        ),
        (
            |host| {
                let mut netlink = host.namespace.netlink().unwrap();
                let index = netlink.link(&host.device).unwrap().index;
                let any = "0.0.0.0".parse().unwrap();
                let mut route = Route::via(any, 0, any, index);
                route.gateway = None;
                netlink.set_up(&host.peer).unwrap();
                netlink.add_route(&route).unwrap();
            },
            "carries the default route",
        ),
        (
            |host| {
                let mut netlink = host.namespace.netlink().unwrap();
                let bridge = Tag::fresh().interface("br").unwrap();
                netlink.add_bridge(&bridge).unwrap();
                netlink.set_master(&host.device, Some(&bridge)).unwrap();
            },
            "is a port of lg",
        ),
        (
            |host| {
                let mut netlink = host.namespace.netlink().unwrap();
                netlink.remove_link(&host.device).unwrap();
            },
            "there is no device",
        ),
    ];
    for (take_into_use, says) in uses {
        let host = host();
        take_into_use(&host);
        let error = host.lend().unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        assert!(error.contains(&host.device), "{error}");
        assert_eq!(host.devices(), [], "and nothing is to be undone");
    }
}
