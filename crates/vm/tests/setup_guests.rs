//! `scripts/setup-guests.sh` where it needs no network: what it refuses, what it
//! does without a mirror, and that this crate reads the manifest it writes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lockgate_vm::{Cache, CacheError};
use tempfile::TempDir;

/// How the script ends when no mirror can be reached.
const MIRROR_UNREACHABLE: i32 = 75;

const TOOLS: [&str; 6] = ["dirname", "awk", "flock", "sed", "sha256sum", "make"];

/// A copy of the scripts, without the module's sources beside them, and a folder
/// for a cache.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Result<Self, String> {
        if let Some(absent) = TOOLS.iter().find(|tool| !is_on_path(tool)) {
            return Err(format!("no {absent} on the path; install it"));
        }
        let folder = tempfile::tempdir().unwrap();
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
        let copy = folder.path().join("scripts");
        fs::create_dir_all(copy.join("setup-guests")).unwrap();
        let mut files = vec![PathBuf::from("setup-guests.sh")];
        for file in fs::read_dir(scripts.join("setup-guests")).unwrap() {
            files.push(Path::new("setup-guests").join(file.unwrap().file_name()));
        }
        for file in files {
            fs::copy(scripts.join(&file), copy.join(&file)).unwrap();
        }
        Ok(Self { folder })
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("guests")
    }

    fn run(&self, settings: &[(&str, &str)]) -> Output {
        self.run_with(&[], settings)
    }

    /// Runs the script with a mirror that is not there.
    fn run_with(&self, arguments: &[&str], settings: &[(&str, &str)]) -> Output {
        Command::new("sh")
            .arg(self.folder.path().join("scripts/setup-guests.sh"))
            .args(arguments)
            .env_remove("GUESTS")
            .env_remove("REFRESH")
            .env_remove("NO_INSTALL")
            .env("LOCKGATE_GUESTS", self.cache())
            .env("LOCKGATE_DEBIAN_MIRROR", "file:/nonexistent/debian")
            .envs(settings.iter().copied())
            .output()
            .unwrap()
    }

    fn fill(&self) {
        let release = "6.1.0-56-amd64";
        let headers = format!("headers/{release}/src/linux-headers-{release}");
        for folder in [
            format!("kernels/{release}/modules"),
            headers.clone(),
            "busybox".into(),
            ".parts".into(),
        ] {
            fs::create_dir_all(self.cache().join(folder)).unwrap();
        }
        let kernel = format!("kernels/{release}");
        for file in [
            format!("{kernel}/vmlinuz"),
            format!("{kernel}/config"),
            "busybox/busybox".into(),
            format!("{headers}/Makefile"),
        ] {
            fs::write(self.cache().join(file), "x").unwrap();
        }
        self.describe("busybox", "folder busybox\nfile busybox/busybox\nbusybox 1:1.35.0-4\npackage busybox-static 1:1.35.0-4 00ff\n");
        self.describe(
            "kernel-bookworm",
            &format!("folder {kernel}\nfolder headers/{release}\nfile {kernel}/vmlinuz\nkernel {release} 6.1.192-2\npackage linux-image-{release} 6.1.192-2 11ee\n"),
        );
        self.describe("mirror", "mirror http://deb.debian.org/debian\n");
    }

    fn describe(&self, part: &str, text: &str) {
        fs::write(self.cache().join(".parts").join(part), text).unwrap();
    }
}

fn is_on_path(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}

