//! The tier that is in force in this process, as reports state it.

use std::sync::OnceLock;

use cpu::Feature;
use trial::Fact;

use crate::fact::{ok, shown};
use crate::tier::MASK_VARIABLE;
use crate::tier::choice::Choice;
use crate::tier::read_back::Reading;

static IN_FORCE: OnceLock<InForce> = OnceLock::new();

/// A tier, enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InForce {
    pub choice: Choice,
    /// The mask, if there is something to hide.
    pub mask: Option<String>,
    /// Whether something is hidden that the host has.
    pub hides: bool,
    /// Whether SHA-NI is, and the host has it.
    pub hides_sha: bool,
    /// What each library sees.
    pub(super) readings: Vec<Reading>,
}

/// A library that no mask reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmaskable {
    /// Why it is left out.
    pub reason: String,
    /// What to do.
    pub remedy: String,
}

/// What was enforced stays: only the first call counts.
pub(super) fn set(tier: InForce) {
    IN_FORCE.get_or_init(|| tier);
}

/// The tier of this process; none where all of the CPU is used.
#[must_use]
pub fn in_force() -> Option<&'static InForce> {
    IN_FORCE.get()
}

/// How a command that measures the same begins: `lockgate --tier avx2`.
#[must_use]
pub fn program() -> String {
    program_under(in_force())
}

fn program_under(tier: Option<&InForce>) -> String {
    tier.map_or_else(
        || "lockgate".to_owned(),
        |tier| format!("lockgate --tier {}", tier.choice),
    )
}

/// What stands before `openssl speed` so that it measures the same.
pub fn openssl_prefix() -> String {
    in_force()
        .and_then(|tier| tier.mask.as_ref())
        .map_or_else(String::new, |mask| format!("{MASK_VARIABLE}='{mask}' "))
}

/// Why a library or program is left out under this tier, by its name in
/// flags: those that ask the CPU itself see all of it, whatever is masked.
/// Of `auto` it is answered for all that it may choose.
#[must_use]
pub fn cannot_mask(name: &str) -> Option<Unmaskable> {
    let tier = in_force()?;
    if name != crate::calibration::AUTO {
        return cannot_mask_under(tier, name);
    }
    let candidates = crypto::candidates();
    candidates
        .iter()
        .find_map(|candidate| cannot_mask_under(tier, candidate.name()))
        .map(|unmaskable| Unmaskable {
            reason: format!("auto may choose it: {}", unmaskable.reason),
            remedy: format!(
                "choose a library that takes the mask (--backend aws-lc), or {}",
                unmaskable.remedy
            ),
        })
}

fn cannot_mask_under(tier: &InForce, name: &str) -> Option<Unmaskable> {
    let why = match name {
        _ if !tier.hides => return None,
        "portable" => "RustCrypto asks the CPU itself, so that nothing can be hidden from it",
        "ring" => "ring asks the CPU itself, so that nothing can be hidden from it",
        "dpdk" => "DPDK's library asks the CPU itself, so that nothing can be hidden from it",
        "ipsec-mb" if tier.hides_sha => "SHA-NI cannot be hidden from ipsec-mb",
        _ => return None,
    };
    Some(Unmaskable {
        reason: format!("{why}, and it would not run at tier {}", tier.choice),
        remedy: "measure it without --tier, or in a guest whose CPU model lacks the features"
            .to_owned(),
    })
}

/// The tier and what each library sees, for the probe.
pub fn facts() -> Vec<Fact> {
    in_force().map_or_else(Vec::new, facts_of)
}

fn facts_of(tier: &InForce) -> Vec<Fact> {
    let hidden = match &tier.mask {
        Some(mask) => format!(" ({MASK_VARIABLE}={mask})"),
        None => " (nothing to hide)".to_owned(),
    };
    let name = tier.choice.to_string();
    let text = format!("{name}{hidden}");
    let own = ok(name, text).named("tier", "Measured as tier");
    std::iter::once(own)
        .chain(tier.readings.iter().map(reading))
        .collect()
}

fn reading(reading: &Reading) -> Fact {
    let found = match reading.seen {
        Some(seen) if !seen.hides(Feature::ShaNi) => {
            let name = seen.tier.name();
            ok(name, format!("{name}, SHA-NI"))
        }
        Some(seen) => shown(seen.tier.name()),
        None => ok(serde_json::Value::Null, "it does not tell").degraded(
            "its figures may be of another tier: leave it out, or (OpenSSL) update it to 3.0 or newer",
        ),
    };
    found.named(&reading.key, format!("{} sees", reading.name))
}

#[cfg(test)]
mod tests {
    use trial::State;

    use super::*;

    fn tier(name: &str, hides: bool) -> InForce {
        InForce {
            choice: name.parse().unwrap(),
            mask: hides.then(|| "~0x0:~0x20".to_owned()),
            hides,
            hides_sha: hides && name.ends_with("-sha"),
            readings: vec![
                Reading {
                    key: "tier.a".to_owned(),
                    name: "A",
                    seen: name.parse().ok(),
                },
                Reading {
                    key: "tier.b".to_owned(),
                    name: "B",
                    seen: None,
                },
            ],
        }
    }

    #[test]
    fn commands_say_the_tier() {
        assert_eq!(program_under(None), "lockgate");
        let command = program_under(Some(&tier("avx2-sha", true)));
        assert_eq!(command, "lockgate --tier avx2-sha");
    }

    #[test]
    fn what_no_mask_reaches_is_left_out_where_something_is_hidden() {
        let (masked, whole) = (tier("avx", true), tier("avx512", false));
        for name in ["portable", "ring", "dpdk"] {
            let left_out = cannot_mask_under(&masked, name).unwrap();
            assert!(left_out.reason.contains("tier avx"), "{left_out:?}");
            assert_eq!(cannot_mask_under(&whole, name), None);
        }
        for name in ["aws-lc", "ipsec-mb", "kernels", "openssl"] {
            assert_eq!(cannot_mask_under(&masked, name), None);
        }
        let left_out = |at, name| cannot_mask_under(&tier(at, true), name).is_some();
        assert!(left_out("avx2-sha", "ipsec-mb") && !left_out("none", "ipsec-mb"));
        assert!(!left_out("avx2-sha", "aws-lc") && !left_out("none", "kernels"));
    }

    #[test]
    fn facts_hold_the_mask_and_every_answer() {
        let facts = facts_of(&tier("avx2", true));
        let texts: Vec<_> = facts.iter().map(|fact| fact.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "avx2 (OPENSSL_ia32cap=~0x0:~0x20)",
                "avx2, SHA-NI",
                "it does not tell"
            ]
        );
        assert_eq!(facts[2].state, State::Degraded);
        assert!(!facts[2].remedy.is_empty());
    }
}
