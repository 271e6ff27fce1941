//! Killed anywhere: after each byte of a journal, and at each system call of who makes
//! things. What a sweep finds then is what there is, and nothing of others goes.

mod calls;
mod full;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lockgate_net::journal::sweep_folder;
use lockgate_net::{Entry, Journal, Record};

/// One thing that an owner does, in the order in which it is on the disk.
#[derive(Clone, Debug)]
enum Step {
    /// A line of its journal.
    Written(Vec<u8>),
    Made(PathBuf),
    Gone(PathBuf),
    /// The journal begins anew.
    Emptied,
}

/// An owner whose steps are noted, on folders.
struct Owner {
    place: tempfile::TempDir,
    journal: Journal,
    seen: Vec<u8>,
    steps: Vec<Step>,
}

impl Owner {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let journals = place.path().join("journals");
        let journal = Journal::open_in(&journals).unwrap();
        Self {
            place,
            journal,
            seen: vec![],
            steps: vec![],
        }
    }

    fn note_writing(&mut self) {
        let journals = self.place.path().join("journals");
        let file = std::fs::read_dir(journals).unwrap().next().unwrap();
        let text = std::fs::read(file.unwrap().path()).unwrap();
        match text.strip_prefix(&self.seen[..]) {
            Some([]) => {}
            Some(more) => self.steps.push(Step::Written(more.to_vec())),
            None => {
                assert!(text.is_empty());
                self.steps.push(Step::Emptied);
            }
        }
        self.seen = text;
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new("things").join(format!("lockgate-{name}"))
    }

    fn make(&mut self, name: &str) -> Record {
        let path = self.path(name);
        let at = self.place.path().join(&path);
        let record = self.journal.record(Entry::Folder { path: at.clone() });
        self.note_writing();
        std::fs::create_dir_all(at).unwrap();
        self.steps.push(Step::Made(path));
        record.unwrap()
    }

    fn undo(&mut self, record: Record, name: &str) {
        drop(record);
        let path = self.path(name);
        assert!(!self.place.path().join(&path).exists());
        self.steps.push(Step::Gone(path));
        self.note_writing();
    }

    /// Of all that can be: made, undone in the order of making and against it, made
    /// again under the same name, the last undone.
    fn all() -> (Vec<Step>, PathBuf) {
        let mut own = Self::new();
        let a = own.make("a");
        let b = own.make("b");
        own.undo(a, "a");
        let c = own.make("c");
        let a = own.make("a");
        own.undo(c, "c");
        own.undo(b, "b");
        own.undo(a, "a");
        let d = own.make("d");
        let e = own.make("e");
        own.undo(d, "d");
        own.undo(e, "e");
        let place = own.place.path().to_owned();
        (own.steps, place)
    }
}

/// What lies on a disk when an owner was killed.
#[derive(Clone, Default)]
struct Disk {
    journal: Vec<u8>,
    things: BTreeSet<PathBuf>,
}

impl Disk {
    fn after(mut self, step: &Step) -> Self {
        match step {
            Step::Written(text) => self.journal.extend(text),
            Step::Made(path) => drop(self.things.insert(path.clone())),
            Step::Gone(path) => drop(self.things.remove(path)),
            Step::Emptied => self.journal.clear(),
        }
        self
    }

