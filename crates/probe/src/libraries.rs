//! Crypto libraries that programs on this host would use.

mod packages;

use trial::Fact;

use self::packages::Packages;
use crate::command::Outcome;
use crate::fact::{Found, NOTHING_TO_DO, absent, ok, refused};
use crate::machine::Machine;
use crate::row::Row::{self, Many, One};

pub(super) const FACTS: &[Row] = &[
    One("library.openssl", "openssl (program)", openssl),
    Many(facts),
];

/// Where distributions put shared libraries.
const DIRS: [&str; 8] = [
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
];

/// One library.
struct Library {
    key: &'static str,
    name: &'static str,
    /// How its file names begin.
    file: &'static str,
    /// Its package on Debian.
    deb: &'static str,
    /// Its package on Fedora and Red Hat.
    rpm: &'static str,
}

const fn library(
    key: &'static str,
    name: &'static str,
    file: &'static str,
    deb: &'static str,
    rpm: &'static str,
) -> Library {
    Library {
        key,
        name,
        file,
        deb,
        rpm,
    }
}

const IPSEC_MB: &str = "library.ipsec_mb";

#[rustfmt::skip]
const LIBRARIES: &[Library] = &[
    library("library.libcrypto", "OpenSSL libcrypto", "libcrypto.so", "libssl3", "openssl-libs"),
    library(IPSEC_MB, "Intel ipsec-mb", "libIPSec_MB.so", "libipsec-mb1", "intel-ipsec-mb"),
    library("library.gnutls", "GnuTLS", "libgnutls.so", "libgnutls30", "gnutls"),
    library("library.gcrypt", "libgcrypt", "libgcrypt.so", "libgcrypt20", "libgcrypt"),
    library("library.nettle", "Nettle", "libnettle.so", "libnettle8", "nettle"),
    library("library.nss", "NSS", "libnss3.so", "libnss3", "nss"),
    library("library.wolfssl", "wolfSSL", "libwolfssl.so", "libwolfssl35", "wolfssl"),
    library("library.mbedtls", "Mbed TLS", "libmbedcrypto.so", "libmbedcrypto7", "mbedtls"),
    library("library.sodium", "libsodium", "libsodium.so", "libsodium23", "libsodium"),
    library("library.qat", "Intel QATlib", "libqat.so", "libqat4", "qatlib"),
    library("library.isal_crypto", "ISA-L crypto", "libisal_crypto.so", "libisal-crypto2", "isa-l_crypto"),
];

fn facts(on: &Machine) -> Vec<Fact> {
    let list = |dir: &'static str| on.host.names(dir).into_iter().map(move |name| (dir, name));
    let files: Vec<(&str, String)> = DIRS.into_iter().flat_map(list).collect();
    let packages = Packages::read(&on.host, LIBRARIES);
    let fact = |library: &Library| {
        let found = installed(library, &files, &packages);
        let found = found.unwrap_or_else(|| missing(library, on.cpu.info.is_arm()));
        found.named(library.key, library.name)
    };
    LIBRARIES.iter().map(fact).collect()
}

/// The reference arm of `lockgate speed`.
fn openssl(on: &Machine) -> Found {
    let printed = match on.host.command("openssl", &["version"]) {
        Outcome::Refused(why) => return refused(&why),
        outcome => outcome.printed().unwrap_or_default(),
    };
    let line = printed.lines().next().unwrap_or_default();
    match line.split_whitespace().nth(1) {
        Some(version) => ok(version, line),
        None => absent(
            "not installed",
            "install openssl: `openssl speed` is then measured beside us as the reference",
        ),
    }
}

/// The version is the package's; without one, what the file's name tells.
fn installed(library: &Library, files: &[(&str, String)], packages: &Packages) -> Option<Found> {
    let (suffix, dir) = files
        .iter()
        .filter_map(|(dir, name)| Some((suffix(name, library.file)?, *dir)))
        // The fullest name says most: `.so.1.3.0` rather than `.so.1`.
        .max_by_key(|(suffix, _)| (suffix.matches('.').count(), suffix.len()))?;
    let file = format!("{dir}/{}{suffix}", library.file);
    let by_name = suffix.trim_start_matches('.');
    Some(match packages.version(library) {
        Some(version) => ok(version, format!("{version} ({file})")),
        None if by_name.is_empty() => ok("unknown", file),
        None => ok(format!("so.{by_name}"), file),
    })
}

fn missing(library: &Library, is_arm: bool) -> Found {
    let package = library.deb;
    let remedy = match (library.key, is_arm) {
        (IPSEC_MB, true) => format!("{NOTHING_TO_DO}: it is for x86-64"),
        (IPSEC_MB, false) => format!(
            "install {package}: with several requests in flight it is 2 to 10 times faster at AES-CBC and SHA-256"
        ),
        _ => format!("optional: install {package} (Debian's name) where a program needs it"),
    };
    absent("not installed", remedy)
}

/// What follows `libx.so` in a file name: `.20.4.1`, or nothing.
fn suffix<'a>(name: &'a str, file: &str) -> Option<&'a str> {
    let rest = name.strip_prefix(file)?;
    let numbered = rest
        .strip_prefix('.')
        .is_some_and(|number| number.chars().all(|c| c.is_ascii_digit() || c == '.'));
    (rest.is_empty() || numbered).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_from_file_names() {
        assert_eq!(
            suffix("libgcrypt.so.20.4.1", "libgcrypt.so"),
            Some(".20.4.1")
        );
        assert_eq!(suffix("libnss3.so", "libnss3.so"), Some(""));
        assert_eq!(suffix("libcrypto.so.3.hmac", "libcrypto.so"), None);
        assert_eq!(suffix("libgnutls.so-gdb.py", "libgnutls.so"), None);
    }
}
