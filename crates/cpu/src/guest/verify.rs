//! Whether a guest has the CPU that was asked for, and uses it.

use super::{Accelerator, Catalogue, Flags};

/// What follows `-cpu`, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The flags that a guest of it should see.
    pub asked: Flags,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    #[error("'{name}' is no CPU model of {origin}; `qemu-system-x86_64 -cpu help` lists them")]
    Model { name: String, origin: String },
    #[error(
        "'{part}' of the CPU '{line}' is none of +flag, -flag, flag=on, flag=off and what QEMU calls properties; write it as behind -cpu"
    )]
    Part { part: String, line: String },
}

impl Line {
    /// Takes a line apart. `most` is what `host` and `max` show.
    ///
    /// # Errors
    /// [`LineError`] names what is none of QEMU's.
    pub fn parse(
        text: &str,
        catalogue: &Catalogue,
        accelerator: Accelerator,
        most: Flags,
    ) -> Result<Self, LineError> {
        let mut parts = text.split(',').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let mut asked = match name {
            "host" | "max" => most,
            _ => {
                let model = catalogue.model(name).ok_or_else(|| LineError::Model {
                    name: name.to_owned(),
                    origin: catalogue.origin.clone(),
                })?;
                Catalogue::shown(model, accelerator)
            }
        };
        for part in parts {
            let wrong = || LineError::Part {
                part: part.to_owned(),
                line: text.to_owned(),
            };
            let (flag, is_on) = match (part.strip_prefix('+'), part.strip_prefix('-')) {
                (Some(flag), _) => (flag, true),
                (_, Some(flag)) => (flag, false),
                _ => match part.split_once('=') {
                    Some((flag, "on")) => (flag, true),
                    Some((flag, "off")) => (flag, false),
                    // A property that is no flag: `phys-bits=48`.
                    Some(_) => continue,
                    None if ["enforce", "check"].contains(&part) => continue,
                    None => return Err(wrong()),
                },
            };
            // QEMU takes the kernel's spelling as well.
            let spelt = [
                flag.to_owned(),
                flag.replace('_', "-"),
                flag.replace('_', "."),
            ];
            let known = spelt.iter().find_map(|name| Flags::named(name).ok());
            match (known, is_on) {
                (Some(flag), true) => asked = asked.or(flag),
                (Some(flag), false) => asked = asked.without(flag),
                // Properties such as `kvm` or `migratable` are switches, too.
                (None, _) if part.contains('=') => {}
                (None, _) => return Err(wrong()),
            }
        }
        Ok(Self {
            asked: asked.closed(),
            text: text.to_owned(),
        })
    }

    /// The line without flags that an emulator cannot show.
    pub fn without(&self, flags: Flags) -> String {
        let taken: String = flags.names().map(|name| format!(",-{name}")).collect();
        format!("{}{taken}", self.text)
    }
}

/// What a guest says of itself.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    /// By CPUID.
    pub stated: Flags,
    /// What its kernel took away.
    pub cleared: Flags,
    /// Its `/proc/crypto`, after every driver was loaded.
    pub crypto: &'a str,
    /// How its kernel was built; empty where that is not known.
    pub config: &'a str,
}

/// Something that is not as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    NotSeen {
        flag: &'static str,
    },
    Cleared {
        flag: &'static str,
    },
    NotUsed {
        algorithm: &'static str,
        flag: &'static str,
        /// The driver that does it instead, where there is one.
        driver: Option<String>,
        module: &'static str,
    },
    NotBuilt {
        option: &'static str,
        mode: Option<&'static str>,
    },
}

/// What the kernel should use a flag for: the flag, the algorithm, parts of one of
/// which its driver's name is, and the module with it.
const DRIVERS: [(&str, &str, &[&str], &str); 7] = [
    ("aes", "cbc(aes)", &["aesni"], "aesni_intel"),
    ("aes", "ctr(aes)", &["aesni", "vaes"], "aesni_intel"),
    ("aes", "ecb(aes)", &["aesni"], "aesni_intel"),
    ("aes", "xts(aes)", &["aesni", "vaes"], "aesni_intel"),
    ("aes", "gcm(aes)", &["aesni", "vaes"], "aesni_intel"),
    ("pclmulqdq", "ghash", &["clmul"], "ghash_clmulni_intel"),
    ("sha-ni", "sha256", &["-ni"], "sha256_ssse3"),
];

