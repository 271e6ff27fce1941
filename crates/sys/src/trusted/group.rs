//! Groups without other users. Debian's `/usr/local/lib` is root's and
//! writable for `staff`, which most often has no members; and where each user
//! has a group of their own, their files are writable for it.

use std::fs;

/// Whether only root and `us` are in the group, by `/etc/group` and `/etc/passwd`.
/// Root's own group always is; one that is not listed there (a directory service's)
/// never is.
pub(super) fn is_ours(group: u32, us: u32) -> bool {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    group == 0 || is_alone(group, us, &read("/etc/group"), &read("/etc/passwd"))
}

/// group(5): `name:password:gid:members`; passwd(5): `name:password:uid:gid:…`.
fn is_alone(group: u32, us: u32, groups: &str, users: &str) -> bool {
    let is_us = |uid: u32| uid == 0 || uid == us;
    let users: Vec<(&str, u32, u32)> = users.lines().filter_map(user).collect();
    let is_ours = |member: &str| {
        users
            .iter()
            .any(|&(name, uid, _)| name == member && is_us(uid))
    };
    let lists = groups.lines().filter_map(members);
    let lists: Vec<&str> = lists
        .filter(|&(gid, _)| gid == group)
        .map(|(_, names)| names)
        .collect();
    let mut listed = lists.iter().flat_map(|names| names.split(','));
    let mut primary = users.iter().filter(|&&(_, _, gid)| gid == group);
    !lists.is_empty()
        && listed.all(|name| name.is_empty() || is_ours(name))
        && primary.all(|&(_, uid, _)| is_us(uid))
}

fn user(line: &str) -> Option<(&str, u32, u32)> {
    let mut fields = line.split(':');
    let name = fields.next()?;
    let uid = fields.nth(1)?.parse().ok()?;
    Some((name, uid, fields.next()?.parse().ok()?))
}

fn members(line: &str) -> Option<(u32, &str)> {
    let mut fields = line.trim_end().split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const USERS: &str =
        "root:x:0:0::/root:/bin/sh\nana:x:1000:1000:::\nbob:x:1001:100:::\nodd\nroot2:x:0:0:::\n";
    const GROUPS: &str = "root:x:0:\nstaff:x:50:\nana:x:1000:\nusers:x:100:\ndisk:x:6:root,root2\n\
                          wheel:x:10:root,bob\nadmin:x:11:ana\nodd\ntwice:x:12:\ntwice:x:12:bob\n";

    #[test]
    fn a_group_is_ours_when_nobody_else_is_in_it() {
        let alone = |group, us| is_alone(group, us, GROUPS, USERS);
        for (group, us, expected) in [
            (50, 0, true),
            (6, 1000, true),
            (10, 0, false),
            (10, 1001, true),
            (11, 0, false),
            (11, 1000, true),
            (1000, 1000, true),
            (1000, 0, false),
            (100, 1000, false),
            (12, 0, false),
            (77, 1000, false),
        ] {
            assert_eq!(alone(group, us), expected, "group {group}, uid {us}");
        }
        assert!(is_ours(0, 1000) && !is_alone(50, 0, "", ""));
    }
}
