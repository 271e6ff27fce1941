//! In a process of its own: any journal that is opened sweeps what these tests plant.
//!
//! What a killed owner left is found and undone; what lives is left alone.

#![allow(clippy::unwrap_used, reason = "a test may end so")]

mod common;
mod killed;

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use lockgate_net::journal::{Holder, sweep_folder};
use lockgate_net::netlink::{VethEnd, add_veth};
use lockgate_net::{Cgroup, Entry, Journal, JournalError, Limits, Namespace, Record, Tag};
use proptest::prelude::*;
use testing::{Again, is_root};

const FOLDER: &str = "LOCKGATE_TEST_JOURNALS";
const RESTLESS_FOLDER: &str = "LOCKGATE_TEST_RESTLESS_JOURNALS";

fn half_a_cpu() -> Limits {
    Limits {
        cpus: Some(0.5),
        ..Limits::default()
    }
}

/// Not a test: what the process that is killed does.
#[test]
#[allow(
    clippy::zombie_processes,
    reason = "it is killed while both run, and they are swept"
)]
fn victim() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let (journal, tag) = (Journal::open_in(Path::new(&folder)).unwrap(), Tag::fresh());
    let one = Namespace::create(&journal, &tag.name("one").unwrap()).unwrap();
    let other = Namespace::create(&journal, &tag.name("other").unwrap()).unwrap();
    let (name, peer) = (tag.interface("a").unwrap(), tag.interface("b").unwrap());
    let end = VethEnd::new;
    add_veth(&end(&one, &name), &end(&other, &peer)).unwrap();
    // One in the namespace that we were started in, as containers need.
    let host = Namespace::current().unwrap();
    let (outer, inner) = (tag.interface("h").unwrap(), tag.interface("i").unwrap());
    let link = journal
        .record(Entry::Link {
            name: outer.clone(),
        })
        .unwrap();
    add_veth(&end(&host, &outer), &end(&one, &inner)).unwrap();
    // Some hosts have none.
    let mut group = Cgroup::create(&journal, &tag.name("group").unwrap(), &half_a_cpu()).ok();
    let sleeper = Command::new("sleep").arg("60").spawn().unwrap();
    let process = journal
        .record(Entry::process(sleeper.id().cast_signed()).unwrap())
        .unwrap();
    let inside = Command::new("sleep").arg("60").spawn().unwrap();
    if let Some(group) = &mut group {
        group.add(inside.id().cast_signed()).unwrap();
    }
    let grouped = group.is_some();
    println!("\nmade {} {} {outer} {grouped}", sleeper.id(), inside.id());
    std::thread::sleep(Duration::from_secs(60));
    drop((link, process, one, other, group));
}

/// Not a test: makes and removes until it is killed.
#[test]
fn restless_victim() {
    let Some(folder) = std::env::var_os(RESTLESS_FOLDER) else {
        return;
    };
    let journal = Journal::open_in(Path::new(&folder)).unwrap();
    println!("\nmade");
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        let tag = Tag::fresh();
        let namespace = Namespace::create(&journal, &tag.name("torn").unwrap()).unwrap();
        let _group = Cgroup::create(&journal, &tag.name("torn").unwrap(), &half_a_cpu()).ok();
        drop(namespace);
    }
}

fn torn_by(pid: u32) -> Vec<String> {
    let digit = |power: u32| char::from_digit(pid / 36_u32.pow(power) % 36, 36).unwrap();
    let of_it: String = (0..5).rev().map(digit).collect();
    let prefix = format!("lockgate-{of_it}");
    ["/run/netns", "/sys/fs/cgroup", "/sys/fs/cgroup/cpu"]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten())
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with(&prefix))
        .collect()
}

#[test]
fn at_whatever_moment_it_is_killed() {
    if !is_root() {
        return;
    }
    let rounds = u64::from(testing::cases(12, 200));
    let folder = tempfile::tempdir().unwrap();
    let mut left = 0;
    for round in 0..rounds {
        let mut victim = Again::start("restless_victim", RESTLESS_FOLDER, folder.path());
        victim.says("made");
        // Over some cycles, at moments that differ.
        std::thread::sleep(Duration::from_micros(round * 7_919 % 40_000));
        let number = victim.id();
        victim.kill();
        left += torn_by(number).len();
        let swept = sweep_folder(folder.path()).unwrap();
        assert!(swept.failed.is_empty(), "{:?}", swept.failed);
        assert_eq!(torn_by(number), [""; 0], "after round {round}");
        assert_eq!(journals(folder.path()), 0);
    }
    eprintln!("{left} things were left in {rounds} rounds");
}

