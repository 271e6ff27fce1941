//! The kernel's receiving threads.

use crate::common::Pair;
use lockgate_net::napi;
use lockgate_net::sysfs::Sysfs;
use testing::is_root;

#[test]
fn threads_are_found_pinned_and_timed() {
    testing::timed(|| {
        if !is_root() {
            return;
        }
        let pair = Pair::up(2);
        let error = napi::set_threaded(&pair.other, &pair.other_link, true).unwrap_err();
        assert!(error.to_string().contains("rx-gro"), "{error}");
        let mut netlink = pair.other.netlink().unwrap();
        netlink
            .set_offloads(&pair.other_link, &[("rx-gro", true)])
            .unwrap();
        napi::set_threaded(&pair.other, &pair.other_link, true).unwrap();
        let threads = napi::threads(&pair.other_link, 2).unwrap();
        assert_eq!(threads.len(), 2);
        let cpu = *sys::affinity::allowed_cpus().unwrap().last().unwrap();
        for thread in &threads {
            thread.pin(&[cpu]).unwrap();
            thread.cpu_ns().unwrap();
            assert!(thread.pin(&[1 << 20]).is_err());
        }
        assert_eq!(napi::threads_now(&pair.one_link), []);
        napi::set_threaded(&pair.other, &pair.other_link, false).unwrap();
    });
}

#[test]
fn sysfs_shows_the_namespace_it_is_of() {
    if !is_root() {
        return;
    }
    // XPS is for links of several queues only.
    let pair = Pair::up(2);
    let sysfs = Sysfs::of(&pair.one).unwrap();
    assert_eq!(
        sysfs.read(&format!("{}/mtu", pair.one_link)).unwrap(),
        "1600"
    );
    assert!(sysfs.read(&format!("{}/mtu", pair.other_link)).is_err());
    assert!(sysfs.read("../../kernel/uevent_seqnum").is_err());
    let cpu = *sys::affinity::allowed_cpus().unwrap().first().unwrap();
    sysfs.set_xps(&pair.one_link, 0, &[cpu]).unwrap();
    sysfs.set_rps(&pair.one_link, 0, &[cpu]).unwrap();
    let path = format!("{}/queues/rx-0/rps_cpus", pair.one_link);
    let mask = u64::from_str_radix(&sysfs.read(&path).unwrap().replace(',', ""), 16).unwrap();
    assert_eq!(mask, 1 << cpu);
}
