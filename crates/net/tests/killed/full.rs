//! A disk that is full: what cannot be written down is not made.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use lockgate_net::journal::left_in;
use lockgate_net::{Entry, Journal, JournalError, Namespace, Tag};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

/// Of a page: a file system in memory gives out no less.
const PAGE_BYTES: usize = 4096;

/// Runs `body` with a folder that has room for that many pages.
fn on_pages(count: usize, body: impl Fn(&Path) + Send + Sync) {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNS).unwrap();
            let none: Option<&str> = None;
            mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).unwrap();
            let options = format!("size={},mode=700", count * PAGE_BYTES);
            let options = Some(options.as_str());
            mount(
                Some("none"),
                folder.path(),
                Some("tmpfs"),
                MsFlags::empty(),
                options,
            )
            .unwrap();
            body(folder.path());
        });
        inside
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn fill(folder: &Path) {
    let mut filler = File::create(folder.join("filler")).unwrap();
    while filler.write_all(&[b'x'; PAGE_BYTES]).is_ok() {}
    let full = filler.write_all(b"x").unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
}

fn journal_in(folder: &Path) -> PathBuf {
    let mut files = std::fs::read_dir(folder).unwrap().flatten();
    let journal = files.find(|file| file.path().extension().is_some_and(|is| is == "journal"));
    journal.unwrap().path()
}

fn text(folder: &Path) -> Vec<u8> {
    std::fs::read(journal_in(folder)).unwrap()
}

fn link(name: &str) -> Entry {
    Entry::Link { name: name.into() }
}

/// Empty lines, until `room` bytes are left of the journal's last page.
fn write_up_to(folder: &Path, room: usize) {
    let path = journal_in(folder);
    let bytes = std::fs::read(&path).unwrap().len() + room;
    let bytes = bytes.next_multiple_of(PAGE_BYTES) - bytes;
    let mut journal = File::options().append(true).open(path).unwrap();
    journal.write_all(&vec![b'\n'; bytes]).unwrap();
}

#[test]
fn a_line_that_was_cut_by_it_hides_no_other() {
    if !testing::is_root() {
        return;
    }
    let whole = {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open_in(folder.path()).unwrap();
        let _first = journal.record(link("lgone")).unwrap();
        let before = text(folder.path()).len();
        let _second = journal.record(link("lgnone")).unwrap();
        text(folder.path()).len() - before
    };
    on_pages(2, |folder| {
        let mut cut = 0;
        for room in 0..whole {
            let journal = Journal::open_in(folder).unwrap();
            let first = journal.record(link("lgone")).unwrap();
            write_up_to(folder, room);
            fill(folder);
            let refused = journal.record(link("lgnone"));
            let is_write = matches!(refused, Err(JournalError::Write { .. }));
            assert!(is_write, "{room} bytes of {whole}: {refused:?}");
            assert_eq!(journal.entries(), [link("lgone")]);
            cut += text(folder).len() - (PAGE_BYTES - room);
            // Nothing of it is found, and the next one is, once there is room.
            assert_eq!(left_in(&text(folder)).entries, [link("lgone")]);
            std::fs::remove_file(folder.join("filler")).unwrap();
            let next = journal.record(link("lgnext")).unwrap();
            let left = left_in(&text(folder));
            assert_eq!(left.entries, [link("lgone"), link("lgnext")], "{room}");
            assert!(left.damaged.is_empty(), "{room}: {:?}", left.damaged);
            drop((first, next));
        }
        // The kernel wrote what there was room for.
        assert_eq!(cut, whole * (whole - 1) / 2);
    });
}

#[test]
fn nothing_is_made_that_could_not_be_written_down() {
    if !testing::is_root() {
        return;
    }
    on_pages(4, |folder| {
        let journal = Journal::open_in(folder).unwrap();
        let first = journal.record(link("lgone")).unwrap();
        let room = || std::fs::remove_file(folder.join("filler")).unwrap();
        write_up_to(folder, 20);
        fill(folder);
        let name = Tag::fresh().name("full").unwrap();
        let path = Path::new("/run/netns").join(&name);
        assert!(Namespace::create(&journal, &name).is_err());
        assert!(!path.exists());
        room();
        let namespace = Namespace::create(&journal, &name).unwrap();
        // Nor does a program begin.
        let touched = tempfile::tempdir().unwrap();
        let touch = |name: &str| {
            let mut command = Command::new("sh");
            command
                .args(["-c", ": >\"$0\""])
                .arg(touched.path().join(name));
            namespace.spawn_journalled(&journal, command)
        };
        let (mut child, record) = touch("room").unwrap();
        assert!(child.wait().unwrap().success() && touched.path().join("room").exists());
        fill(folder);
        write_up_to(folder, 10);
        assert!(touch("full").is_err());
        assert!(!touched.path().join("full").exists());
        room();
        drop((record, namespace, first));
        assert!(!path.exists());
        drop(journal);
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    });
}