fn journals(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.starts_with(" Z"))
}

#[test]
fn what_a_killed_owner_left_is_gone_after_a_sweep() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut victim = Again::start("victim", FOLDER, folder.path());
    let made = victim.says("made");
    let made: Vec<_> = made.split(' ').collect();

    // It lives: nothing is swept.
    let swept = sweep_folder(folder.path()).unwrap();
    assert!(swept.undone.is_empty() && swept.failed.is_empty());
    let mut host = lockgate_net::Netlink::open().unwrap();
    assert!(host.link(made[2]).is_ok() && runs(made[0]) && runs(made[1]));

    victim.kill();
    assert_eq!(journals(folder.path()), 1);
    assert!(host.link(made[2]).is_ok());
    let swept = sweep_folder(folder.path()).unwrap();
    assert!(swept.failed.is_empty(), "{:?}", swept.failed);
    let has_group = made[3] == "true";
    let wanted = if has_group { 5 } else { 4 };
    assert_eq!(swept.undone.len(), wanted, "{:?}", swept.undone);
    for entry in &swept.undone {
        match entry {
            Entry::Namespace { name } => {
                assert!(!Path::new("/run/netns").join(name).exists(), "{name}");
            }
            Entry::Cgroup { path } => assert!(!path.exists(), "{}", path.display()),
            _ => {}
        }
    }
    assert!(host.link(made[2]).is_err());
    assert!(!runs(made[0]) && runs(made[1]) != has_group);
    assert_eq!(journals(folder.path()), 0);
    let again = sweep_folder(folder.path()).unwrap();
    assert!(again.undone.is_empty() && again.failed.is_empty());
}

fn dead_journal(folder: &Path, text: &str) {
    std::fs::write(folder.join("dead.journal"), text).unwrap();
}

fn device(name: &str, namespace: &str, before: &str, sysctls: &str) -> String {
    format!(
        r#"{{"kind":"device","name":"{name}","namespace":"{namespace}","home":1,"settings":{{"index":1,"up":true,"changes":{{"before":{before},"set":{{}}}},"sysctls":{sysctls},"threads":[]}}}}"#
    )
}

