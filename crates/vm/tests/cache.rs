//! Opening a guest cache: whole ones, damaged ones, hostile ones.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::Path;

use lockgate_vm::{Cache, CacheError};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use serde_json::{Value, json};
use tempfile::TempDir;

fn manifest() -> Value {
    json!({
        "schema": 1,
        "mirror": "http://deb.debian.org/debian",
        "packages": [{"name": "busybox-static", "version": "1:1.35.0-4", "sha256": "00ff"}],
        "kernels": [kernel("6.1.0-56-amd64"), kernel("6.12.95+deb12-amd64")],
        "busybox": "busybox/busybox",
        "busybox_version": "1:1.35.0-4",
        "qemus": [{"program": "qemus/10.0.2/qemu-system-x86_64", "version": "10.0.2"}]
    })
}

fn kernel(release: &str) -> Value {
    json!({
        "release": release,
        "version": "6.1.192-2",
        "image": format!("kernels/{release}/vmlinuz"),
        "modules": format!("kernels/{release}/modules"),
        "config": format!("kernels/{release}/config"),
        "headers": format!("headers/{release}"),
        "kspeed": null
    })
}

fn whole_cache() -> TempDir {
    let cache = tempfile::tempdir().unwrap();
    for release in ["6.1.0-56-amd64", "6.12.95+deb12-amd64"] {
        let kernel = cache.path().join("kernels").join(release);
        fs::create_dir_all(kernel.join("modules")).unwrap();
        fs::write(kernel.join("vmlinuz"), "kernel").unwrap();
        fs::write(kernel.join("config"), "CONFIG_X86=y").unwrap();
        fs::create_dir_all(cache.path().join("headers").join(release)).unwrap();
    }
    for file in ["busybox/busybox", "qemus/10.0.2/qemu-system-x86_64"] {
        let file = cache.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "program").unwrap();
    }
    write(&cache, &manifest());
    cache
}

fn write(cache: &TempDir, manifest: &Value) {
    fs::write(cache.path().join("manifest.json"), manifest.to_string()).unwrap();
}

/// The error, which says what to do.
fn refusal(folder: &Path) -> CacheError {
    let error = Cache::open(folder).unwrap_err();
    has_remedy(&error);
    error
}

/// The error of a cache whose manifest is changed so.
fn refusal_of(change: impl FnOnce(&mut Value)) -> CacheError {
    let cache = whole_cache();
    let mut changed = manifest();
    change(&mut changed);
    write(&cache, &changed);
    refusal(cache.path())
}

fn has_remedy(error: &CacheError) {
    let text = error.to_string();
    assert!(
        text.contains("make setup-guests") || text.contains("LOCKGATE_GUESTS"),
        "{text}"
    );
}

#[test]
fn a_whole_cache_opens_with_absolute_paths() {
    let folder = whole_cache();
    let cache = Cache::open(folder.path()).unwrap();
    let first = cache.kernel(None).unwrap();
    assert_eq!(first.release, "6.1.0-56-amd64");
    assert!(first.image.is_absolute() && first.image.is_file());
    assert!(first.modules.is_dir() && first.headers.as_ref().unwrap().is_dir());
    assert_eq!(first.kspeed, None);
    assert!(cache.busybox().starts_with(cache.folder()));
    assert_eq!(cache.busybox_version(), "1:1.35.0-4");
    assert_eq!(cache.qemus()[0].version, "10.0.2");
}

#[test]
fn a_kernel_is_found_by_its_release_or_its_beginning() {
    let folder = whole_cache();
    let cache = Cache::open(folder.path()).unwrap();
    let release = |wanted| cache.kernel(Some(wanted)).map(|kernel| &*kernel.release);
    assert_eq!(
        release("6.12.95+deb12-amd64").unwrap(),
        "6.12.95+deb12-amd64"
    );
    assert_eq!(release("6.12").unwrap(), "6.12.95+deb12-amd64");
    assert_eq!(release("6.1").unwrap(), "6.1.0-56-amd64");
    for absent in ["", "6.", "6.13", "6.1.0-5"] {
        let error = release(absent).unwrap_err();
        testing::assert_matches!(error, CacheError::NoSuchKernel { .. }, "{absent:?}");
        let there = "6.1.0-56-amd64, 6.12.95+deb12-amd64";
        assert!(error.to_string().contains(there), "{error}");
        has_remedy(&error);
    }
}

