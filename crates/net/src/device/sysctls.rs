//! A device's own sysctls, which it loses when it moves to another namespace:
//! `/proc/sys/net/*/{conf,neigh}/<device>`, of the calling thread's namespace.

use std::io;
use std::path::{Path, PathBuf};

use crate::setting::{Kept, Values, are_plain};

const ROOT: &str = "/proc/sys/net";

/// IPv6's MTU follows that of the link, unless less was set.
const MTU: &str = "ipv6/conf/mtu";

/// Those that are not the default, named without the device: `ipv4/conf/rp_filter`.
///
/// # Errors
/// When `/proc` cannot be read.
pub(super) fn of(device: &str, mtu: u32) -> io::Result<Values> {
    let mut values = Values::new();
    for family in folders(Path::new(ROOT))? {
        for group in ["conf", "neigh"] {
            let Ok(files) = folders(&family.join(group).join(device)) else {
                continue;
            };
            for file in files {
                let (Some(family), Some(name)) = (text(&family), text(&file)) else {
                    continue;
                };
                let setting = format!("{family}/{group}/{name}");
                // One that was never set may not be read.
                let Some(value) = read(&setting, device) else {
                    continue;
                };
                let follows = setting == MTU && value == mtu.to_string();
                if !follows
                    && read(&setting, "default").as_ref() != Some(&value)
                    && are_plain([(&setting, &value)].into_iter())
                {
                    values.insert(setting, value);
                }
            }
        }
    }
    Ok(values)
}

/// Writes those that changed. For a device that has not just come, only those at the
/// default: other values were set by another program.
///
/// # Errors
/// When `/proc` cannot be read.
pub(super) fn put_back(
    device: &str,
    before: &Values,
    has_just_come: bool,
) -> io::Result<Vec<Kept>> {
    let mut kept = vec![];
    for (setting, before) in before {
        let now = read(setting, device).unwrap_or_default();
        if now == *before {
            continue;
        }
        let default = read(setting, "default");
        let stays = Kept::of(setting, &now, before);
        if !has_just_come && default.is_some_and(|default| default != now) {
            kept.push(stays);
        } else if let Err(why) = std::fs::write(path(setting, device)?, before) {
            kept.push(stays.refused(&why));
        }
    }
    Ok(kept)
}

fn folders(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(path)?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

fn text(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

fn read(setting: &str, of: &str) -> Option<String> {
    let text = std::fs::read_to_string(path(setting, of).ok()?).ok()?;
    Some(text.trim_end().to_owned())
}

/// # Errors
/// For what is no name of [`of`]: it may come from a journal.
fn path(setting: &str, of: &str) -> io::Result<PathBuf> {
    match setting.split('/').collect::<Vec<_>>()[..] {
        [family, group @ ("conf" | "neigh"), name] => {
            Ok(Path::new(ROOT).join(family).join(group).join(of).join(name))
        }
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}