#[test]
fn a_damaged_journal_harms_nothing_that_is_not_ours() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let victim = folder.path().join("innocent");
    std::fs::create_dir(&victim).unwrap();
    let entries = [
        format!(r#"{{"kind":"folder","path":"{}"}}"#, victim.display()),
        r#"{"kind":"folder","path":"/"}"#.to_owned(),
        r#"{"kind":"folder","path":"relative/lockgate-x"}"#.to_owned(),
        r#"{"kind":"folder","path":"/tmp/../lockgate-x/.."}"#.to_owned(),
        r#"{"kind":"mount","path":"/proc"}"#.to_owned(),
        r#"{"kind":"cgroup","path":"/sys/fs/cgroup"}"#.to_owned(),
        r#"{"kind":"cgroup","path":"/tmp/lockgate-x"}"#.to_owned(),
        r#"{"kind":"namespace","name":"../../etc"}"#.to_owned(),
        r#"{"kind":"namespace","name":"foreign"}"#.to_owned(),
        r#"{"kind":"link","name":"eth0"}"#.to_owned(),
        r#"{"kind":"process","pid":1,"started":0}"#.to_owned(),
        r#"{"kind":"process","pid":-1,"started":0}"#.to_owned(),
        r#"{"kind":"controllers","path":"/etc/passwd","changes":{"before":{},"set":{}}}"#.to_owned(),
        r#"{"kind":"controllers","path":"/sys/fs/cgroup/../x/cgroup.subtree_control","changes":{"before":{},"set":{}}}"#.to_owned(),
        device("eth0", "theirs", "{}", "{}"),
        device("../eth0", "lockgate-x", "{}", "{}"),
        device("eth0", "lockgate-x", r#"{"../../../proc/sys/kernel/x":"1"}"#, "{}"),
        device("eth0", "lockgate-x", "{}", r#"{"ipv4/conf/../../x":"1"}"#),
        device("eth0", "lockgate-x", &format!(r#"{{"mtu":"{}"}}"#, "9".repeat(129)), "{}"),
        r#"{"kind":"container","runtime":"runc","name":"theirs","folder":"/run/runc"}"#.to_owned(),
    ];
    let made = |(number, entry): (usize, &String)| {
        format!(r#"{{"made":{{"number":{number},"entry":{entry}}}}}"#) + "\n"
    };
    dead_journal(
        folder.path(),
        &entries.iter().enumerate().map(made).collect::<String>(),
    );
    let swept = sweep_folder(folder.path()).unwrap();
    assert!(swept.undone.is_empty(), "{:?}", swept.undone);
    assert_eq!(swept.failed.len(), entries.len());
    for error in &swept.failed {
        let cause = cause(error);
        assert!(cause.contains("not made by Lockgate"), "{cause}");
    }
    assert!(victim.exists());

    dead_journal(folder.path(), "nonsense\n{\"made\":{}}\n\n\u{7}\n");
    assert_eq!(sweep_folder(folder.path()).unwrap().failed.len(), 3);
    let long = format!("{}\n", "x".repeat((1 << 20) + 1));
    dead_journal(folder.path(), &long);
    let failed = sweep_folder(folder.path()).unwrap().failed;
    let cause = cause(&failed[0]);
    assert!(cause.contains("at most 1048576"), "{cause}");
}

fn cause(error: &sys::failure::Failure) -> String {
    error.source().unwrap().to_string()
}

/// A child holds copies of all our files until it executes its program.
#[test]
fn a_sweep_s_lock_does_not_stay_with_a_child_just_forked() {
    let folder = tempfile::tempdir().unwrap();
    let ended = std::sync::atomic::AtomicBool::new(false);
    let load = std::sync::atomic::Ordering::Relaxed;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(load) {
                let _ = Command::new("true").status();
            }
        });
        dead_journal(folder.path(), "nonsense\n");
        let missed = (0..2_000)
            .filter(|_| !sweep_folder(folder.path()).is_ok_and(|swept| swept.failed.len() == 1))
            .count();
        ended.store(true, load);
        assert_eq!(missed, 0, "sweeps took their own lock for an owner's");
    });
}

/// What a second owner of the same names left that was killed before it knew: all of the
/// first one's is in its journal.
#[test]
fn nothing_of_a_living_owner_is_swept_whatever_a_dead_one_says() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (journal, tag) = (Journal::open_in(folder.path()).unwrap(), Tag::fresh());
    let namespace = Namespace::create(&journal, &tag.name("living").unwrap()).unwrap();
    let scratch = folder.path().join("lockgate-scratch");
    let record = made_folder(&journal, &scratch);
    std::fs::create_dir(scratch.join("lockgate-inner")).unwrap();
    let host = Namespace::current().unwrap();
    let (outer, inner) = (tag.interface("h").unwrap(), tag.interface("i").unwrap());
    let link = journal.record(Entry::Link {
        name: outer.clone(),
    });
    let end = VethEnd::new;
    add_veth(&end(&host, &outer), &end(&namespace, &inner)).unwrap();
    let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
    let process = Entry::process(sleeper.id().cast_signed()).unwrap();
    let own = Entry::process(std::process::id().cast_signed()).unwrap();
    let living = journal.entries();
    let mut said: Vec<String> = living.iter().map(json).collect();
    let inner_folder = Entry::Folder {
        path: scratch.join("lockgate-inner"),
    };
    said.extend([&process, &own, &inner_folder].map(json));
    said.push(device(&inner, namespace.name(), "{}", "{}"));
    let made = |(number, entry): (usize, &String)| {
        format!(r#"{{"made":{{"number":{number},"entry":{entry}}}}}"#) + "\n"
    };
    let text: String = said.iter().enumerate().map(made).collect();
    dead_journal(folder.path(), &text);
    let swept = sweep_folder(folder.path()).unwrap();
    assert!(swept.failed.is_empty(), "{:?}", swept.failed);
    assert_eq!(swept.undone, []);
    assert_eq!(journal.entries(), living);
    assert!(scratch.join("lockgate-inner").exists() && runs(&sleeper.id().to_string()));
    let mut netlink = namespace.netlink().unwrap();
    assert!(netlink.link(&inner).is_ok());
    assert!(lockgate_net::Netlink::open().unwrap().link(&outer).is_ok());
    // What waits for ours is swept after it.
    drop((netlink, link, record, namespace, journal));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let swept = sweep_folder(folder.path()).unwrap();
    assert!(swept.failed.is_empty(), "{:?}", swept.failed);
    assert_eq!(journals(folder.path()), 0);
}

fn json(entry: &Entry) -> String {
    serde_json::to_string(entry).unwrap()
}

/// Of many who want the same name at once one has it, and the others know who.
#[test]
fn a_name_has_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lockgate-one");
    let own = std::process::id().cast_signed();
    for _ in 0..20 {
        let open = |_| Journal::open_in(folder.path()).unwrap();
        let journals: Vec<_> = (0..4).map(open).collect();
        let start = std::sync::Barrier::new(journals.len());
        let ask = |journal: &Journal| {
            let entry = Entry::Folder { path: path.clone() };
            start.wait();
            journal.record(entry)
        };
        let records: Vec<_> = std::thread::scope(|scope| {
            let ask = &ask;
            let asking = journals
                .iter()
                .map(|journal| scope.spawn(move || ask(journal)));
            let asking: Vec<_> = asking.collect();
            asking.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(records.iter().filter(|one| one.is_ok()).count(), 1);
        for refused in records.iter().filter_map(|one| one.as_ref().err()) {
            let by = Holder::Process(own);
            let is_held = matches!(refused, JournalError::Held { by: one, .. } if *one == by);
            assert!(is_held, "{refused}");
            let said = refused.to_string();
            assert!(
                said.contains("lockgate-one is held by the process"),
                "{said}"
            );
        }
        assert_eq!(sweep_folder(folder.path()).unwrap().undone, []);
    }
    // What nobody alive has made is nobody's to make.
    std::fs::create_dir(&path).unwrap();
    let journal = Journal::open_in(folder.path()).unwrap();
    let refused = journal.record(Entry::Folder { path: path.clone() });
    assert!(matches!(refused, Err(JournalError::Exists { .. })));
    drop(journal);
    assert!(path.exists());
}

/// As at an end after which somebody may begin again at once.
#[test]
fn a_journal_that_names_nothing_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open_in(folder.path()).unwrap();
    let bytes = || {
        let mut files = std::fs::read_dir(folder.path()).unwrap().flatten();
        let journal = files.find(|file| file.file_type().unwrap().is_file());
        journal.unwrap().metadata().unwrap().len()
    };
    let [one, other] =
        ["lockgate-a", "lockgate-b"].map(|name| made_folder(&journal, &folder.path().join(name)));
    drop(one);
    assert!(bytes() > 0);
    drop(other);
    assert_eq!(bytes(), 0);
    let _again = made_folder(&journal, &folder.path().join("lockgate-c"));
    assert!(bytes() > 0 && bytes() < 200);
}

#[test]
fn what_is_not_there_any_more_is_no_failure() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open_in(folder.path()).unwrap();
    let entries = [
        Entry::Namespace {
            name: "lockgate-none".into(),
        },
        Entry::Link {
            name: "lgnone".into(),
        },
        Entry::Cgroup {
            path: "/sys/fs/cgroup/cpu/lockgate-none".into(),
        },
        Entry::Folder {
            path: "/run/lockgate-none".into(),
        },
        Entry::Mount {
            path: "/run/lockgate-none/x".into(),
        },
        Entry::Process {
            pid: i32::MAX,
            started: 7,
        },
    ];
    for entry in entries {
        journal.record(entry.clone()).unwrap().undo().unwrap();
    }
    assert_eq!(journal.entries(), []);
}

