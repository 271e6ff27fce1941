//! What a stored probe says about the CPU that its host can show to guests.

use std::collections::BTreeMap;
use std::fmt;

use cpu::guest::{Flags, Host, Known, qemu_name};
use cpu::{Dump, Feature, Vendor};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use trial::Probe;

/// Why a file tells nothing about its host's CPU.
#[derive(Debug, thiserror::Error)]
pub enum OfferError {
    #[error(
        "it is neither a probe (`lockgate probe --json`) nor a run's result.json: {0}; write it anew on its host"
    )]
    NotAProbe(#[source] serde_json::Error),
    #[error(
        "it has no fact `{key}`: an older Lockgate wrote it, or its host is no x86 processor; run `lockgate probe --json` of this version on its host"
    )]
    Lacks { key: &'static str },
    #[error(
        "its fact `{key}` is {value}, which is not what this version writes; probe its host anew"
    )]
    Strange { key: &'static str, value: String },
}

/// The host of a probe in JSON, by itself or in a run's result. Facts about other
/// things are passed over unread.
///
/// # Errors
/// [`OfferError`]
pub fn read(name: &str, json: &[u8]) -> Result<Host, OfferError> {
    let file: File = serde_json::from_slice(json).map_err(OfferError::NotAProbe)?;
    let groups = file.probe.map_or(file.groups, |probe| probe.groups);
    host(name, groups.into_iter().flat_map(|group| group.facts))
}

/// The host of a probe.
///
/// # Errors
/// [`OfferError`]
pub fn of(name: &str, probe: &Probe) -> Result<Host, OfferError> {
    let wanted = probe.facts().filter(|fact| is_wanted(&fact.key));
    host(
        name,
        wanted.map(|fact| Own(fact.key.clone(), fact.value.clone())),
    )
}

const CPUID: &str = "cpu.cpuid";
const VENDOR: &str = "cpu.vendor";
const FLAG: &str = "cpu.flag.";
const MORE: [&str; 6] = [
    "cpu.arch_capabilities",
    "cpu.address_bits.physical",
    "cpu.tsc.frequency_hz",
    "host.kernel",
    "kvm.nested",
    "qemu.x86_64",
];

fn is_wanted(key: &str) -> bool {
    key == CPUID || key == VENDOR || key.starts_with(FLAG) || MORE.contains(&key)
}

fn host(name: &str, facts: impl Iterator<Item = Own>) -> Result<Host, OfferError> {
    let facts: BTreeMap<String, Value> = facts.map(|Own(key, value)| (key, value)).collect();
    let fact = |key: &str| facts.get(key);
    let strange = |key: &'static str| OfferError::Strange {
        key,
        value: fact(key).map_or_else(String::new, |value| {
            value.to_string().chars().take(80).collect()
        }),
    };
    let lines = fact(CPUID).ok_or(OfferError::Lacks { key: CPUID })?;
    let lines: Vec<_> = lines
        .as_array()
        .ok_or_else(|| strange(CPUID))?
        .iter()
        .collect();
    let lines: Option<Vec<_>> = lines.into_iter().map(Value::as_str).collect();
    let dump = lines.and_then(|lines| Dump::parse(&lines.join("\n")).ok());
    let dump = dump.ok_or_else(|| strange(CPUID))?;
    let vendor = fact(VENDOR).ok_or(OfferError::Lacks { key: VENDOR })?;
    let vendor = vendor.as_str().ok_or_else(|| strange(VENDOR))?;
    let stated = Flags::of(&dump);
    let mut cleared = Flags::default();
    for feature in Feature::all() {
        let usable = facts.get(&format!("{FLAG}{}", feature.name()));
        if usable == Some(&Value::Bool(false)) {
            cleared.insert(qemu_name(feature));
        }
    }
    let number = |key| fact(key).and_then(Value::as_u64);
    let version = |key| fact(key).and_then(Value::as_str).and_then(version);
    Ok(Host {
        name: name.to_owned(),
        known: Known {
            vendor: Vendor::named(vendor),
            stated,
            cleared,
            arch_capabilities: number("cpu.arch_capabilities"),
            kernel: version("host.kernel"),
            is_nesting: fact("kvm.nested") == Some(&Value::Bool(true)),
            told: None,
        },
        physical_bits: number("cpu.address_bits.physical").and_then(|bits| bits.try_into().ok()),
        qemu: version("qemu.x86_64"),
        tsc_hz: number("cpu.tsc.frequency_hz"),
    })
}

