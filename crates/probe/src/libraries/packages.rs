//! Versions as the package manager knows them.

use std::collections::BTreeMap;

use crate::Host;
use crate::command::Outcome;
use crate::libraries::Library;

/// Installed packages and their versions.
pub(super) struct Packages {
    deb: BTreeMap<String, String>,
    rpm: String,
}

impl Packages {
    /// Asks dpkg, or rpm where there is no dpkg; a host without either has
    /// no package that we could see.
    pub(super) fn read(host: &Host, libraries: &[Library]) -> Self {
        match host.command("dpkg-query", &["-W"]) {
            Outcome::Printed(text) | Outcome::Failed(text) => Self {
                deb: parse_deb(&text),
                rpm: String::new(),
            },
            Outcome::Missing | Outcome::Refused(_) => Self {
                deb: BTreeMap::new(),
                rpm: ask_rpm(host, libraries),
            },
        }
    }

    /// The version of the package that brings `library`.
    pub(super) fn version(&self, library: &Library) -> Option<&str> {
        let by_deb = || {
            let found = self
                .deb
                .iter()
                .find(|(name, _)| is_version_of(name, library.deb));
            found.map(|(_, version)| version.as_str())
        };
        let by_rpm = || {
            self.rpm
                .lines()
                .find_map(|line| version_of_rpm(line, library.rpm))
        };
        by_deb().or_else(by_rpm)
    }
}

/// It exits with an error when one of the packages is not installed.
fn ask_rpm(host: &Host, libraries: &[Library]) -> String {
    let mut arguments = vec!["-q"];
    arguments.extend(libraries.iter().map(|library| library.rpm));
    match host.command("rpm", &arguments) {
        Outcome::Printed(text) | Outcome::Failed(text) => text,
        Outcome::Missing | Outcome::Refused(_) => String::new(),
    }
}

/// `name[:architecture]<tab>version`; a removed package has no version.
fn parse_deb(text: &str) -> BTreeMap<String, String> {
    let entry = |line: &str| {
        let (name, version) = line.split_once('\t')?;
        let name = name.split(':').next()?.to_owned();
        (!version.is_empty()).then(|| (name, version.to_owned()))
    };
    text.lines().filter_map(entry).collect()
}

/// Whether `name` is `package` in some release: `libssl3`, `libssl1.1` and
/// `libssl3t64` are one.
fn is_version_of(name: &str, package: &str) -> bool {
    let base = package.trim_end_matches(|c: char| c.is_ascii_digit());
    let Some(rest) = name.strip_prefix(base) else {
        return false;
    };
    let number = rest.strip_suffix("t64").unwrap_or(rest);
    number.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// `libgcrypt-1.11.0-3.fc41.x86_64` to `1.11.0-3.fc41`.
fn version_of_rpm<'a>(line: &'a str, package: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(package)?.strip_prefix('-')?;
    let version = rest.rsplit_once('.').map_or(rest, |(version, _)| version);
    version
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_releases_count() {
        for name in ["libssl3", "libssl1.1", "libssl3t64"] {
            assert!(is_version_of(name, "libssl3"), "{name}");
        }
        for name in ["libssl-dev", "libssl3-udeb", "libssh-4"] {
            assert!(!is_version_of(name, "libssl3"), "{name}");
        }
    }

    #[test]
    fn dpkg_and_rpm_lines() {
        let deb = parse_deb("libssl3:amd64\t3.0.17-1\nremoved\t\nnonsense\n");
        assert_eq!(
            deb.into_iter().collect::<Vec<_>>(),
            [("libssl3".to_owned(), "3.0.17-1".to_owned())]
        );
        let line = "libgcrypt-1.11.0-3.fc41.x86_64";
        assert_eq!(version_of_rpm(line, "libgcrypt"), Some("1.11.0-3.fc41"));
        assert_eq!(version_of_rpm("package nss is not installed", "nss"), None);
        assert_eq!(version_of_rpm("nss-util-3.1-1.x86_64", "nss"), None);
    }
}
