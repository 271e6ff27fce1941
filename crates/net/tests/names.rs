//! Names of namespaces stand beside those of ip-netns(8).

use std::path::Path;
use std::process::Command;

use lockgate_net::{Journal, Namespace, Tag};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

/// A `/run` of its own, in which nobody made a namespace before.
fn in_a_fresh_run(body: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNS).unwrap();
            let none: Option<&str> = None;
            mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).unwrap();
            mount(Some("none"), "/run", Some("tmpfs"), MsFlags::empty(), none).unwrap();
            body();
        });
        inside
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn ip_netns(action: &str, name: &str) -> bool {
    let ended = Command::new("ip").args(["netns", action, name]).output();
    ended.unwrap().status.success()
}

/// The first `ip netns add` makes the folder a mount, which would hide what was there.
#[test]
fn names_go_also_after_others_were_made() {
    if !testing::is_root() || !testing::has_programs(&["ip"], "iproute2") {
        return;
    }
    in_a_fresh_run(|| {
        let journal = Journal::open().unwrap();
        let name = Tag::fresh().name("named").unwrap();
        let namespace = Namespace::create(&journal, &name).unwrap();
        let other = format!("{name}-of-ip");
        assert!(ip_netns("add", &other));
        let is_there = |name: &str| Path::new("/run/netns").join(name).exists();
        assert!(is_there(&name) && is_there(&other));
        drop(namespace);
        assert!(!is_there(&name) && is_there(&other));
        assert!(ip_netns("delete", &other));
    });
}