fn place() -> Option<Place> {
    Place::new()
        .inspect_err(|reason| testing::skipped(reason))
        .ok()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn ended_with(code: i32, part: &str, output: &Output) {
    let said = said(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(part), "{part} is not in: {said}");
}

#[test]
fn what_is_there_is_written_to_a_manifest_that_opens() {
    let Some(place) = place() else { return };
    place.fill();
    let ended = place.run(&[]);
    assert!(ended.status.success(), "{}", said(&ended));
    let cache = Cache::open(&place.cache()).unwrap();
    let kernel = cache.kernel(None).unwrap();
    assert_eq!(
        (&*kernel.release, &*kernel.version),
        ("6.1.0-56-amd64", "6.1.192-2")
    );
    assert!(kernel.headers.as_ref().unwrap().join("Makefile").is_file());
    assert_eq!(kernel.kspeed, None);
    assert_eq!(cache.busybox_version(), "1:1.35.0-4");
    let manifest = fs::read(place.cache().join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["mirror"], "http://deb.debian.org/debian");
    let name = |number: usize| &manifest["packages"][number]["name"];
    assert_eq!(name(0), "busybox-static");
    assert_eq!(name(1), "linux-image-6.1.0-56-amd64");
    assert!(cache.qemus().is_empty());
}

#[test]
fn a_second_run_changes_nothing() {
    let Some(place) = place() else { return };
    place.fill();
    let manifest = place.cache().join("manifest.json");
    assert!(place.run(&[]).status.success());
    let first = fs::metadata(&manifest).unwrap().modified().unwrap();
    assert!(place.run(&[]).status.success());
    assert_eq!(fs::metadata(&manifest).unwrap().modified().unwrap(), first);
    assert!(!place.cache().join(".setup").exists());
}

#[test]
fn folders_of_no_part_are_removed() {
    let Some(place) = place() else { return };
    place.fill();
    let half = place.cache().join("kernels/6.1.0-55-amd64");
    fs::create_dir_all(&half).unwrap();
    assert!(place.run(&[]).status.success());
    assert!(!half.exists());
    assert!(place.cache().join("kernels/6.1.0-56-amd64").exists());
}

#[test]
fn without_a_mirror_it_says_how_to_go_on_and_leaves_nothing_half() {
    let Some(place) = place() else { return };
    if !is_on_path("apt-get")
        || !Path::new("/usr/share/keyrings/debian-archive-keyring.gpg").exists()
    {
        let ended = place.run(&[]);
        assert_eq!(ended.status.code(), Some(1));
        testing::skipped(format!(
            "this host has no apt, or not Debian's keys; the script says: {}",
            said(&ended)
        ));
        return;
    }
    let ended = place.run(&[]);
    ended_with(MIRROR_UNREACHABLE, "LOCKGATE_DEBIAN_MIRROR=", &ended);
    testing::assert_matches!(Cache::open(&place.cache()), Err(CacheError::Absent { .. }));

    // What was there before is still there, and still opens.
    place.fill();
    assert!(place.run(&[]).status.success());
    ended_with(MIRROR_UNREACHABLE, "", &place.run(&[("GUESTS", "all")]));
    assert_eq!(Cache::open(&place.cache()).unwrap().kernels().len(), 1);
}

/// A run and the tests can do without: they go on, and nothing is filled for who said so.
#[test]
fn who_can_do_without_goes_on() {
    let Some(place) = place() else { return };
    let ended = place.run_with(&["--optional"], &[]);
    ended_with(0, "goes on without", &ended);
    ended_with(0, "LOCKGATE_DEBIAN_MIRROR=", &ended);
    let ended = place.run_with(&["--optional"], &[("GUESTS", "some")]);
    ended_with(0, "GUESTS=some", &ended);
    fs::remove_dir_all(place.cache()).unwrap();
    let ended = place.run_with(&["--optional"], &[("NO_INSTALL", "1")]);
    ended_with(0, "NO_INSTALL=1", &ended);
    assert!(!place.cache().exists());
    place.fill();
    let ended = place.run_with(&["--optional"], &[]);
    ended_with(0, "has what is wanted", &ended);
    Cache::open(&place.cache()).unwrap();
}

#[test]
fn root_fills_no_cache_of_another_user() {
    if !testing::is_root() {
        return;
    }
    let Some(place) = place() else { return };
    place.fill();
    let theirs = place.folder.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    std::os::unix::fs::symlink(place.cache(), theirs.join("link")).unwrap();
    std::os::unix::fs::chown(&theirs, Some(12_345), None).unwrap();
    for cache in [&theirs, &theirs.join("a/b"), &theirs.join("link")] {
        let ended = place.run(&[("LOCKGATE_GUESTS", cache.to_str().unwrap())]);
        let named = format!("{} belongs to uid 12345", theirs.display());
        ended_with(1, &named, &ended);
    }
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 1);
    fs::set_permissions(place.cache(), fs::Permissions::from_mode(0o777)).unwrap();
    let ended = place.run(&[]);
    assert!(said(&ended).contains("chmod o-w"), "{}", said(&ended));
}

/// As `Cache::locate` has it: else the program would look elsewhere.
#[test]
fn a_relative_cache_home_does_not_count() {
    let Some(place) = place() else { return };
    let ended = place.run(&[
        ("LOCKGATE_GUESTS", ""),
        ("XDG_CACHE_HOME", "relative"),
        ("HOME", "/proc/nowhere"),
    ]);
    ended_with(1, "/proc/nowhere/.cache/lockgate/guests", &ended);
}

/// Nothing is fetched for it, and no guest's part is touched.
#[test]
fn without_headers_no_module_is_built_for_this_host() {
    let Some(place) = place() else { return };
    let ended = place.run(&[("GUESTS", "host"), ("LOCKGATE_HEADERS", "/nowhere")]);
    ended_with(1, "apt-get install linux-headers-", &ended);
    assert!(!place.cache().join("host").exists());
}

#[test]
fn settings_it_cannot_take_are_named() {
    let Some(place) = place() else { return };
    for (name, value, named) in [
        ("GUESTS", "some", "GUESTS=some"),
        ("LOCKGATE_GUESTS", "/tmp/a b", "/tmp/a b"),
        (
            "LOCKGATE_GUESTS",
            "/proc/nowhere/guests",
            "/proc/nowhere/guests",
        ),
        ("LOCKGATE_DEBIAN_MIRROR", "ftp://x/debian", "ftp://x/debian"),
        (
            "LOCKGATE_DEBIAN_MIRROR",
            "http://x\"; y/debian",
            "is not an address",
        ),
    ] {
        if name == "LOCKGATE_DEBIAN_MIRROR" && !is_on_path("apt-get") {
            testing::skipped(format!("{name}={value}: no apt-get here"));
            continue;
        }
        ended_with(1, named, &place.run(&[(name, value)]));
    }
}