#[test]
fn without_a_cache_the_error_names_the_remedy() {
    let empty = tempfile::tempdir().unwrap();
    let file = empty.path().join("file");
    fs::write(&file, "").unwrap();
    for folder in [empty.path(), &empty.path().join("nowhere"), &file] {
        let error = refusal(folder);
        testing::assert_matches!(error, CacheError::Absent { .. });
        assert!(error.to_string().contains(&*folder.to_string_lossy()));
    }
}

#[test]
fn a_missing_file_is_named() {
    for file in [
        "kernels/6.1.0-56-amd64/vmlinuz",
        "kernels/6.12.95+deb12-amd64/config",
        "busybox/busybox",
        "qemus/10.0.2/qemu-system-x86_64",
    ] {
        let cache = whole_cache();
        fs::remove_file(cache.path().join(file)).unwrap();
        let error = refusal(cache.path());
        testing::assert_matches!(error, CacheError::Missing { path } if path.ends_with(file));
    }
}

#[test]
fn paths_out_of_the_cache_are_refused() {
    for path in [
        "/etc/passwd",
        "../passwd",
        "busybox/../../x",
        "./busybox/busybox",
        "",
    ] {
        for field in [
            "/kernels/1/image",
            "/kernels/1/modules",
            "/kernels/1/config",
            "/kernels/1/headers",
            "/kernels/1/kspeed",
            "/busybox",
            "/qemus/0/program",
        ] {
            let error = refusal_of(|m| *m.pointer_mut(field).unwrap() = json!(path));
            testing::assert_matches!(error, CacheError::Outside { .. }, "{field} {path}");
        }
    }
}

#[test]
fn links_out_of_the_cache_are_refused_and_links_within_are_followed() {
    let outside = tempfile::NamedTempFile::new().unwrap();
    let cache = whole_cache();
    let busybox = cache.path().join("busybox/busybox");
    fs::remove_file(&busybox).unwrap();
    symlink(outside.path(), &busybox).unwrap();
    let error = refusal(cache.path());
    testing::assert_matches!(error, CacheError::Outside { .. });

    fs::remove_file(&busybox).unwrap();
    symlink("../kernels/6.1.0-56-amd64/vmlinuz", &busybox).unwrap();
    let opened = Cache::open(cache.path()).unwrap();
    assert_eq!(opened.busybox(), opened.kernel(None).unwrap().image);
}

#[test]
fn the_cache_itself_may_be_a_link() {
    let cache = whole_cache();
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("guests");
    symlink(cache.path(), &link).unwrap();
    assert_eq!(
        Cache::open(&link).unwrap(),
        Cache::open(cache.path()).unwrap()
    );
}

/// Root trusts no cache that another user may have filled.
#[test]
fn a_cache_that_another_user_may_change_is_refused() {
    if !testing::is_root() {
        return;
    }
    let above = tempfile::tempdir().unwrap();
    let cache = whole_cache();
    let folder = above.path().join("guests");
    fs::rename(cache.path(), &folder).unwrap();
    let opened = Cache::open(&folder).unwrap();
    let kernel = &opened.kernels()[1];
    let manifest = folder.join("manifest.json");
    for part in [
        above.path(),
        &folder,
        &manifest,
        opened.busybox(),
        &opened.qemus()[0].program,
        &kernel.image,
        &kernel.modules,
        kernel.image.parent().unwrap(),
    ] {
        chown(part, Some(12_345), None).unwrap();
        let error = refusal(&folder);
        testing::assert_matches!(error, CacheError::Untrusted(_));
        let named = format!("{} belongs to uid 12345", part.display());
        assert!(error.to_string().contains(&named), "{error}");
        assert!(error.to_string().contains("LOCKGATE_GUESTS"), "{error}");
        chown(part, Some(0), None).unwrap();
    }
    let link = above.path().join("link");
    symlink("guests", &link).unwrap();
    assert_eq!(Cache::open(&link).unwrap(), opened);
    lchown(&link, Some(12_345), None).unwrap();
    testing::assert_matches!(Cache::open(&link), Err(CacheError::Untrusted(_)));
}

