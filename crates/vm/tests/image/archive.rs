//! Files and what the kernel's unpacker gets to see of them.

use lockgate_vm::image::{ArchiveError, GuestFile, IMAGE_BYTES_MAX, Image, ImageError};
use proptest::prelude::*;

use crate::image::support::{Kernel, entries, files, text};

fn refusal(image: Image) -> ArchiveError {
    match image.build() {
        Err(ImageError::Archive(error)) => error,
        other => panic!("{:?}", other.map(|bytes| bytes.len())),
    }
}

#[test]
fn what_every_guest_has() {
    let kernel = Kernel::new();
    let image = kernel.image().build().unwrap();
    let files = files(&image);
    assert_eq!(files["bin/busybox"].content, b"a shell");
    assert_eq!(files["bin/busybox"].mode, 0o100_755);
    assert_eq!(files["dev/console"].mode, 0o020_600);
    assert_eq!(files["dev/console"].device, (5, 1));
    assert_eq!(files["dev/null"].device, (1, 3));
    assert_eq!(files["init"].mode, 0o100_755);
    assert_eq!(files["bin/sh"].mode, 0o120_777);
    assert_eq!(files["bin/sh"].content, b"busybox");
    assert_eq!(files["tmp"].mode, 0o041_777);
    for mounted in ["proc", "sys", "dev", "run"] {
        assert_eq!(files[mounted].mode, 0o040_755, "{mounted}");
    }
    assert!(text(&image, "etc/lockgate/agent.sh").starts_with("#!/bin/busybox sh\n"));
}

#[test]
fn an_image_is_sorted_and_says_nothing_of_when_and_who() {
    let kernel = Kernel::new();
    let one = GuestFile::bytes("/z/one", 0o600, "1");
    let two = GuestFile::bytes("/a/two", 0o600, "2");
    let image = kernel.image().file(one.clone()).file(two.clone());
    let bytes = image.build().unwrap();
    let entries = entries(&bytes);
    assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
    for (name, entry) in &entries {
        assert_eq!((entry.mtime, entry.owner), (0, (0, 0)), "{name}");
    }
    let again = kernel.image().files([two, one]).build().unwrap();
    assert!(bytes == again, "the order of asking does not matter");
}

#[test]
fn folders_come_before_what_is_in_them() {
    let kernel = Kernel::new();
    let deep = GuestFile::bytes("/x/y/z/file", 0o600, "");
    let own_mode = GuestFile::folder("/x/y", 0o700);
    for image in [
        kernel.image().file(deep.clone()).file(own_mode.clone()),
        kernel.image().file(own_mode).file(deep),
    ] {
        let bytes = image.build().unwrap();
        let mut names = entries(&bytes);
        names.retain(|(name, _)| name.starts_with('x'));
        let modes: Vec<_> = names
            .iter()
            .map(|(name, entry)| (name.as_str(), entry.mode))
            .collect();
        let expected = [
            ("x", 0o040_755),
            ("x/y", 0o040_700),
            ("x/y/z", 0o040_755),
            ("x/y/z/file", 0o100_600),
        ];
        assert_eq!(modes, expected);
    }
}

#[test]
fn links_and_copies() {
    let kernel = Kernel::new();
    let host = kernel.path("host file");
    std::fs::write(&host, "from the host").unwrap();
    let image = kernel
        .image()
        .file(GuestFile::host("/opt/copy", 0o750, &host))
        .file(GuestFile::symlink("/opt/link", "../any where"))
        .build()
        .unwrap();
    let files = files(&image);
    assert_eq!(files["opt/copy"].content, b"from the host");
    assert_eq!(files["opt/copy"].mode, 0o100_750);
    assert_eq!(files["opt/link"].content, b"../any where");
}