/// What the source's list is called today (it names `CRYPTO_FPU` and
/// `CRYPTO_AES_X86_64` besides, which Linux 4.x and 5.4 gave up), and the dm-crypt
/// cipher that fails without it.
const OPTIONS: [(&str, Option<&str>); 10] = [
    ("CONFIG_DM_CRYPT", None),
    ("CONFIG_CRYPTO_AES", None),
    ("CONFIG_CRYPTO_AES_NI_INTEL", None),
    ("CONFIG_CRYPTO_CBC", Some("aes-cbc-plain")),
    ("CONFIG_CRYPTO_CTR", Some("aes-ctr-plain")),
    ("CONFIG_CRYPTO_ECB", Some("aes-ecb-plain")),
    ("CONFIG_CRYPTO_LRW", Some("aes-lrw-plain")),
    ("CONFIG_CRYPTO_PCBC", Some("aes-pcbc-plain")),
    ("CONFIG_CRYPTO_XTS", Some("aes-xts-plain")),
    ("CONFIG_CRYPTO_CTS", None),
];

/// The modules whose drivers are looked for.
pub fn modules() -> impl Iterator<Item = &'static str> {
    let mut all: Vec<_> = DRIVERS.iter().map(|(.., module)| *module).collect();
    all.dedup();
    all.into_iter()
}

/// All that is not as it was asked for; `unverified` flags, which nothing here can
/// show, are left out.
pub fn mismatches(asked: Flags, unverified: Flags, seen: &Seen<'_>) -> Vec<Mismatch> {
    let asked = asked.without(unverified);
    let mut all = Vec::new();
    for flag in asked.without(immune()).without(seen.stated).names() {
        all.push(Mismatch::NotSeen { flag });
    }
    for flag in asked.and(seen.stated).and(seen.cleared).names() {
        all.push(Mismatch::Cleared { flag });
    }
    let usable = asked.and(seen.stated).without(seen.cleared);
    for (flag, algorithm, parts, module) in DRIVERS {
        if !usable.has(flag) {
            continue;
        }
        let driver = best_driver(seen.crypto, algorithm);
        let is_used = |driver: &&str| parts.iter().any(|part| driver.contains(part));
        if driver.filter(is_used).is_none() {
            all.push(Mismatch::NotUsed {
                algorithm,
                flag,
                driver: driver.map(str::to_owned),
                module,
            });
        }
    }
    if !seen.config.is_empty() {
        let is_built = |option: &str| {
            let answers = ["y", "m"].map(|answer| format!("{option}={answer}"));
            seen.config
                .lines()
                .any(|line| answers.iter().any(|own| own == line))
        };
        for (option, mode) in OPTIONS.into_iter().filter(|(option, _)| !is_built(option)) {
            all.push(Mismatch::NotBuilt { option, mode });
        }
    }
    all
}

/// Flags of registers that CPUID does not state.
fn immune() -> Flags {
    Flags::default()
        .with_register(super::ARCH_CAPABILITIES, u64::MAX)
        .with_register(super::CORE_CAPABILITIES, u64::MAX)
}

/// The driver of the highest priority (`/proc/crypto`, as the kernel chooses).
pub fn best_driver<'t>(crypto: &'t str, algorithm: &str) -> Option<&'t str> {
    let blocks = crypto.split("\n\n");
    let own = blocks.filter(|block| field(block, "name") == Some(algorithm));
    let usable = own.filter(|block| field(block, "internal") != Some("yes"));
    let priority = |block: &&str| {
        let text = field(block, "priority");
        text.and_then(|text| text.parse().ok()).unwrap_or(0_i32)
    };
    let best = usable.max_by_key(priority);
    best.and_then(|block| field(block, "driver"))
}

