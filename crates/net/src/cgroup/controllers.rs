//! Controllers of version 2, switched on for the groups below a root as long as
//! one of ours needs them.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::FlockOperation;

use super::hierarchy::Hierarchy;
use super::{CgroupError, read, write};
use crate::journal::{Entry, FOLDER, Journal, Locked, Record};
use crate::setting::{Changes, Kept, OFF, ON, Values};

/// While it is held no other Lockgate program switches controllers: from the first
/// look at one until the group that needs it exists.
pub(super) fn turn() -> io::Result<Locked> {
    let folder = Path::new(FOLDER);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    // Nobody but root can open it, and so hold us up. The folder's own lock is for
    // those who write journals, as we do meanwhile.
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(folder.join("controllers.lock"))?;
    Ok(Locked::lock(file, FlockOperation::LockExclusive)?)
}

/// Switches controllers on, journalled in `records`, which must be dropped after the
/// turn. Controllers that another program had switched on are not in there.
pub(super) fn enable(
    journal: &Journal,
    hierarchy: &Hierarchy,
    controllers: &[String],
    records: &mut Vec<Record>,
) -> Result<(), CgroupError> {
    let path = hierarchy.mount.join("cgroup.subtree_control");
    let on = values(&read(&path)?);
    let ours = journal
        .neighbours()
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::Controllers { path: of, changes } if of == path => Some(changes.set),
            _ => None,
        });
    let mut changes = Changes::default();
    for controller in controllers.iter().filter(|name| !on.contains_key(*name)) {
        changes.note(controller, ON);
    }
    // Controllers that other runs switched on are switched off by the last of them.
    for controller in ours.flat_map(|set| set.into_keys()) {
        changes.note(&controller, ON);
    }
    if changes.set.is_empty() {
        return Ok(());
    }
    let entry = Entry::Controllers {
        path: path.clone(),
        changes,
    };
    let record = journal
        .record(entry)
        .map_err(|source| CgroupError::Journal {
            name: path.display().to_string(),
            source,
        })?;
    records.push(record);
    let mut missing = controllers.iter().filter(|name| !on.contains_key(*name));
    missing.try_for_each(|controller| write(&path, &format!("+{controller}")))
}

/// Switches off the controllers that were off and are not in use. In use means by
/// another group of Lockgate's, whose owner then does it, or by a group below, whose
/// controllers the kernel keeps.
pub(crate) fn put_back(path: &Path, changes: &Changes) -> io::Result<Vec<Kept>> {
    let _turn = turn()?;
    let Some(root) = path.parent().filter(|_| path.exists()) else {
        return Ok(vec![]);
    };
    for group in std::fs::read_dir(root)? {
        let name = group?.file_name();
        if name.as_encoded_bytes().starts_with(b"lockgate-") {
            return Ok(vec![]);
        }
    }
    let mut now = values(&std::fs::read_to_string(path)?);
    now.retain(|controller, _| changes.set.contains_key(controller));
    let (due, mut kept) = changes.due(&now);
    for (controller, _) in due {
        if let Err(why) = std::fs::write(path, format!("-{controller}")) {
            kept.push(Kept::of(&controller, ON, OFF).refused(&why));
        }
    }
    Ok(kept)
}

fn values(on: &str) -> Values {
    let each = on
        .split_whitespace()
        .map(|name| (name.to_owned(), ON.to_owned()));
    each.collect()
}
