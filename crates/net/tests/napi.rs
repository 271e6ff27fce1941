//! The kernel's receiving threads.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::common::Pair;
use lockgate_net::netlink::{VethEnd, add_veth};
use lockgate_net::sysfs::Sysfs;
use lockgate_net::{Netlink, napi};
use testing::is_root;

#[test]
fn threads_are_found_pinned_and_timed() {
    testing::timed(|| {
        let Some(pair) = Pair::up(2) else { return };
        let error = napi::set_threaded(&pair.other, &pair.other_link, true).unwrap_err();
        assert!(error.to_string().contains("rx-gro"), "{error}");
        let (_, threads) = pair.threaded(2);
        assert_eq!(threads.len(), 2);
        let cpu = *sys::affinity::allowed_cpus().unwrap().last().unwrap();
        for thread in &threads {
            thread.pin(&[cpu]).unwrap();
            thread.cpu_ns().unwrap();
            assert!(thread.pin(&[1 << 20]).is_err());
        }
        let mut one = pair.one.netlink().unwrap();
        assert_eq!(napi::threads_now(&mut one, &pair.one_link), []);
        napi::set_threaded(&pair.other, &pair.other_link, false).unwrap();
    });
}

#[test]
fn a_link_of_the_same_name_elsewhere_has_threads_of_its_own() {
    if !is_root() || sys::kernel::version() < (6, 8) {
        return testing::skipped("takes root and Linux 6.8, which tells them apart");
    }
    let pair = Pair::up(1).unwrap();
    let name = &pair.other_link;
    let twin = pair.tag.interface("t").unwrap();
    let [one, other] = [name, &twin].map(|name| VethEnd::new(&pair.one, name));
    add_veth(&one, &other).unwrap();
    let mut found = [&pair.one, &pair.other].map(|namespace| {
        let mut netlink = namespace.netlink().unwrap();
        netlink.set_up(name).unwrap();
        netlink.set_offloads(name, &[("rx-gro", true)]).unwrap();
        napi::set_threaded(namespace, name, true).unwrap();
        netlink
    });
    let found = found
        .each_mut()
        .map(|netlink| napi::threads(netlink, name, 1).unwrap());
    assert_eq!(found.each_ref().map(Vec::len), [1, 1], "{found:?}");
    assert_ne!(found[0], found[1]);
}

#[test]
fn a_program_that_calls_itself_like_a_thread_of_napi_is_none() {
    let script = "printf napi/fake-1 > /proc/$$/comm; echo named; read line";
    let mut impostor = Command::new("sh")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let output = impostor.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut line).unwrap();
    let comm = std::fs::read_to_string(format!("/proc/{}/comm", impostor.id())).unwrap();
    let found = napi::threads_now(&mut Netlink::open().unwrap(), "fake");
    drop(impostor.stdin.take());
    impostor.wait().unwrap();
    assert_eq!((comm.trim_end(), found), ("napi/fake-1", vec![]));
}

#[test]
fn sysfs_shows_the_namespace_it_is_of() {
    let Some(pair) = Pair::up(1) else { return };
    let sysfs = Sysfs::of(&pair.one).unwrap();
    let mtu = |link: &str| sysfs.read(&format!("{link}/mtu"));
    assert_eq!(mtu(&pair.one_link).unwrap(), "1600");
    assert!(mtu(&pair.other_link).is_err());
    assert!(sysfs.read("../../kernel/uevent_seqnum").is_err());
}
