//! Devices that were lent.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use sys::failure::Failure;

use crate::device::{Settings, home};
use crate::namespace::Namespace;
use crate::netlink::Netlink;
use crate::setting::Kept;

/// Whether a network namespace of that number exists: some thread is in it, or it
/// has a name.
fn is_there(number: u64) -> bool {
    let is_it = |path: PathBuf| std::fs::metadata(path).is_ok_and(|it| it.ino() == number);
    let below = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.flatten().map(|entry| entry.path())
    };
    let mut threads = below("/proc".into()).flat_map(|process| below(process.join("task")));
    threads.any(|thread| is_it(thread.join("ns/net"))) || below("/run/netns".into()).any(is_it)
}

/// Brings a device back to the calling thread's namespace, if it is still where it
/// was lent to, with its settings. Returns the settings that were not restored.
pub(in super::super) fn bring_back(
    (name, namespace): (&str, &str),
    home_was: u64,
    settings: &Settings,
) -> Result<Vec<Kept>, Failure> {
    if home().map_err(Failure::of("cannot read this thread's network namespace"))? != home_was {
        // Of a home that is gone nothing is owed: the kernel gives hardware to the
        // host when the namespace that it was lent to is removed.
        return match is_there(home_was) {
            true => Err(Failure::new(format!(
                "the device came from another network namespace (its number was {home_was}); run this there, which is where Lockgate ran before"
            ))),
            false => Ok(vec![]),
        };
    }
    let mut kept = vec![];
    let mut has_just_come = false;
    if let Some(there) = Namespace::named(namespace) {
        let here = Namespace::current()?;
        let mut inside = there.netlink()?;
        if inside.link(name).is_ok() {
            // It may come back changed rather than not at all.
            kept = match settings.put_back(&there, &mut inside, name) {
                Err(why) => vec![Kept::of("settings that stay with it", "?", "?").refused(&why)],
                Ok(kept) => kept,
            };
            inside.set_down(name)?;
            inside.move_back(name, &here, settings.index)?;
            has_just_come = true;
        }
    }
    let mut netlink = Netlink::open()?;
    match netlink.link(name) {
        Ok(link) if has_just_come || link.index == settings.index => {
            kept.extend(settings.settle(&mut netlink, name, has_just_come)?);
        }
        Err(error) if !error.is_absent() => return Err(error.into()),
        // It was pulled out while it was lent; another may have its name.
        _ => {}
    }
    Ok(kept)
}
