//! Which modules an image has, and in which order they are loaded.

use std::io::Write;

use lockgate_vm::image::{Image, ImageError, ModuleFileError, ModuleTreeError, ModulesError};

use crate::image::support::{Kernel, RELEASE, at_boot, files, module, text};

fn refusal(image: Image) -> ModulesError {
    match image.build() {
        Err(ImageError::Modules(error)) => error,
        other => panic!("{:?}", other.map(|bytes| bytes.len())),
    }
}

#[test]
fn what_the_channel_needs_is_always_there() {
    let image = Kernel::new().image().build().unwrap();
    assert_eq!(at_boot(&image), ["virtio", "virtio_pci", "virtio_console"]);
}

#[test]
fn what_is_needed_comes_first_and_once() {
    let kernel = Kernel::new();
    kernel.depends("a", "b,c");
    kernel.depends("b", "d");
    kernel.depends("c", "d");
    kernel.depends("d", "");
    let image = kernel.image().module("a").module("c").build().unwrap();
    assert_eq!(at_boot(&image)[3..], ["d", "b", "c", "a"]);
    let image = kernel.image().module("c").module("a").build().unwrap();
    assert_eq!(at_boot(&image)[3..], ["d", "c", "b", "a"]);
}

#[test]
fn a_name_has_two_spellings() {
    let kernel = Kernel::new();
    kernel.depends("aesni-intel", "crypto_simd");
    kernel.depends("crypto-simd", "");
    for name in ["aesni-intel", "aesni_intel"] {
        let image = kernel.image().module(name).build().unwrap();
        assert_eq!(at_boot(&image)[3..], ["crypto_simd", "aesni_intel"]);
        assert!(files(&image).contains_key("lib/modules/1.2.3-test/kernel/aesni-intel.ko"));
    }
}

#[test]
fn modules_on_demand_are_not_loaded() {
    let kernel = Kernel::new();
    kernel.depends("crypto/tcrypt", "lib");
    kernel.depends("lib/lib", "deep");
    kernel.depends("deep", "");
    let image = kernel.image().on_demand("tcrypt").build().unwrap();
    assert_eq!(at_boot(&image).len(), 3);
    // Nearest first, and all of them: so modprobe wants it.
    let dependencies = text(&image, "lib/modules/1.2.3-test/modules.dep");
    let mut lines: Vec<_> = dependencies.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "kernel/crypto/tcrypt.ko: kernel/lib/lib.ko kernel/deep.ko",
            "kernel/deep.ko:",
            "kernel/drivers/char/virtio_console.ko: kernel/drivers/virtio/virtio.ko",
            "kernel/drivers/virtio/virtio.ko:",
            "kernel/drivers/virtio/virtio_pci.ko: kernel/drivers/virtio/virtio.ko",
            "kernel/lib/lib.ko: kernel/deep.ko",
        ]
    );
}

#[test]
fn aliases_are_told_to_modprobe() {
    let kernel = Kernel::new();
    let modinfo = "alias=crypto-ecb\nalias=ecb*(x)\ndepends=\nparm=alias=no";
    kernel.write("kernel/crypto/ecb.ko", &module(modinfo));
    let image = kernel.image().on_demand("ecb").build().unwrap();
    assert_eq!(
        text(&image, "lib/modules/1.2.3-test/modules.alias"),
        "alias crypto-ecb ecb\nalias ecb*(x) ecb\n"
    );
}

#[test]
fn what_is_built_in_is_there_already() {
    let kernel = Kernel::new();
    let list = "kernel/crypto/cbc.ko\nkernel/crypto/sha-256.ko\n";
    kernel.write("modules.builtin", list.as_bytes());
    kernel.depends("a", "cbc,sha_256");
    let image = kernel.image().module("cbc").module("a").build().unwrap();
    assert_eq!(at_boot(&image)[3..], ["a"]);
    assert_eq!(text(&image, "lib/modules/1.2.3-test/modules.builtin"), list);
}

#[test]
fn a_circle_ends() {
    let kernel = Kernel::new();
    kernel.depends("a", "b");
    kernel.depends("b", "c");
    kernel.depends("c", "a");
    kernel.depends("self", "self");
    let image = kernel.image().module("a").module("self").build().unwrap();
    assert_eq!(at_boot(&image)[3..], ["c", "b", "a", "self"]);
}

#[test]
fn an_unknown_module_is_named_with_the_kernel_and_who_wants_it() {
    let kernel = Kernel::new();
    kernel.depends("a", "virtio,gone");
    let error = refusal(kernel.image().on_demand("no-such"));
    let text = error.to_string();
    testing::assert_matches!(
        error,
        ModulesError::Unknown {
            needed_by: None,
            ..
        }
    );
    assert!(text.contains("no_such") && text.contains(RELEASE), "{text}");
    let text = refusal(kernel.image().module("a")).to_string();
    assert!(text.contains("\"gone\" (which a depends on)"), "{text}");
}

