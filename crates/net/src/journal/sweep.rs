//! Undoing what dead owners left.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use serde::de::Error as _;
use sys::failure::Failure;

use crate::namespace::Namespace;

use super::{Entry, FOLDER, JournalError, LINE_BYTES_MAX, Line, Locked, UndoError, check_folder};

/// The largest journal that is read, bytes: some 100,000 lines.
const JOURNAL_BYTES_MAX: u64 = 16 << 20;

#[derive(Debug, Default)]
pub struct Swept {
    pub undone: Vec<Entry>,
    /// Not undone: stays in the journal for the next sweep.
    pub failed: Vec<Failure>,
}

/// Undoes what dead owners left under [`FOLDER`]. Call it once, where a run begins,
/// as root. Living owners are left alone.
///
/// # Errors
/// [`JournalError`] when the folder is not ours or cannot be listed; what
/// fails in a single journal is in [`Swept::failed`].
pub fn sweep() -> Result<Swept, JournalError> {
    sweep_folder(Path::new(FOLDER))
}

/// As [`sweep`], in the given folder; a missing one is clean.
pub fn sweep_folder(folder: &Path) -> Result<Swept, JournalError> {
    let mut swept = Swept::default();
    if !folder.exists() {
        return Ok(swept);
    }
    check_folder(folder)?;
    let failed = |source| JournalError::Open {
        folder: folder.to_owned(),
        source,
    };
    for file in std::fs::read_dir(folder).map_err(failed)? {
        let path = file.map_err(failed)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "journal")
            && let Err(source) = sweep_journal(&path, &mut swept)
        {
            let context = format!(
                "cannot read the journal {}; look at it, and remove it",
                path.display()
            );
            swept.failed.push(Failure::of(context)(source));
        }
    }
    Ok(swept)
}

fn sweep_journal(path: &Path, swept: &mut Swept) -> io::Result<()> {
    let file = match File::open(path) {
        // Its owner, or another sweep, was quicker.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    let mut file = match Locked::lock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(()),
        other => other?,
    };
    let text = read(&mut file.0)?;
    let left = left_in(&text);
    let mut is_done = left.damaged.is_empty();
    let damaged = left.damaged.into_iter().map(|(line, source)| {
        Failure::of(format!(
            "line {line} of the journal {} is damaged; look at it, and remove it",
            path.display()
        ))(source)
    });
    swept.failed.extend(damaged);
    let mut stays = vec![];
    for entry in left.entries.into_iter().rev() {
        let may_go = entry.may_go(&stays);
        if let (Ok(()), Entry::Namespace { name }) = (&may_go, &entry) {
            empty(name);
        }
        match may_go.and_then(|()| entry.undo()) {
            Ok(()) => swept.undone.push(entry),
            Err(source) => {
                // What is only to be said is said once.
                if !matches!(source, UndoError::Kept { .. }) {
                    is_done = false;
                    stays.push(entry);
                }
                let context = format!(
                    "an entry of the journal {} cannot be undone",
                    path.display()
                );
                swept.failed.push(Failure::of(context)(source));
            }
        }
    }
    if is_done {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// Removes the links that were made in a namespace, and so their other ends elsewhere.
/// With the namespace they would go, too, but perhaps a minute later: a connection of a
/// program that was killed there may hold it so long. What cannot be removed goes then.
fn empty(name: &str) {
    let inside = Namespace::named(name).map(|namespace| namespace.netlink());
    let Some(Ok(mut netlink)) = inside else {
        return;
    };
    for link in netlink.links().unwrap_or_default() {
        if !link.kind.is_empty() {
            let _ = netlink.remove_link(&link.name);
        }
    }
}

pub(super) fn read(file: &mut File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    if length > JOURNAL_BYTES_MAX {
        let reason = format!("it has {length} bytes, at most {JOURNAL_BYTES_MAX} are read");
        return Err(io::Error::other(reason));
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(text)
}

#[derive(Debug, Default)]
pub struct Left {
    /// Made and not gone, in the order of making.
    pub entries: Vec<Entry>,
    pub damaged: Vec<(usize, serde_json::Error)>,
}

/// Reads a journal's text. A last line without an end was being written when the
/// owner died: the thing it names was not made.
pub fn left_in(text: &[u8]) -> Left {
    let mut left = BTreeMap::new();
    let mut damaged = Vec::new();
    let whole = text.iter().rposition(|&byte| byte == b'\n').unwrap_or(0);
    for (index, line) in text[..whole].split(|&byte| byte == b'\n').enumerate() {
        if line.len() > LINE_BYTES_MAX {
            let reason = format!("{} bytes, at most {LINE_BYTES_MAX} are read", line.len());
            damaged.push((index + 1, serde_json::Error::custom(reason)));
            continue;
        }
        match serde_json::from_slice(line) {
            _ if line.is_empty() => {}
            Ok(Line::Made { number, entry }) => {
                left.insert(number, entry);
            }
            Ok(Line::Gone { number }) => {
                left.remove(&number);
            }
            Err(error) => damaged.push((index + 1, error)),
        }
    }
    Left {
        entries: left.into_values().collect(),
        damaged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_what_was_made_and_not_struck_out() {
        let text = br#"{"made":{"number":0,"entry":{"kind":"link","name":"lga"}}}
{"made":{"number":1,"entry":{"kind":"link","name":"lgb"}}}
{"gone":{"number":0}}
nonsense
{"made":{"number":2,"entry":{"kind":"link","na"#;
        let left = left_in(text);
        assert_eq!(left.entries, [Entry::Link { name: "lgb".into() }]);
        let damaged: Vec<_> = left.damaged.iter().map(|(line, _)| *line).collect();
        assert_eq!(damaged, [4]);
    }
}
