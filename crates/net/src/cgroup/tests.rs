use super::*;
use std::sync::mpsc;

use testing::Again;

use crate::journal::{Entry, sweep_folder};

#[test]
fn both_versions_tell_of_throttling() {
    let one = "nr_periods 7\nnr_throttled 3\nthrottled_time 5000\n";
    let two = "usage_usec 9\nnr_periods 7\nnr_throttled 3\nthrottled_usec 5\n";
    let expected = Throttling {
        periods: 7,
        throttled: 3,
        throttled_ns: 5000,
    };
    assert_eq!((throttling(one), throttling(two)), (expected, expected));
    assert_eq!(throttling("nonsense"), Throttling::default());
}

fn own() -> i32 {
    std::process::id().cast_signed()
}

fn fake(mount: &Path, version: Version) -> Hierarchy {
    Hierarchy {
        mount: mount.to_owned(),
        // This process is in no group below: its home is the mount itself.
        root: "/lockgate-elsewhere".into(),
        version,
    }
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn version_two_gets_a_group_of_threads_where_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open_in(folder.path()).unwrap();
    let made = |name: &str, limits: &Limits| {
        let trees = vec![(fake(folder.path(), Version::Two), limits.controllers())];
        Cgroup::create_in(&journal, name, limits, trees).unwrap()
    };
    let time = Limits {
        cpus: Some(0.5),
        ..Limits::default()
    };
    let mut group = made("lockgate-time", &time);
    let path = folder.path().join("lockgate-time");
    assert_eq!(text(&path.join("cgroup.type")), "threaded");
    assert_eq!(text(&path.join("cpu.max")), "5000 10000");
    group.add_thread(own()).unwrap();
    assert_eq!(text(&path.join("cgroup.threads")), own().to_string());
    assert_eq!(group.members().unwrap(), [own()]);
    drop(group);
    let back = text(&folder.path().join("cgroup.threads"));
    assert_eq!(back, own().to_string(), "moved back alone");

    let memory = Limits {
        memory_bytes: Some(1 << 20),
        ..time
    };
    let _group = made("lockgate-memory", &memory);
    let path = folder.path().join("lockgate-memory");
    assert_eq!(
        text(&path.join("cgroup.type")),
        "",
        "threads have no memory"
    );
}

/// The tree of version 2 that this host has, whatever its controllers.
fn version_two() -> Option<Hierarchy> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mount = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mount = before.split(' ').nth(4)?;
        after.starts_with("cgroup2 ").then(|| mount.to_owned())
    });
    if mount.is_none() || !rustix::process::geteuid().is_root() {
        testing::skipped("takes root and 'mount -t cgroup2 none /sys/fs/cgroup/unified'");
        return None;
    }
    Some(Hierarchy {
        mount: mount?.into(),
        root: "/".into(),
        version: Version::Two,
    })
}

/// A group without limits, of the type that these controllers allow.
fn real(tree: &Hierarchy, journal: &Journal, controller: Controller) -> Cgroup {
    let name = crate::Tag::fresh().name("two").unwrap();
    let trees = vec![(tree.clone(), vec![controller])];
    Cgroup::create_in(journal, &name, &Limits::default(), trees).unwrap()
}

#[test]
fn version_two_takes_single_threads_and_gives_them_back() {
    let Some(tree) = version_two() else { return };
    let home = tree.home_of(Controller::Cpu, own()).unwrap();
    if home != tree.mount {
        return testing::skipped("not in the root group; start the tests there");
    }
    let journal = Journal::open().unwrap();
    let (stop, wait) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let _ = tell.send(rustix::thread::gettid().as_raw_nonzero().get());
        let _ = wait.recv();
    });
    let number = told.recv().unwrap();
    let at = |task| tree.home_of(Controller::Cpu, task).unwrap();

    let mut group = real(&tree, &journal, Controller::Processes);
    let path = tree.mount.join(group.name());
    group.add_thread(number).unwrap();
    assert_eq!((at(number), at(own())), (path.clone(), home.clone()));
    assert_eq!(group.members().unwrap(), [own()]);
    // As a sweep would: the thread goes, the process is not killed.
    crate::journal::Entry::Cgroup { path: path.clone() }
        .undo()
        .unwrap();
    assert_eq!((at(number), at(own())), (home.clone(), home.clone()));
    drop(group);

    let mut group = real(&tree, &journal, Controller::Memory);
    let error = group.add_thread(number).unwrap_err();
    assert!(matches!(error, CgroupError::SingleThread { .. }), "{error}");
    assert!(error.to_string().contains("cgroup.procs"), "{error}");
    drop(group);
    drop(stop);
    thread.join().unwrap();
    assert_eq!(journal.entries(), []);
}

