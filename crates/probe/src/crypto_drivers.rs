//! The kernel's crypto drivers: `/proc/crypto`.

use std::collections::BTreeMap;

use trial::Fact;

use crate::fact::{Found, absent, ok, unread, whether};
use crate::machine::Machine;
use crate::row::Row::{self, Many, One};

pub(super) const FACTS: &[Row] = &[
    Many(facts),
    One(
        "kernel.crypto.userspace",
        "Kernel crypto from programs (AF_ALG)",
        userspace,
    ),
];

/// (algorithm, module with a fast driver on x86, the same on ARM).
const SHOWN: [(&str, &str, &str); 10] = [
    ("cbc(aes)", "aesni_intel", "aes_ce_blk"),
    ("ctr(aes)", "aesni_intel", "aes_ce_blk"),
    ("xts(aes)", "aesni_intel", "aes_ce_blk"),
    ("gcm(aes)", "aesni_intel", "ghash_ce"),
    ("rfc4106(gcm(aes))", "aesni_intel", "ghash_ce"),
    ("lrw(aes)", "lrw", "lrw"),
    ("chacha20", "chacha_x86_64", "chacha_neon"),
    ("ghash", "ghash_clmulni_intel", "ghash_ce"),
    ("sha256", "sha256_ssse3", "sha2_ce"),
    ("rsa", "rsa_generic", "rsa_generic"),
];

/// One registered driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Driver {
    algorithm: String,
    name: String,
    priority: i64,
    is_async: bool,
    is_internal: bool,
    kind: Kind,
}

/// What does the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    #[default]
    Generic,
    Instructions,
    Device,
}

fn facts(on: &Machine) -> Vec<Fact> {
    let module = |(_, x86, arm): &(_, &'static str, &'static str)| match on.cpu.info.is_arm() {
        true => *arm,
        false => *x86,
    };
    let drivers = on.host.text("/proc/crypto").map(|text| parse(&text));
    let all = match &drivers {
        Some(drivers) => summary(drivers, module(&SHOWN[0])),
        None => unread("/proc/crypto"),
    };
    let mut facts = vec![all.named("kernel.crypto.drivers", "Kernel crypto drivers")];
    for shown in SHOWN.iter().filter(|_| drivers.is_some()) {
        let found = best(
            drivers.as_deref().unwrap_or_default(),
            shown.0,
            module(shown),
        );
        facts.push(found.named(format!("kernel.crypto.{}", shown.0), shown.0));
    }
    facts
}

/// Blocks of `key : value`, one a driver, divided by empty lines.
fn parse(text: &str) -> Vec<Driver> {
    text.split("\n\n")
        .map(block)
        .filter(|driver| !driver.algorithm.is_empty())
        .collect()
}

fn block(text: &str) -> Driver {
    let fields: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.trim(), value.trim()))
        .collect();
    let field = |key: &str| fields.get(key).copied().unwrap_or_default();
    Driver {
        algorithm: field("name").to_owned(),
        name: field("driver").to_owned(),
        priority: field("priority").parse().unwrap_or(0),
        is_async: field("async") == "yes",
        is_internal: field("internal") == "yes",
        kind: kind(field("driver"), field("module")),
    }
}

/// By the names that Linux drivers use.
fn kind(driver: &str, module: &str) -> Kind {
    const DEVICES: &str = "qat ccp hisi iaa virtio_crypto cpt caam chcr safexcel nitrox omap";
    // Since Linux 6.16 a library driver ("-lib") picks the instructions itself.
    const INSTRUCTIONS: &str =
        "aesni vaes -avx _avx ssse3 clmul pclmul sha-ni sha_ni -lib -neon -ce -simd -x86";
    let holds = |names: &str| {
        let mut names = names.split(' ');
        names.any(|name| driver.contains(name) || module.contains(name))
    };
    if holds(DEVICES) {
        Kind::Device
    } else if holds(INSTRUCTIONS) {
        Kind::Instructions
    } else {
        Kind::Generic
    }
}