#[test]
fn what_is_mounted_in_a_folder_is_not_removed_with_it() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("theirs");
    let ours = folder.path().join("lockgate-a b");
    let inside = ours.join("root/usr");
    std::fs::create_dir_all(&theirs).unwrap();
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::write(theirs.join("precious"), "text").unwrap();
    std::fs::write(ours.join("file"), "text").unwrap();
    rustix::mount::mount_bind(&theirs, &inside).unwrap();
    // Twice, as by two attempts.
    rustix::mount::mount_bind(&theirs, &inside).unwrap();
    let entry = Entry::Folder { path: ours.clone() };
    entry.undo().unwrap();
    entry.undo().unwrap();
    assert!(!ours.exists() && theirs.join("precious").exists());
}

#[test]
fn a_group_goes_with_the_groups_inside() {
    if !is_root() {
        return;
    }
    let Some(tree) = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"]
        .map(Path::new)
        .into_iter()
        .find(|tree| tree.join("cgroup.procs").exists())
    else {
        testing::skipped("no control groups; mount -t cgroup2 none /sys/fs/cgroup");
        return;
    };
    let path = tree.join(Tag::fresh().name("outer").unwrap());
    std::fs::create_dir_all(path.join("inner/innermost")).unwrap();
    let mut process = Command::new("sleep").arg("60").spawn().unwrap();
    let members = path.join("inner/cgroup.procs");
    std::fs::write(members, process.id().to_string()).unwrap();
    Entry::Cgroup { path: path.clone() }.undo().unwrap();
    assert!(!path.exists());
    assert!(!process.wait().unwrap().success());
}

