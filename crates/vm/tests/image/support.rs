//! A kernel's folder of modules made up for a test, and images read back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cpio::newc::Reader;
use lockgate_vm::image::Image;
use object::write::Object;
use object::{Architecture, BinaryFormat, Endianness, SectionKind};
use tempfile::TempDir;

pub const RELEASE: &str = "1.2.3-test";

pub struct Kernel {
    folder: TempDir,
}

/// An ELF file with this section `.modinfo`.
pub fn module(modinfo: &str) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let section = object.add_section(vec![], b".modinfo".to_vec(), SectionKind::ReadOnlyData);
    let text = modinfo.replace('\n', "\0") + "\0";
    object.append_section_data(section, text.as_bytes(), 1);
    object.write().unwrap()
}

impl Kernel {
    pub fn new() -> Self {
        let kernel = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::write(kernel.path("busybox"), "a shell").unwrap();
        kernel.depends("drivers/virtio/virtio", "");
        kernel.depends("drivers/virtio/virtio_pci", "virtio");
        kernel.depends("drivers/char/virtio_console", "virtio");
        kernel
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn modules(&self) -> PathBuf {
        self.path("modules")
    }

    pub fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.modules().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub fn depends(&self, path: &str, depends: &str) {
        let modinfo = format!("license=GPL\ndepends={depends}\nvermagic={RELEASE} SMP");
        self.write(&format!("kernel/{path}.ko"), &module(&modinfo));
    }

    pub fn image(&self) -> Image {
        Image::of_parts(&self.path("busybox"), &self.modules(), RELEASE)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub mode: u32,
    pub device: (u32, u32),
    pub mtime: u32,
    pub owner: (u32, u32),
    pub content: Vec<u8>,
}

/// The files of an archive in their order.
pub fn entries(archive: &[u8]) -> Vec<(String, Entry)> {
    let mut rest = archive;
    let mut entries = Vec::new();
    loop {
        let reader = Reader::new(rest).unwrap();
        let entry = reader.entry().clone();
        if entry.is_trailer() {
            return entries;
        }
        let mut content = Vec::new();
        rest = reader.to_writer(&mut content).unwrap();
        entries.push((
            entry.name().to_owned(),
            Entry {
                mode: entry.mode(),
                device: (entry.rdev_major(), entry.rdev_minor()),
                mtime: entry.mtime(),
                owner: (entry.uid(), entry.gid()),
                content,
            },
        ));
    }
}

/// The same by name, without the leading slash.
pub fn files(archive: &[u8]) -> BTreeMap<String, Entry> {
    entries(archive).into_iter().collect()
}

pub fn text(archive: &[u8], path: &str) -> String {
    let files = files(archive);
    let entry = files.get(path).unwrap_or_else(|| panic!("no {path}"));
    String::from_utf8(entry.content.clone()).unwrap()
}

/// Names of the modules that are loaded at boot, in order.
pub fn at_boot(archive: &[u8]) -> Vec<String> {
    let text = text(archive, "etc/lockgate/modules");
    text.lines()
        .map(|line| {
            let (name, path) = line.split_once(' ').unwrap();
            assert!(files(archive).contains_key(&path[1..]), "{path}");
            assert!(Path::new(path).is_absolute());
            name.to_owned()
        })
        .collect()
}