#[test]
fn every_compression_is_undone() {
    let elf = module("depends=virtio\nname=packed");
    let gz = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&elf).unwrap();
        encoder.finish().unwrap()
    };
    let xz = {
        let options = lzma_rust2::XzOptions::with_preset(1);
        let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
        encoder.write_all(&elf).unwrap();
        encoder.finish().unwrap()
    };
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zst = ruzstd::encoding::compress_to_vec(elf.as_slice(), level);
    for (end, packed) in [("", elf.clone()), (".gz", gz), (".xz", xz), (".zst", zst)] {
        let kernel = Kernel::new();
        kernel.write(&format!("kernel/packed.ko{end}"), &packed);
        let image = kernel.image().module("packed").build().unwrap();
        assert_eq!(at_boot(&image)[3..], ["packed"]);
        let path = "lib/modules/1.2.3-test/kernel/packed.ko";
        assert!(files(&image)[path].content == elf, "{end}");
        // Cut short, it is an error.
        kernel.write(
            &format!("kernel/packed.ko{end}"),
            &packed[..packed.len() / 2],
        );
        let error = refusal(kernel.image().module("packed"));
        assert!(error.to_string().contains("packed.ko"), "{error}");
    }
}

#[test]
fn what_is_no_module_is_refused() {
    let kernel = Kernel::new();
    kernel.write("kernel/text.ko", b"some text");
    kernel.write("kernel/text2.ko.xz", b"some text");
    kernel.write("kernel/text3.ko.zst", b"some text");
    kernel.write("kernel/text4.ko.gz", b"some text");
    kernel.write("kernel/empty.ko", b"");
    for name in ["text", "text2", "text3", "text4", "empty"] {
        let error = refusal(kernel.image().module(name));
        testing::assert_matches!(error, ModulesError::File(_));
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn a_bomb_is_refused() {
    let kernel = Kernel::new();
    let zeros = vec![0; 1 << 20];
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..80 {
        encoder.write_all(&zeros).unwrap();
    }
    kernel.write("kernel/bomb.ko.gz", &encoder.finish().unwrap());
    let error = refusal(kernel.image().module("bomb"));
    testing::assert_matches!(error, ModulesError::File(ModuleFileError::TooLarge { .. }));
}

#[test]
fn modules_from_elsewhere() {
    let kernel = Kernel::new();
    let path = kernel.path("lockgate-own.ko");
    let modinfo = format!("depends=virtio_console\nvermagic={RELEASE} SMP mod_unload");
    std::fs::write(&path, module(&modinfo)).unwrap();
    let image = kernel.image().module_file(&path).build().unwrap();
    let dependencies = text(&image, "lib/modules/1.2.3-test/modules.dep");
    assert!(dependencies.contains("updates/lockgate_own.ko: kernel/drivers/char"));
    assert_eq!(at_boot(&image)[3..], ["lockgate_own"]);

    std::fs::write(&path, module("depends=\nvermagic=6.6.6 SMP")).unwrap();
    let error = refusal(kernel.image().module_file(&path));
    let text = error.to_string();
    testing::assert_matches!(error, ModulesError::OtherKernel { .. });
    assert!(text.contains("6.6.6") && text.contains(RELEASE), "{text}");
    let error = refusal(kernel.image().module_file(&kernel.path("busybox")));
    testing::assert_matches!(error, ModulesError::File(_));
}

#[test]
fn a_module_of_another_user_is_refused() {
    if !testing::is_root() {
        return;
    }
    let kernel = Kernel::new();
    kernel.depends("a", "b");
    kernel.depends("deep/b", "");
    kernel.image().module("a").build().unwrap();
    for part in ["kernel/deep/b.ko", "kernel/deep"] {
        let part = kernel.modules().join(part);
        std::os::unix::fs::chown(&part, Some(12_345), None).unwrap();
        let error = refusal(kernel.image().module("a"));
        let is_refused = matches!(error, ModulesError::File(ModuleFileError::Untrusted(_)));
        assert!(is_refused, "{error:?}");
        std::os::unix::fs::chown(&part, Some(0), None).unwrap();
    }
}

#[test]
fn a_folder_without_modules_is_refused() {
    let kernel = Kernel::new();
    let image = |folder| Image::of_parts(&kernel.path("busybox"), folder, RELEASE);
    let empty = tempfile::tempdir().unwrap();
    let error = refusal(image(empty.path()));
    testing::assert_matches!(error, ModulesError::Tree(ModuleTreeError::Empty { .. }));
    let error = refusal(image(&empty.path().join("nope")));
    assert!(error.to_string().contains("make setup-guests"), "{error}");
    // Not followed: it would never end.
    std::os::unix::fs::symlink(".", kernel.modules().join("source")).unwrap();
    kernel.image().build().unwrap();
}

#[test]
fn an_updated_module_is_preferred() {
    let kernel = Kernel::new();
    kernel.depends("a", "virtio");
    kernel.write("updates/a.ko", &module("depends="));
    let image = kernel.image().module("a").build().unwrap();
    assert!(files(&image).contains_key("lib/modules/1.2.3-test/updates/a.ko"));
    assert!(!files(&image).contains_key("lib/modules/1.2.3-test/kernel/a.ko"));
}