    /// What is wrong after a sweep. The journal's text names where it was written.
    fn trouble(&self, from: &Path) -> Option<String> {
        let place = tempfile::tempdir().unwrap();
        let at = place.path().to_str().unwrap();
        assert_eq!(at.len(), from.to_str().unwrap().len(), "lengths stay");
        let journals = place.path().join("journals");
        // Somebody else's of the same kind, and a living owner's.
        let theirs = place.path().join("things/lockgate-theirs");
        let living = place.path().join("things/lockgate-living");
        std::fs::create_dir_all(&theirs).unwrap();
        let owner = Journal::open_in(&journals).unwrap();
        let record = owner.record(Entry::Folder {
            path: living.clone(),
        });
        std::fs::create_dir(&living).unwrap();
        for thing in &self.things {
            std::fs::create_dir_all(place.path().join(thing)).unwrap();
        }
        let text = moved(&self.journal, from, at);
        std::fs::write(journals.join("dead.journal"), text).unwrap();
        let swept = sweep_folder(&journals).unwrap();
        let stays = |thing: &&PathBuf| place.path().join(thing).exists();
        let trouble = if let Some(failure) = swept.failed.first() {
            Some(format!("{failure:?}"))
        } else if let Some(thing) = self.things.iter().find(stays) {
            Some(format!("{} stays", thing.display()))
        } else if !theirs.exists() || !living.exists() {
            Some("somebody else's is gone".to_owned())
        } else {
            let journal = journals.join("dead.journal");
            journal.exists().then(|| "the journal stays".to_owned())
        };
        drop(record);
        trouble
    }
}

/// At every byte of every step: the troubles, and how many places that are.
fn cuts(steps: &[Step], from: &Path) -> (Vec<String>, usize) {
    let (mut troubles, mut count) = (vec![], 0);
    let mut disk = Disk::default();
    let mut look = |disk: &Disk, at: String| {
        count += 1;
        let trouble = disk.trouble(from);
        troubles.extend(trouble.map(|trouble| format!("{at}: {trouble}")));
    };
    for (number, step) in steps.iter().enumerate() {
        if let Step::Written(text) = step {
            for bytes in 0..text.len() {
                let cut = Step::Written(text[..bytes].to_vec());
                let at = format!("step {number}, after {bytes} bytes");
                look(&disk.clone().after(&cut), at);
            }
        }
        disk = disk.after(step);
        look(&disk, format!("after step {number}"));
    }
    (troubles, count)
}

/// The same journal as it would have been written there: lines that are whole get a new
/// checksum, and one that was cut short stays as short.
fn moved(journal: &[u8], from: &Path, to: &str) -> Vec<u8> {
    let from = from.to_str().unwrap();
    let text = String::from_utf8(journal.to_vec()).unwrap();
    let each = text.split('\n').map(|line| {
        let line = line.replace(from, to);
        let mut parts = line.splitn(3, ' ');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(length), Some(_), Some(json)) if length.parse() == Ok(json.len()) => {
                format!("{length} {:08x} {json}", crc32fast::hash(json.as_bytes()))
            }
            _ => line,
        }
    });
    each.collect::<Vec<_>>().join("\n").into_bytes()
}

#[test]
fn after_any_byte_of_its_journal() {
    let (steps, from) = Owner::all();
    let (troubles, count) = cuts(&steps, &from);
    assert_eq!(troubles, [""; 0]);
    let written = steps.iter().map(|step| match step {
        Step::Written(text) => text.len(),
        _ => 0,
    });
    assert_eq!(count, steps.len() + written.sum::<usize>());
    assert_eq!(steps.len(), 24);
}

/// All other orders of a line and its act: each has a place where something stays.
#[test]
fn in_no_other_order() {
    let (steps, from) = Owner::all();
    let mut others = 0;
    for at in 1..steps.len() {
        let is_pair = matches!(
            &steps[at - 1..=at],
            [Step::Written(_), Step::Made(_)] | [Step::Gone(_), Step::Written(_) | Step::Emptied]
        );
        if is_pair {
            let mut other = steps.clone();
            other.swap(at - 1, at);
            // Just this pair: the rest is as it was.
            let (before, rest) = other.split_at(at - 1);
            let disk = before.iter().fold(Disk::default(), Disk::after);
            let trouble = disk.after(&rest[0]).trouble(&from);
            assert!(trouble.is_some(), "{:?} before {:?}", rest[0], rest[1]);
            others += 1;
        }
    }
    // Six are made, and six undone.
    assert_eq!(others, 12);
}