/// A group in the role of version 2's root, with a controller that may be switched on
/// for the groups below.
struct Root {
    tree: Hierarchy,
    controller: String,
    above: PathBuf,
}

impl Root {
    fn make() -> Option<Self> {
        let mut tree = version_two()?;
        let above = tree.mount.join("cgroup.subtree_control");
        let (on, there) = (text(&above), text(&tree.mount.join("cgroup.controllers")));
        let mut off = there.split_whitespace().filter(|name| !on.contains(name));
        let Some(controller) = off.next().map(str::to_owned) else {
            testing::skipped("version 2 has no controller that is off; boot with one more");
            return None;
        };
        write(&above, &format!("+{controller}")).unwrap();
        tree.mount = tree.mount.join(format!("root-{}", crate::Tag::fresh()));
        std::fs::create_dir(&tree.mount).unwrap();
        Some(Self {
            tree,
            controller,
            above,
        })
    }

    fn file(&self) -> PathBuf {
        self.tree.mount.join("cgroup.subtree_control")
    }

    fn on(&self) -> String {
        text(&self.file()).trim_end().to_owned()
    }

    /// A group with the controller, as [`Cgroup::create`] makes it.
    fn group(&self, journal: &Journal) -> Cgroup {
        let mut records = vec![];
        let _turn = controllers::turn().unwrap();
        let names = [self.controller.clone()];
        controllers::enable(journal, &self.tree, &names, &mut records).unwrap();
        let mut group = real(&self.tree, journal, Controller::Memory);
        group.controllers = records;
        group
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        std::fs::remove_dir(&self.tree.mount).unwrap();
        write(&self.above, &format!("-{}", self.controller)).unwrap();
    }
}

const SWITCHER: &str = "LOCKGATE_TEST_SWITCHER";

/// Not a test: makes a group with a controller, and is killed.
#[test]
fn switcher() {
    let Ok(arguments) = std::env::var(SWITCHER) else {
        return;
    };
    let [folder, mount, controller] = arguments.split(' ').collect::<Vec<_>>()[..] else {
        panic!("folder, mount and controller, not {arguments}");
    };
    let mut tree = version_two().unwrap();
    tree.mount = mount.into();
    let above = tree.mount.join("cgroup.controllers");
    let root = std::mem::ManuallyDrop::new(Root {
        tree,
        controller: controller.to_owned(),
        above,
    });
    let _group = root.group(&Journal::open_in(Path::new(folder)).unwrap());
    println!("\nswitched");
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
fn controllers_are_switched_off_by_the_last_who_needs_them() {
    let Some(root) = Root::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    let open = || Journal::open_in(folder.path()).unwrap();
    let (one, other) = (open(), open());
    let (first, second) = (root.group(&one), root.group(&one));
    let third = root.group(&other);
    assert_eq!(root.on(), root.controller);
    drop(first);
    drop((second, one));
    assert_eq!(root.on(), root.controller, "another still needs it");
    drop(third);
    assert_eq!((root.on(), other.entries()), (String::new(), vec![]));

    // Another program had it on.
    write(&root.file(), &format!("+{}", root.controller)).unwrap();
    drop(root.group(&other));
    assert_eq!(root.on(), root.controller);
    write(&root.file(), &format!("-{}", root.controller)).unwrap();

    let (journals, mount) = (folder.path().display(), root.tree.mount.display());
    let arguments = format!("{journals} {mount} {}", root.controller);
    let mut switcher = Again::start("cgroup::tests::switcher", SWITCHER, arguments);
    switcher.says("switched");
    switcher.kill();
    assert_eq!(root.on(), root.controller);
    let swept = sweep_folder(folder.path()).unwrap();
    assert!(swept.failed.is_empty(), "{:?}", swept.failed);
    assert_eq!(root.on(), "");

    // A group of another program uses it.
    let group = root.group(&other);
    let theirs = root.tree.mount.join("theirs");
    std::fs::create_dir(&theirs).unwrap();
    let inner = theirs.join("cgroup.subtree_control");
    write(&inner, &format!("+{}", root.controller)).unwrap();
    drop(group);
    assert_eq!(root.on(), root.controller);
    let entries = other.entries();
    let [Entry::Kept { said }] = &entries[..] else {
        panic!("it is not said: {entries:?}");
    };
    assert!(
        said.contains(&format!("{} stays 'on'", root.controller)),
        "{said}"
    );
    drop(other);
    let swept = sweep_folder(folder.path()).unwrap();
    assert_eq!(swept.failed.len(), 1, "it is said by the next start");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "once");
    std::fs::remove_dir(theirs).unwrap();
    write(&root.file(), &format!("-{}", root.controller)).unwrap();
}
