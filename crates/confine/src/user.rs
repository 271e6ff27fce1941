//! The user that a process runs as.

use std::fmt;
use std::io;
use std::path::Path;

use rustix::thread::{Gid, Uid};

use crate::ConfineError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum UserError {
    #[error("user {name:?} is not in {PASSWD}; give one that is, or a number")]
    Unknown { name: String },
    #[error("cannot read {PASSWD}")]
    Io(#[from] io::Error),
}

const PASSWD: &str = "/etc/passwd";

/// Nobody's, where no file says another.
const NOBODY: u32 = 65_534;

impl User {
    /// The one of that name or number; its group is the one that `/etc/passwd` says, or
    /// has the same number.
    ///
    /// # Errors
    /// [`UserError`].
    pub fn named(name: &str) -> Result<Self, UserError> {
        let text = std::fs::read_to_string(Path::new(PASSWD))?;
        let found = find(&text, name).or_else(|| {
            let uid = name.parse().ok()?;
            let name = name.to_owned();
            Some(Self {
                name,
                uid,
                gid: uid,
            })
        });
        let name = name.to_owned();
        found.ok_or(UserError::Unknown { name })
    }

    /// The system user `lockgate` if there is one, else `nobody`.
    pub fn of_service() -> Self {
        let text = std::fs::read_to_string(PASSWD).unwrap_or_default();
        let found = find(&text, "lockgate").or_else(|| find(&text, "nobody"));
        found.unwrap_or(Self {
            name: "nobody".to_owned(),
            uid: NOBODY,
            gid: NOBODY,
        })
    }

    /// The calling thread becomes it, without other groups.
    pub(crate) fn become_it(&self) -> Result<(), ConfineError> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        let done = rustix::thread::set_thread_groups(&[])
            .and_then(|()| rustix::thread::set_thread_res_gid(gid, gid, gid))
            .and_then(|()| rustix::thread::set_thread_res_uid(uid, uid, uid));
        done.map_err(|error| ConfineError::User {
            user: self.clone(),
            source: error.into(),
        })
    }
}

/// passwd(5): name, password, user, group.
fn find(text: &str, name: &str) -> Option<User> {
    text.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [own, _, uid, gid, ..] = fields[..] else {
            return None;
        };
        (own == name || uid == name).then_some(())?;
        Some(User {
            name: own.to_owned(),
            uid: uid.parse().ok()?,
            gid: gid.parse().ok()?,
        })
    })
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}:{})", self.name, self.uid, self.gid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "root:x:0:0:root:/root:/bin/sh\nbad:x:1\nguard:x:990:991::/:/bin/false\n";

    #[test]
    fn a_user_is_found_by_name_and_by_number() {
        for name in ["guard", "990"] {
            let user = find(TEXT, name).unwrap();
            assert_eq!(user.to_string(), "guard (990:991)");
        }
        assert_eq!(find(TEXT, "bad"), None);
        assert_eq!(find(TEXT, "x"), None);
        let error = User::named("nobody-of-that-name").unwrap_err();
        assert!(error.to_string().contains("or a number"));
        let numbered = User::named("4000123").unwrap();
        assert_eq!((numbered.uid, numbered.gid), (4_000_123, 4_000_123));
    }
}