fn field<'t>(block: &'t str, name: &str) -> Option<&'t str> {
    let lines = block.lines().filter_map(|line| line.split_once(':'));
    let mut own = lines.filter(|(key, _)| key.trim() == name);
    own.next().map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<Line, LineError> {
        let most = Flags::named("lm aes xsave avx").unwrap();
        Line::parse(text, &Catalogue::bundled(), Accelerator::Kvm, most)
    }

    #[test]
    fn lines_are_read_as_qemu_does() {
        let asked = |text| line(text).unwrap().asked;
        let nehalem = asked("Nehalem");
        assert!(nehalem.has("sse4.2") && !nehalem.has("aes"));
        let aes = Flags::named("aes").unwrap();
        for text in [
            "Nehalem,+aes",
            "Nehalem-v1,aes=on,enforce",
            "Nehalem, +aes, phys-bits=48, migratable=on",
        ] {
            assert_eq!(asked(text), nehalem.or(aes), "{text}");
        }
        assert_eq!(
            asked("Westmere,-aes").without(aes),
            asked("Westmere,aes=off")
        );
        assert_eq!(asked("host,-avx"), Flags::named("lm aes xsave").unwrap());
        assert_eq!(
            asked("host,-xsave"),
            Flags::named("lm aes").unwrap(),
            "AVX needs it"
        );
        assert!(asked("EPYC,+sse4_1").has("sse4.1"));
        let taken = line("Nehalem,+aes").unwrap().without(aes);
        assert_eq!(taken, "Nehalem,+aes,-aes");
        for (text, words) in [
            ("NoModel,+aes", "'NoModel' is no CPU model"),
            ("Nehalem,+no-flag", "'+no-flag'"),
            ("Nehalem,aes", "'aes' of the CPU"),
            ("", "'' is no CPU model"),
        ] {
            let error = line(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    /// What a kernel lists: driver and priority of each algorithm.
    fn crypto(drivers: &[(&str, &str, u32)]) -> String {
        let block = |(name, driver, priority): &(&str, &str, u32)| {
            format!(
                "name         : {name}\ndriver       : {driver}\nmodule       : kernel\npriority     : {priority}\ninternal     : no\n\n"
            )
        };
        drivers.iter().map(block).collect()
    }

    #[test]
    fn every_planted_mismatch_is_named() {
        let asked = Flags::named("lm aes pclmulqdq sha-ni xsave avx avx512f rdctl-no").unwrap();
        let all = crypto(&[
            ("cbc(aes)", "cbc(aes-generic)", 100),
            ("cbc(aes)", "cbc-aes-aesni", 400),
            ("ctr(aes)", "ctr-aes-aesni", 400),
            ("ecb(aes)", "ecb-aes-aesni", 400),
            ("xts(aes)", "xts-aes-vaes-avx2", 600),
            ("gcm(aes)", "generic-gcm-aesni", 400),
            ("ghash", "ghash-clmulni", 400),
            ("sha256", "sha256-ni", 250),
        ]);
        let config: String = OPTIONS
            .iter()
            .map(|(option, _)| format!("{option}=m\n"))
            .collect();
        let whole = Seen {
            stated: asked,
            cleared: Flags::default(),
            crypto: &all,
            config: &config,
        };
        let unverified = Flags::named("avx512f").unwrap();
        let found = |seen: &Seen<'_>| mismatches(asked, unverified, seen);
        assert_eq!(found(&whole), []);
        let without = |name: &str| Flags::named(name).unwrap();
        for flag in ["lm", "avx", "xsave"] {
            let planted = Seen {
                stated: asked.without(without(flag)),
                ..whole.clone()
            };
            assert_eq!(found(&planted), [Mismatch::NotSeen { flag }]);
            let planted = Seen {
                cleared: without(flag),
                ..whole.clone()
            };
            assert_eq!(found(&planted), [Mismatch::Cleared { flag }]);
        }
        for (flag, algorithm, _, module) in DRIVERS {
            let lines = all.split_inclusive("\n\n");
            let is_own = |block: &&str| block.contains(&format!(": {algorithm}\n"));
            let is_generic = |block: &&str| block.contains("generic)");
            let kept: String = lines
                .filter(|block| !is_own(block) || is_generic(block))
                .collect();
            let planted = Seen {
                crypto: &kept,
                ..whole.clone()
            };
            let driver = (algorithm == "cbc(aes)").then(|| "cbc(aes-generic)".to_owned());
            let expected = Mismatch::NotUsed {
                algorithm,
                flag,
                driver,
                module,
            };
            assert_eq!(found(&planted), [expected]);
        }
        for (option, mode) in OPTIONS {
            let kept = config.replace(
                &format!("{option}=m\n"),
                &format!("# {option} is not set\n"),
            );
            let planted = Seen {
                config: &kept,
                ..whole.clone()
            };
            assert_eq!(found(&planted), [Mismatch::NotBuilt { option, mode }]);
        }
    }
}