fn summary(drivers: &[Driver], module: &str) -> Found {
    let count = |kind: Kind| drivers.iter().filter(|driver| driver.kind == kind).count();
    let (devices, instructions) = (count(Kind::Device), count(Kind::Instructions));
    let fast = || drivers.iter().filter(|driver| driver.kind > Kind::Generic);
    let has_aes = fast().any(|driver| driver.algorithm.contains("aes"));
    let names = fast().filter(|driver| !driver.is_internal);
    let text = format!(
        "{} registered: {devices} by devices, {instructions} by CPU instructions; {} of these for AES",
        drivers.len(),
        if has_aes { "some" } else { "none" },
    );
    ok(names.map(|driver| &driver.name[..]).collect::<Vec<_>>(), text).degraded_unless(
        has_aes,
        format!("dm-crypt, IPsec and kTLS encrypt AES in generic C: `modprobe {module}`, or boot a kernel that has it"),
    )
}

/// What the kernel would choose: the highest priority.
fn best(drivers: &[Driver], algorithm: &str, module: &str) -> Found {
    let mut known: Vec<&Driver> = drivers
        .iter()
        .filter(|driver| driver.algorithm == algorithm && !driver.is_internal)
        .collect();
    known.sort_by_key(|driver| std::cmp::Reverse((driver.priority, driver.kind)));
    let Some(first) = known.first() else {
        return absent(
            "not registered now",
            format!(
                "the kernel builds templates on first use; else `modprobe {module}` or a kernel that has it"
            ),
        );
    };
    let text: Vec<String> = known.iter().map(|driver| describe(driver)).collect();
    let names: Vec<&str> = known.iter().map(|driver| &driver.name[..]).collect();
    // Big-integer arithmetic has no other driver than the generic one.
    let is_fast = first.kind > Kind::Generic || algorithm == "rsa";
    ok(names, text.join("; ")).degraded_unless(
        is_fast,
        format!("the best driver is generic C: `modprobe {module}`, or boot a kernel that has an accelerated one"),
    )
}

fn describe(driver: &Driver) -> String {
    let by = match driver.kind {
        Kind::Generic => "generic",
        Kind::Instructions => "instructions",
        Kind::Device => "device",
    };
    let queued = if driver.is_async { ", async" } else { "" };
    format!(
        "{} (priority {}, {by}{queued})",
        driver.name, driver.priority
    )
}

/// AF_ALG, by which programs reach these drivers.
fn userspace(on: &Machine) -> Found {
    whether(
        on.host.has_protocol("ALG"),
        "available",
        "not registered now",
        "`modprobe af_alg algif_skcipher algif_aead`, or a kernel with CONFIG_CRYPTO_USER_API_*",
    )
}

#[cfg(test)]
mod tests {
    use trial::State;

    use super::*;

    #[test]
    fn the_highest_priority_wins_and_internal_ones_do_not_count() {
        let text = "name : gcm(aes)\ndriver : gcm_base(ctr(aes-generic),ghash-generic)\npriority : 100\n\n\
            name : gcm(aes)\ndriver : qat_aes_gcm\nmodule : intel_qat\npriority : 4001\nasync : yes\n\n\
            name : gcm(aes)\ndriver : __x\npriority : 9999\ninternal : yes\n\nrubbish\n\n\
            name : xts(aes)\ndriver : xts(ecb(aes-generic))\npriority : 100\n";
        let drivers = parse(text);
        assert_eq!(drivers.len(), 4);
        let gcm = best(&drivers, "gcm(aes)", "aesni_intel");
        let fastest = "qat_aes_gcm (priority 4001, device, async);";
        assert!(gcm.text.starts_with(fastest), "{gcm:?}");
        let state = |algorithm| best(&drivers, algorithm, "aesni_intel").state;
        assert_eq!(state("gcm(aes)"), State::Ok);
        assert_eq!(state("xts(aes)"), State::Degraded, "generic only");
        assert_eq!(state("cbc(aes)"), State::Absent);
    }
}
