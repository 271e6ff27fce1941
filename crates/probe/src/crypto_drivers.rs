//! The kernel's crypto drivers: `/proc/crypto`.

use std::collections::BTreeMap;

use serde_json::Value;
use trial::Fact;

use crate::Host;
use crate::cpu::Context;

use crate::fact::{Judge, fact, unread};

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

pub(super) fn facts(host: &Host, cpu: &Context) -> Vec<Fact> {
    let Some(text) = host.text("/proc/crypto") else {
        return vec![
            unread(
                "kernel.crypto.drivers",
                "Kernel crypto drivers",
                "/proc/crypto",
            ),
            userspace(host),
        ];
    };
    let drivers = parse(&text);
    let is_arm = cpu.info.is_arm();
    let mut facts = vec![summary(
        &drivers,
        if is_arm { SHOWN[0].2 } else { SHOWN[0].1 },
    )];

    facts.extend(
        SHOWN
            .iter()
            .map(|(algorithm, x86, arm)| best(&drivers, algorithm, if is_arm { arm } else { x86 })),
    );
    facts.push(userspace(host));
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

fn summary(drivers: &[Driver], module: &str) -> Fact {
    let count = |kind: Kind| drivers.iter().filter(|driver| driver.kind == kind).count();
    let (devices, instructions) = (count(Kind::Device), count(Kind::Instructions));
    let fast_aes =
        |driver: &Driver| driver.kind > Kind::Generic && driver.algorithm.contains("aes");
    let has_aes = drivers.iter().any(fast_aes);
    let names: Vec<&str> = drivers
        .iter()
        .filter(|driver| driver.kind > Kind::Generic && !driver.is_internal)
        .map(|driver| driver.name.as_str())
        .collect();
    let text = format!(
        "{} registered: {devices} by devices, {instructions} by CPU instructions; {} of these for AES",
        drivers.len(),
        if has_aes { "some" } else { "none" },
    );
    let fact = fact(
        "kernel.crypto.drivers",
        "Kernel crypto drivers",
        names,
        text,
    );
    if has_aes {
        return fact;
    }
    fact.degraded(format!(
        "dm-crypt, IPsec and kTLS encrypt AES in generic C: `modprobe {module}`, or boot a kernel that has it"
    ))
}

/// What the kernel would choose: the highest priority.
fn best(drivers: &[Driver], algorithm: &str, module: &str) -> Fact {
    let mut known: Vec<&Driver> = drivers
        .iter()
        .filter(|driver| driver.algorithm == algorithm && !driver.is_internal)
        .collect();
    known.sort_by_key(|driver| std::cmp::Reverse((driver.priority, driver.kind)));
    let key = format!("kernel.crypto.{algorithm}");
    let Some(first) = known.first() else {
        let none = fact(key, algorithm, Value::Null, "not registered now");
        return none.absent(format!(
            "the kernel builds templates on first use; else `modprobe {module}` or a kernel that has it"
        ));
    };
    let names: Vec<String> = known.iter().map(|driver| describe(driver)).collect();
    let value: Vec<&str> = known.iter().map(|driver| driver.name.as_str()).collect();
    let fact = fact(key, algorithm, value, names.join("; "));
    // Big-integer arithmetic has no other driver than the generic one.
    if first.kind > Kind::Generic || algorithm == "rsa" {
        return fact;
    }
    fact.degraded(format!(
        "the best driver is generic C: `modprobe {module}`, or boot a kernel that has an accelerated one"
    ))
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
fn userspace(host: &Host) -> Fact {
    let (key, label) = (
        "kernel.crypto.userspace",
        "Kernel crypto from programs (AF_ALG)",
    );
    let protocols = host.text("/proc/net/protocols").unwrap_or_default();
    if protocols
        .lines()
        .any(|line| line.split_whitespace().next() == Some("ALG"))
    {
        return fact(key, label, true, "available");
    }
    fact(key, label, false, "not registered now").absent(
        "`modprobe af_alg algif_skcipher algif_aead`, or a kernel with CONFIG_CRYPTO_USER_API_*",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_priority_wins_and_internal_ones_do_not_count() {
        let text = "name : gcm(aes)\ndriver : gcm_base(ctr(aes-generic),ghash-generic)\npriority : 100\n\n\
            name : gcm(aes)\ndriver : qat_aes_gcm\nmodule : intel_qat\npriority : 4001\nasync : yes\n\n\
            name : gcm(aes)\ndriver : __x\npriority : 9999\ninternal : yes\n\nrubbish\n";
        let drivers = parse(text);
        assert_eq!(drivers.len(), 3);
        let fact = best(&drivers, "gcm(aes)", "aesni_intel");
        assert!(
            fact.text
                .starts_with("qat_aes_gcm (priority 4001, device, async);"),
            "{}",
            fact.text
        );
        assert_eq!(fact.state, trial::State::Ok);
    }

    #[test]
    fn generic_only_is_degraded_and_none_is_absent() {
        let drivers = parse("name : xts(aes)\ndriver : xts(ecb(aes-generic))\npriority : 100\n");
        assert_eq!(
            best(&drivers, "xts(aes)", "aesni_intel").state,
            trial::State::Degraded
        );
        assert_eq!(
            best(&drivers, "cbc(aes)", "aesni_intel").state,
            trial::State::Absent
        );
    }
}