#[test]
fn another_schema_is_refused_even_if_the_rest_differs() {
    for changed in [json!({"schema": 2, "guests": []}), json!({"schema": 0})] {
        let error = refusal_of(|m| *m = changed);
        testing::assert_matches!(error, CacheError::Schema { known: 1, .. });
    }
}

#[test]
fn damaged_manifests_are_refused() {
    let cache = whole_cache();
    let whole = manifest().to_string();
    for length in [0, 1, whole.len() / 2, whole.len() - 1] {
        fs::write(cache.path().join("manifest.json"), &whole[..length]).unwrap();
        let error = refusal(cache.path());
        testing::assert_matches!(error, CacheError::Malformed { .. }, "{length}");
    }
    for field in manifest().as_object().unwrap().keys() {
        let error = refusal_of(|m| drop(m.as_object_mut().unwrap().remove(field)));
        testing::assert_matches!(error, CacheError::Malformed { .. }, "{field}");
    }
    let error = refusal_of(|m| m["surprise"] = json!(1));
    testing::assert_matches!(error, CacheError::Malformed { .. });
}

#[test]
fn a_huge_manifest_is_not_read() {
    let cache = whole_cache();
    let huge = fs::File::create(cache.path().join("manifest.json")).unwrap();
    huge.set_len(1 << 40).unwrap();
    let error = refusal(cache.path());
    testing::assert_matches!(error, CacheError::TooLarge { .. });
}

#[test]
fn releases_that_are_no_folder_name_are_refused() {
    for release in ["", "../6.1", "6.1/x", "6.1 x", "..", "x", &"6".repeat(65)] {
        let error = refusal_of(|m| m["kernels"][0]["release"] = json!(release));
        testing::assert_matches!(error, CacheError::Release { .. }, "{release:?}");
    }
}

#[test]
fn what_a_cache_cannot_be_without_is_named() {
    let error = refusal_of(|m| m["kernels"] = json!([]));
    testing::assert_matches!(error, CacheError::NoKernels { .. });
    let error = refusal_of(|m| m["busybox"] = json!("busybox"));
    testing::assert_matches!(error, CacheError::Missing { .. }, "a folder");
}

#[test]
fn an_unreadable_cache_says_so() {
    let cache = whole_cache();
    let manifest = cache.path().join("manifest.json");
    fs::set_permissions(&manifest, fs::Permissions::from_mode(0o0)).unwrap();
    // Root reads every file: by capabilities, which each thread has for itself.
    let error = std::thread::scope(|scope| {
        let reads_as_a_user = scope.spawn(|| {
            let none = CapabilitySet::empty();
            let sets = CapabilitySets {
                effective: none,
                permitted: none,
                inheritable: none,
            };
            set_capabilities(None, sets).unwrap();
            refusal(cache.path())
        });
        reads_as_a_user.join().unwrap()
    });
    testing::assert_matches!(error, CacheError::Unreadable { .. });
}

#[test]
fn the_cache_of_this_host_opens() {
    match Cache::open(&Cache::locate()) {
        Ok(cache) => assert!(cache.kernels().iter().all(|k| is_bzimage(&k.image))),
        Err(error @ CacheError::Absent { .. }) => testing::skipped(error),
        Err(error @ CacheError::Unreadable { .. }) => testing::skipped(error),
        Err(error) => panic!("{error}"),
    }
}

/// "HdrS" at 0x202: the x86 boot protocol, section 1.2 of its description.
fn is_bzimage(image: &Path) -> bool {
    fs::read(image).unwrap()[0x202..0x206] == *b"HdrS"
}
