//! Undoing what dead owners left.

use std::io;
use std::path::Path;

use sys::failure::Failure;

use super::claim::Claim;
use super::owners::{Owners, turn};
use super::{Entry, FOLDER, JournalError, Line, Locked, UndoError, check_folder, left_in, line};
use crate::namespace::Namespace;

#[derive(Debug, Default)]
pub struct Swept {
    pub undone: Vec<Entry>,
    /// Not undone: stays in the journal for the next sweep.
    pub failed: Vec<Failure>,
}

/// Undoes what dead owners left under [`FOLDER`]. Call it once, where a run begins,
/// as root. Living owners are left alone, with all that their journals name.
///
/// # Errors
/// [`JournalError`] when the folder is not ours or cannot be listed, or what living
/// owners have cannot be seen; what fails in a single journal is in [`Swept::failed`].
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
    let mut owners = {
        let _turn = turn(folder)?;
        Owners::in_folder(folder, None)?
        // From here on nobody can reserve what the dead ones name: their files are locked.
    };
    for (path, source) in std::mem::take(&mut owners.failed) {
        swept.failed.push(unreadable(&path)(source));
    }
    for (path, mut file) in std::mem::take(&mut owners.dead) {
        if let Err(source) = sweep_journal(&path, &mut file, &owners, &mut swept) {
            swept.failed.push(unreadable(&path)(source));
        }
    }
    Ok(swept)
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    Failure::of(format!(
        "cannot read the journal {}; look at it, and remove it",
        path.display()
    ))
}

fn sweep_journal(
    path: &Path,
    file: &mut Locked,
    owners: &Owners,
    swept: &mut Swept,
) -> io::Result<()> {
    let text = line::read(&mut file.0)?;
    let left = left_in(&text);
    let is_whole = left.damaged.is_empty();
    let damaged = left.damaged.into_iter().map(|(line, source)| {
        Failure::of(format!(
            "line {line} of the journal {} is damaged; look at it, and remove it",
            path.display()
        ))(source)
    });
    swept.failed.extend(damaged);
    let mut stays = vec![];
    let mut gone = vec![];
    for (number, entry) in left.numbers.into_iter().zip(left.entries).rev() {
        match owners.claim(&entry) {
            Claim::Free => {}
            Claim::Theirs => {
                gone.push(number);
                continue;
            }
            Claim::Waits => {
                stays.push(entry);
                continue;
            }
        }
        let may_go = entry.may_go(&stays);
        if let (Ok(()), Entry::Namespace { name }) = (&may_go, &entry) {
            empty(name);
        }
        match may_go.and_then(|()| entry.undo()) {
            Ok(()) => {
                gone.push(number);
                swept.undone.push(entry);
            }
            Err(source) => {
                // What is only to be said is said once.
                match &source {
                    UndoError::Kept { .. } => gone.push(number),
                    _ => stays.push(entry),
                }
                let context = format!(
                    "an entry of the journal {} cannot be undone",
                    path.display()
                );
                swept.failed.push(Failure::of(context)(source));
            }
        }
    }
    if is_whole && stays.is_empty() {
        return std::fs::remove_file(path);
    }
    // Whoever has them next is not to lose them to this journal.
    let mut gone = gone.into_iter().map(|number| Line::Gone { number });
    gone.try_for_each(|line| line.write(&mut file.0))
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