#[test]
fn a_process_that_only_has_the_number_is_spared() {
    if !is_root() {
        return;
    }
    let mut process = Command::new("sleep").arg("60").spawn().unwrap();
    let pid = process.id().cast_signed();
    Entry::Process { pid, started: 1 }.undo().unwrap();
    assert!(runs(&pid.to_string()));
    Entry::process(pid).unwrap().undo().unwrap();
    assert!(!process.wait().unwrap().success());
}

#[test]
fn the_last_clone_of_a_journal_undoes_what_was_kept() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = folder.path().join("lockgate-scratch");
    let journal = Journal::open_in(folder.path()).unwrap();
    let record = made_folder(&journal, &scratch);
    std::fs::write(scratch.join("file"), "text").unwrap();
    // As by a panic that never runs the record's end.
    std::mem::forget(record);
    assert_eq!(journal.entries().len(), 1);
    drop(journal);
    // The forgotten record is a clone, too: only the sweep is left.
    assert!(scratch.exists());

    let journal = Journal::open_in(folder.path()).unwrap();
    let other = folder.path().join("lockgate-other");
    made_folder(&journal, &other).forget();
    assert!(other.exists() && journal.entries().is_empty());
}

fn made_folder(journal: &Journal, path: &Path) -> Record {
    let entry = Entry::Folder {
        path: path.to_owned(),
    };
    let record = journal.record(entry).unwrap();
    std::fs::create_dir(path).unwrap();
    record
}

#[test]
fn a_folder_that_others_may_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    for opened in [
        Journal::open_in(folder.path()).map(drop),
        sweep_folder(folder.path()).map(drop),
    ] {
        let error = opened.unwrap_err();
        let is_foreign = matches!(error, JournalError::Foreign { mode: 0o777, .. });
        assert!(is_foreign, "{error}");
    }
    let swept = sweep_folder(Path::new("/nowhere/lockgate")).unwrap();
    assert!(swept.undone.is_empty());
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Make,
    Undo(usize),
    Forget(usize),
    Drop(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Make),
        1 => any::<usize>().prop_map(Step::Undo),
        1 => any::<usize>().prop_map(Step::Forget),
        1 => any::<usize>().prop_map(Step::Drop),
    ];
    prop::collection::vec(step, 0..40)
}

proptest! {
    /// The journal always holds what was made and not struck out, and a sweep of a
    /// copy of it, as after a crash, undoes exactly that.
    #[test]
    fn a_journal_says_what_is_left(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open_in(folder.path()).unwrap();
        let mut live = vec![];
        let mut forgotten = 0;
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Make => {
                    let path = folder.path().join(format!("lockgate-{number}"));
                    live.push((made_folder(&journal, &path), path));
                }
                Step::Undo(_) | Step::Forget(_) | Step::Drop(_) if live.is_empty() => {}
                Step::Undo(which) => {
                    let (record, path) = live.swap_remove(which % live.len());
                    record.undo().unwrap();
                    record.undo().unwrap();
                    prop_assert!(!path.exists());
                }
                Step::Forget(which) => {
                    let (record, path) = live.swap_remove(which % live.len());
                    record.forget();
                    prop_assert!(path.exists());
                    forgotten += 1;
                }
                Step::Drop(which) => drop(live.swap_remove(which % live.len())),
            }
        }
        prop_assert_eq!(journal.entries().len(), live.len());
        let dead = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let file = file.unwrap().path();
            if file.is_file() {
                std::fs::copy(&file, dead.path().join(file.file_name().unwrap())).unwrap();
            }
        }
        let swept = sweep_folder(dead.path()).unwrap();
        prop_assert!(swept.failed.is_empty());
        prop_assert_eq!(swept.undone.len(), live.len());
        prop_assert!(live.iter().all(|(_, path)| !path.exists()));
        drop(live);
        drop(journal);
        prop_assert_eq!(journals(folder.path()), forgotten);
    }
}