/// The first two numbers of `6.1.0-56-amd64`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    groups: Vec<Group>,
    probe: Option<Groups>,
}

#[derive(Deserialize)]
struct Groups {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(deserialize_with = "wanted")]
    facts: Vec<Own>,
}

/// Key and value of a fact.
struct Own(String, Value);

fn wanted<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Own>, D::Error> {
    let all: Vec<MaybeOwn> = Vec::deserialize(from)?;
    Ok(all.into_iter().filter_map(|own| own.0).collect())
}

/// Nothing where it is about another thing.
struct MaybeOwn(Option<Own>);

impl<'de> Deserialize<'de> for MaybeOwn {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Fact).map(Self)
    }
}

struct Fact;

impl<'de> Visitor<'de> for Fact {
    type Value = Option<Own>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fact")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut key, mut value): (Option<String>, Option<Value>) = (None, None);
        while let Some(name) = map.next_key::<&str>()? {
            match name {
                "key" => key = Some(map.next_value()?),
                // The key comes first.
                "value" if key.as_deref().is_some_and(is_wanted) => {
                    value = Some(map.next_value()?);
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(key.zip(value).map(|(key, value)| Own(key, value)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Host as Machine, probe};

    fn recorded(name: &str) -> Probe {
        let hosts = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hosts/");
        probe(&Machine::at(format!("{hosts}{name}")))
    }

    #[test]
    fn a_stored_probe_says_what_the_probe_said() {
        for name in ["bare-metal-epyc", "bare-metal-xeon-qat", "kvm-guest-zen5"] {
            let own = recorded(name);
            let text = serde_json::to_string(&own).unwrap();
            let (there, stored) = (
                of(name, &own).unwrap(),
                read(name, text.as_bytes()).unwrap(),
            );
            assert_eq!(format!("{there:?}"), format!("{stored:?}"));
            let run = format!("{{\"schema\": 1, \"sections\": [7], \"probe\": {text}}}");
            let run = read(name, run.as_bytes()).unwrap();
            assert_eq!(format!("{there:?}"), format!("{run:?}"));
            // What every server of these years has.
            let offered = there.known.offered();
            for flag in ["lm", "aes", "avx2", "sse4.2", "adx"] {
                assert!(offered.has(flag), "{name}: {flag}");
            }
            assert!(there.physical_bits.is_some() && there.known.kernel.is_some());
        }
    }

    #[test]
    fn what_the_kernel_cleared_is_not_offered() {
        let mut own = recorded("bare-metal-xeon-qat");
        let facts = own.groups.iter_mut().flat_map(|group| &mut group.facts);
        for fact in facts.filter(|fact| fact.key == "cpu.flag.avx512f") {
            fact.value = Value::Bool(false);
        }
        let offered = of("cleared", &own).unwrap().known.offered();
        assert!(!offered.has("avx512f") && !offered.has("avx512vl"));
        assert!(offered.has("avx2"));
    }

    #[test]
    fn what_is_no_probe_says_so() {
        let arm = recorded("arm-neoverse");
        let text = serde_json::to_string(&arm).unwrap();
        for (text, words) in [
            (&*text, "x86"),
            ("{}", "cpu.cpuid"),
            ("[1, 2]", "neither a probe"),
            (
                "{\"groups\": [{\"facts\": [{\"key\": 7}]}]}",
                "neither a probe",
            ),
            (
                "{\"groups\": [{\"facts\": [{\"key\": \"cpu.cpuid\", \"value\": [\"x\"]}]}]}",
                "which is not",
            ),
        ] {
            let error = read("x", text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(64, 5000)))]

        /// Files come from other hosts: whatever is in them, there is a host or an error.
        #[test]
        fn a_damaged_probe_never_panics(
            hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
            kept in any::<prop::sample::Index>(),
        ) {
            let whole = serde_json::to_vec(&recorded("kvm-guest-zen5")).unwrap();
            let mut text = whole.clone();
            for (place, byte) in hits {
                text[place.index(whole.len())] = byte;
            }
            if kept.index(3) == 0 {
                text.truncate(kept.index(whole.len()));
            }
            if let Ok(host) = read("damaged", &text) {
                let offered = host.known.offered();
                prop_assert_eq!(offered, offered.closed());
            }
        }
    }
}
