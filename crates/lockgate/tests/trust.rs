//! As root, what another user may have put there is neither executed, opened nor
//! trusted, and the probe says so. Each test first sees that the same is used where
//! it is root's own.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use trial::{Fact, Probe, State};

use crate::common::Desk;

const OTHER: u32 = 65_534;
const NOTHING_NAMED: [(&str, &str); 3] = [
    ("LOCKGATE_QEMU", ""),
    ("LOCKGATE_GUESTS", "/nowhere/guests"),
    ("LD_LIBRARY_PATH", ""),
];

/// A folder on the desk, and a mark that what is in it leaves when it runs.
struct Place {
    desk: Desk,
    folder: PathBuf,
    mark: PathBuf,
}

impl Place {
    /// None without root.
    fn new() -> Option<Self> {
        let desk = testing::is_root().then(Desk::new)?;
        let (folder, mark) = (desk.path().join("theirs"), desk.path().join("mark"));
        fs::create_dir(&folder).unwrap();
        Some(Self { desk, folder, mark })
    }

    fn probe(&self, environment: &[(&str, &str)]) -> Probe {
        let environment = [&NOTHING_NAMED, environment].concat();
        let ended = self.desk.lockgate_with(&["probe", "--json"], &environment);
        serde_json::from_str(&ended.ok().stdout).unwrap()
    }

    /// One that leaves the mark when it is opened; none without a compiler.
    fn library(&self, name: &str) -> Option<PathBuf> {
        let library = self.folder.join(name);
        let source = format!(
            "#include <fcntl.h>\n__attribute__((constructor)) static void mark(void) {{ open(\"{}\", O_CREAT | O_WRONLY, 0600); }}\n",
            self.mark.display()
        );
        let source = self.desk.write("library.c", &source);
        let built = std::process::Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .status();
        if !built.is_ok_and(|built| built.success()) {
            testing::skipped("no C compiler here; apt-get install gcc libc6-dev");
            return None;
        }
        Some(library)
    }

    fn has_run(&self) -> bool {
        fs::remove_file(&self.mark).is_ok()
    }

    fn give_away(&self, path: &Path) {
        chown(path, Some(OTHER), Some(OTHER)).unwrap();
    }
}

#[track_caller]
fn fact<'p>(probe: &'p Probe, key: &str) -> &'p Fact {
    probe.fact(key).unwrap_or_else(|| panic!("no {key}"))
}

/// Degraded, because it belongs to the other user, with what to do.
#[track_caller]
fn is_refused(probe: &Probe, key: &str) {
    let fact = fact(probe, key);
    assert_eq!(fact.state, State::Degraded, "{fact:?}");
    assert!(fact.text.contains("belongs to uid 65534"), "{fact:?}");
    assert!(
        fact.remedy.contains("run as uid 65534, or `chown"),
        "{fact:?}"
    );
}

#[test]
fn a_qemu_of_another_user_is_not_executed_by_the_probe() {
    let Some(place) = Place::new() else { return };
    let qemu = place.folder.join("qemu-system-x86_64");
    let script = format!(
        "#!/bin/sh\n: >{}\necho 'QEMU emulator version 9.9.9'\n",
        place.mark.display()
    );
    fs::write(&qemu, script).unwrap();
    fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
    let path = [("PATH", place.folder.to_str().unwrap())];
    assert_eq!(fact(&place.probe(&path), "guests.qemu").text, "9.9.9");
    assert!(place.has_run());
    for given in [&qemu, &place.folder] {
        place.give_away(given);
        let probe = place.probe(&path);
        assert!(!place.has_run(), "{}", given.display());
        is_refused(&probe, "guests.qemu");
        let named = [("LOCKGATE_QEMU", qemu.to_str().unwrap())];
        let listed = place.desk.lockgate_with(&["vm", "list"], &named).stdout;
        assert!(
            listed.contains("no default") || listed.contains("none:"),
            "{listed}"
        );
        assert!(!place.has_run(), "named");
        chown(given, Some(0), Some(0)).unwrap();
    }
}

#[test]
fn a_library_of_another_user_is_not_opened() {
    if !cfg!(target_arch = "x86_64") {
        return testing::skipped("Intel's library is for x86-64 only");
    }
    let Some(place) = Place::new() else { return };
    let Some(library) = place.library("libIPSec_MB.so.2") else {
        return;
    };
    let given = [("LD_LIBRARY_PATH", place.folder.to_str().unwrap())];
    place.probe(&given);
    assert!(place.has_run(), "root's own is opened");
    for other in [&library, &place.folder] {
        place.give_away(other);
        let probe = place.probe(&given);
        assert!(!place.has_run(), "{}", other.display());
        // Past the file, an older one of the system's may be found.
        if *other == place.folder {
            is_refused(&probe, "crypto.backend.ipsec_mb");
        }
        chown(other, Some(0), Some(0)).unwrap();
    }
}

/// The program is root's, and looks for its libraries in a folder of another user.
#[test]
fn a_child_is_not_told_of_folders_of_another_user() {
    let Some(place) = Place::new() else { return };
    if place.library("libcrypto.so.3").is_none() {
        return;
    }
    let state = |list: &str| {
        let probe = place.probe(&[("LD_LIBRARY_PATH", list)]);
        fact(&probe, "library.openssl").state
    };
    if state("") != State::Ok {
        return testing::skipped("no openssl here; apt-get install openssl");
    }
    let given = place.folder.to_str().unwrap();
    if state(given) == State::Ok {
        return testing::skipped("this host's openssl needs no libcrypto.so.3");
    }
    place.give_away(&place.folder);
    assert_eq!(state(given), State::Ok, "it has the system's library");
}

/// As where `sudo` keeps the caller's `HOME`.
#[test]
fn caches_in_the_home_of_another_user_are_neither_read_nor_written() {
    let Some(place) = Place::new() else { return };
    let cache = place.folder.join(".cache/lockgate");
    fs::create_dir_all(cache.join("guests")).unwrap();
    fs::write(cache.join("guests/manifest.json"), "{").unwrap();
    let home = [
        ("HOME", place.folder.to_str().unwrap()),
        ("LOCKGATE_CACHE", ""),
        ("XDG_CACHE_HOME", ""),
        ("LOCKGATE_GUESTS", ""),
    ];
    let kept = || fs::read_dir(&cache).unwrap().count() - 1;
    let probe = place.probe(&home);
    assert!(fact(&probe, "guests.cache").text.contains("damaged"));
    assert_eq!(kept(), 1, "the calibration");
    let calibration = fact(&place.probe(&home), "crypto.calibration").clone();
    assert_eq!(calibration.state, State::Ok, "{calibration:?}");
    assert!(calibration.text.contains(", from "), "{calibration:?}");
    place.give_away(&place.folder);
    let probe = place.probe(&home);
    is_refused(&probe, "guests.cache");
    is_refused(&probe, "crypto.calibration");
    assert_eq!(kept(), 1);
    fs::remove_dir_all(&cache).unwrap();
    is_refused(&place.probe(&home), "crypto.calibration");
    assert!(!cache.exists(), "nothing is made in another's home");
}
