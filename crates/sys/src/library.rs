//! Shared libraries found by name before they are opened, so that no code runs
//! of one that another user may have put there ([`crate::trusted`]).

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{LIBRARY_PATH, folders};
use crate::trusted::{self, Untrusted};

/// Written by ldconfig(8).
const CACHE: &str = "/etc/ld.so.cache";

/// Where hosts keep libraries; `{machine}` is the triplet. Some are in the loader's
/// own list, some in most hosts' cache.
pub const FOLDERS: [&str; 7] = [
    "/lib/{machine}-linux-gnu",
    "/usr/lib/{machine}-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
];

/// The file that the loader would open under that name, ld.so(8): in a folder
/// of `LD_LIBRARY_PATH`, in the loader's cache, in the usual folders. It is
/// absolute, for dlopen(3); `None` where there is none.
///
/// # Errors
/// [`Untrusted`]: the file may be another user's; or a folder of
/// `LD_LIBRARY_PATH`, in which the loader also looks for what the library needs.
pub fn find(name: &str) -> Result<Option<PathBuf>, Untrusted> {
    let (variable, separators) = LIBRARY_PATH;
    let list = env::var_os(variable).filter(|list| !list.is_empty());
    let given = list.map_or_else(Vec::new, |list| folders(&list, separators));
    for folder in &given {
        match trusted::check(folder) {
            Err(error) if error.is_foreign() => return Err(error.of(&folder.join(name))),
            _ => {}
        }
    }
    let cached = cached(name, &fs::read(CACHE).unwrap_or_default());
    let usual = FOLDERS.map(|folder| folder.replace("{machine}", env::consts::ARCH));
    let mut places = given
        .iter()
        .map(|folder| folder.join(name))
        .chain(cached)
        .chain(usual.iter().map(|folder| Path::new(folder).join(name)));
    let found = places.find(|place| place.is_file());
    found.map(|place| trusted::check(&place)).transpose()
}

/// The cache's entry for a name: glibc's `sysdeps/generic/dl-cache.h`, the format
/// since 2.2, also behind the older one. Variants for some CPUs only are left out.
fn cached(name: &str, bytes: &[u8]) -> Option<PathBuf> {
    const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
    const HEAD_BYTES: usize = 48;
    const ENTRY_BYTES: usize = 24;
    /// A library for libc 6 on x86-64.
    const FLAGS: u32 = 0x303;
    let start = bytes.windows(MAGIC.len()).position(|part| part == MAGIC)?;
    let bytes = &bytes[start..];
    let word = |at: usize| {
        let word = bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(word.try_into().ok()?))
    };
    let text = |at: u32| {
        let text = bytes.get(at as usize..)?.split(|&byte| byte == 0).next()?;
        std::str::from_utf8(text).ok()
    };
    let count = word(MAGIC.len())? as usize;
    let entries = bytes.get(HEAD_BYTES..)?.len() / ENTRY_BYTES;
    (0..count.min(entries)).find_map(|index| {
        let at = HEAD_BYTES + index * ENTRY_BYTES;
        let is_plain = word(at)? == FLAGS && word(at + 16)? == 0 && word(at + 20)? == 0;
        let is_named = is_plain && text(word(at + 4)?)? == name;
        is_named.then(|| text(word(at + 8)?).map(PathBuf::from))?
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn cache() -> Vec<u8> {
        let mut bytes = b"older, padded\0\0\0glibc-ld.so.cache1.1".to_vec();
        bytes.extend([2, 0, 0, 0].iter().chain([0; 24].iter()));
        for (flags, at) in [(0x803_u32, 105_u32), (0x303, 115)] {
            bytes.extend([flags, 96, at, 0, 0, 0].map(u32::to_le_bytes).concat());
        }
        bytes.extend(b"libx.so.1\0/other/x\0/own/x\0");
        bytes
    }

    #[test]
    fn the_loaders_cache_is_read_and_never_believed_blindly() {
        let bytes = cache();
        assert_eq!(cached("libx.so.1", &bytes), Some("/own/x".into()));
        assert_eq!(cached("libx.so", &bytes), None);
        for end in 0..bytes.len() {
            let _ = cached("libx.so.1", &bytes[..end]);
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            let _ = cached("libx.so.1", &damaged);
        }
    }

    #[test]
    fn what_this_program_is_linked_to_is_found() {
        let name = "libc.so.6";
        match find(name) {
            Ok(Some(found)) => assert!(found.is_absolute() && found.is_file()),
            Ok(None) => assert!(!Path::new("/lib/x86_64-linux-gnu").join(name).exists()),
            // Tests may run as another user than the build.
            Err(error) => assert!(error.is_foreign(), "{error}"),
        }
        testing::assert_matches!(find("lib-none.so.1"), Ok(None) | Err(_));
    }
}
