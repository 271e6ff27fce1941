//! FRR: zebra, and a program for each protocol that the configuration has.

use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::Path;
use std::process::Command;

use net::journal::Entry;
use net::{Journal, Namespace};

use super::{Program, Running, accepts, failed, program, read};
use crate::plane::PlaneError;
use crate::plane::plan::Control;

/// Where Debian and others, and Fedora, put the programs.
const FOLDERS: [&str; 2] = ["/usr/lib/frr", "/usr/libexec/frr"];
/// `vtysh`.
const SHELLS: [&str; 1] = ["/usr/bin"];
/// The user that FRR's programs become, and of their folder.
const USER: &str = "frr";

/// Programs, and how the lines of a configuration begin that are theirs. The first two
/// always run.
const PROGRAMS: [(&str, &str); 9] = [
    ("zebra", ""),
    ("staticd", ""),
    ("bgpd", "router bgp"),
    ("ospfd", "router ospf"),
    ("ospf6d", "router ospf6"),
    ("isisd", "router isis"),
    ("ripd", "router rip"),
    ("ripngd", "router ripng"),
    ("bfdd", "bfd"),
];

/// Those that this configuration needs.
fn needed(text: &str) -> Vec<&'static str> {
    let has = |begin: &str| {
        let words: Vec<&str> = begin.split(' ').collect();
        text.lines().any(|line| {
            let mut own = line.split_whitespace();
            !line.starts_with(char::is_whitespace)
                && words.iter().all(|&word| own.next() == Some(word))
        })
    };
    let needed = PROGRAMS
        .into_iter()
        .filter(|(_, begin)| begin.is_empty() || has(begin));
    needed.map(|(name, _)| name).collect()
}

fn shell() -> Result<Command, PlaneError> {
    program("vtysh", &SHELLS, "frr")
}

fn text_of(file: &Path) -> Result<String, PlaneError> {
    Ok(String::from_utf8_lossy(&read(file)?).into_owned())
}

pub(super) fn check(file: &Path) -> Result<(), PlaneError> {
    for name in needed(&text_of(file)?) {
        program(name, &FOLDERS, "frr")?;
    }
    user()?;
    let mut command = shell()?;
    command.arg("-C").arg("-f").arg(file);
    accepts(command, "vtysh")
}

/// The numbers of FRR's user and group (passwd(5)).
fn user() -> Result<(u32, u32), PlaneError> {
    let text = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut lines = text.lines().map(|line| line.split(':'));
    let found = lines.find_map(|mut fields| {
        let is_it = fields.next() == Some(USER);
        let mut number = || fields.next()?.parse().ok();
        is_it.then(|| {
            number();
            Some((number()?, number()?))
        })?
    });
    found.ok_or_else(|| PlaneError::NotSupported {
        what: "a router with frr".to_owned(),
        remedy: format!("no user '{USER}' in /etc/passwd; install frr again"),
    })
}

pub(super) fn start(
    journal: &Journal,
    namespace: &Namespace,
    file: &Path,
    ours: &Path,
) -> Result<Running, PlaneError> {
    // Its programs are no longer root when they make their sockets.
    let folder = Path::new("/run").join(format!("{}-frr", namespace.name()));
    let record = journal.record(Entry::Folder {
        path: folder.clone(),
    })?;
    let (user, group) = user()?;
    let made = std::fs::DirBuilder::new()
        .mode(0o750)
        .create(&folder)
        .and_then(|()| chown(&folder, Some(user), Some(group)));
    made.map_err(failed(format!("cannot make {}", folder.display())))?;
    let mut running = Running {
        control: Control::Frr(file.to_owned()),
        text: read(file)?,
        programs: Vec::new(),
        asked_by: format!("vtysh --vty_socket {}", folder.display()),
        files: Vec::new(),
        _folder: Some(record),
    };
    for name in needed(&text_of(file)?) {
        // Not in its folder: its user could put a link there, and we write as root.
        let said = ours.join(format!("{}-{name}.log", namespace.name()));
        let one = start_one(journal, namespace, name, &folder, &said)?;
        running.programs.push(one);
        running.files.push(said.clone());
        let last = running.programs.last_mut().expect("pushed");
        last.wait(&folder.join(format!("{name}.vty")), &said)?;
    }
    let mut configure = shell()?;
    configure
        .arg("--vty_socket")
        .arg(&folder)
        .arg("-f")
        .arg(file);
    accepts(configure, "vtysh")?;
    Ok(running)
}

fn start_one(
    journal: &Journal,
    namespace: &Namespace,
    name: &'static str,
    folder: &Path,
    said: &Path,
) -> Result<Program, PlaneError> {
    let mut command = program(name, &FOLDERS, "frr")?;
    // Its configuration comes by vtysh; it listens nowhere but at its sockets.
    command
        .args(["-f", "/dev/null", "-P", "0", "-i"])
        .arg(folder.join(format!("{name}.pid")))
        .arg("-z")
        .arg(folder.join("zserv.api"))
        .arg("--vty_socket")
        .arg(folder);
    Program::start(journal, namespace, name, command, said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_those_of_the_configuration() {
        assert_eq!(needed(""), ["zebra", "staticd"]);
        let text = "hostname x\nrouter bgp 64512\n router ospf6\n!router ripng\nrouter  rip\nbfd\n";
        assert_eq!(needed(text), ["zebra", "staticd", "bgpd", "ripd", "bfdd"]);
        assert_eq!(needed("router ospf6\n"), ["zebra", "staticd", "ospf6d"]);
    }
}