#[test]
fn paths_that_are_none_are_refused() {
    let kernel = Kernel::new();
    let long = format!("/{}", "x".repeat(4095));
    for path in [
        "", "/", "relative", "/a//b", "/a/", "/a/./b", "/a/../b", "/a\0b", &long,
    ] {
        let error = refusal(kernel.image().file(GuestFile::bytes(path, 0o600, "")));
        testing::assert_matches!(error, ArchiveError::BadPath { .. }, "{path:?}");
    }
    let error = refusal(kernel.image().file(GuestFile::bytes("/x", 0o100_644, "")));
    testing::assert_matches!(error, ArchiveError::BadMode { .. });
}

#[test]
fn one_path_has_one_content() {
    let kernel = Kernel::new();
    let one = GuestFile::bytes("/x", 0o600, "1");
    let same = kernel.image().file(one.clone()).file(one.clone());
    assert_eq!(files(&same.build().unwrap())["x"].content, b"1");
    for other in [
        GuestFile::bytes("/x", 0o600, "2"),
        GuestFile::bytes("/x", 0o644, "1"),
        GuestFile::folder("/x", 0o700),
        GuestFile::symlink("/x", "1"),
    ] {
        let error = refusal(kernel.image().file(one.clone()).file(other));
        testing::assert_matches!(error, ArchiveError::Duplicate { .. });
    }
    let error = refusal(
        kernel
            .image()
            .file(GuestFile::bytes("/init", 0o755, "mine")),
    );
    assert!(error.to_string().contains("/init"), "{error}");
}

#[test]
fn nothing_lies_below_a_file() {
    let kernel = Kernel::new();
    let file = GuestFile::bytes("/a/b", 0o600, "");
    let below = GuestFile::bytes("/a/b/c", 0o600, "");
    let error = refusal(kernel.image().file(file.clone()).file(below.clone()));
    testing::assert_matches!(error, ArchiveError::BelowAFile { .. });
    let error = refusal(kernel.image().file(below).file(file));
    testing::assert_matches!(error, ArchiveError::Duplicate { .. });
}

#[test]
fn a_host_file_that_cannot_be_read_is_named() {
    let kernel = Kernel::new();
    for host in [kernel.path("nope"), kernel.modules(), "/dev/zero".into()] {
        let error = refusal(kernel.image().file(GuestFile::host("/x", 0o600, &host)));
        testing::assert_matches!(error, ArchiveError::Unreadable { .. });
        assert!(
            error.to_string().contains(host.to_str().unwrap()),
            "{error}"
        );
    }
    let kernel = Kernel::new();
    std::fs::remove_file(kernel.path("busybox")).unwrap();
    let error = refusal(kernel.image());
    assert!(error.to_string().contains("/bin/busybox"), "{error}");
}

#[test]
fn an_image_has_a_limit() {
    let kernel = Kernel::new();
    // A hole: it takes no room on the disk, and is not read into memory.
    let host = kernel.path("hole");
    let hole = std::fs::File::create(&host).unwrap();
    hole.set_len(IMAGE_BYTES_MAX).unwrap();
    let error = refusal(kernel.image().file(GuestFile::host("/x", 0o600, &host)));
    let ArchiveError::TooLarge { bytes, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(bytes, IMAGE_BYTES_MAX);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_files_come_back(
        wanted in prop::collection::btree_map(
            "[a-c]{1,3}",
            (0_u32..0o10000, prop::collection::vec(any::<u8>(), 0..50)),
            0..10,
        ),
    ) {
        let kernel = Kernel::new();
        let mut image = kernel.image();
        for (name, (mode, content)) in &wanted {
            image = image.file(GuestFile::bytes(&format!("/opt/{name}"), *mode, content.clone()));
        }
        let files = files(&image.build().unwrap());
        for (name, (mode, content)) in wanted {
            let entry = &files[&format!("opt/{name}")];
            prop_assert_eq!(entry.mode, 0o100_000 | mode);
            prop_assert_eq!(&entry.content, &content);
        }
    }
}
