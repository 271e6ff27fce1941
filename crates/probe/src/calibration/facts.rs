//! The calibration as facts for the probe.

use crypto::{Backend, Kind, Measured, Refused, Unavailable};
use serde_json::json;
use trial::Fact;

use crate::calibration::choice::{GB_PER_S, chosen_at, in_words, places, size, stand_in};
use crate::calibration::{Calibrated, Origin, current};
use crate::fact::{NOTHING_TO_DO, absent, ok, parts};

/// Why there is a calibration at all.
const WHY: &str = "`auto` gives each request to the back-end that was fastest here for its algorithm, size and number of requests at hand";

/// Facts about this process: its back-ends, where the calibration is from,
/// and what it chooses for each kind.
pub fn facts() -> Vec<Fact> {
    let candidates = crypto::candidates();
    let mut facts: Vec<_> = candidates.iter().map(|one| backend(&**one)).collect();
    facts.extend(of_ipsec_mb(crypto::ipsec_mb_refused()));
    let calibrated = current();
    facts.push(origin(calibrated));
    facts.extend(Kind::all().filter_map(|kind| choice(calibrated, kind)));
    facts
}

fn key(name: &str) -> String {
    format!("crypto.backend.{}", name.replace('-', "_"))
}

fn backend(one: &dyn Backend) -> Fact {
    let text = format!("{}; uses {}", one.version(), one.instructions());
    let value = json!({"version": one.version(), "instructions": one.instructions()});
    ok(value, text).named(key(one.name()), one.name())
}

/// What is wrong with the one back-end that may be missing or half there.
fn of_ipsec_mb(refused: Result<Vec<Refused>, Unavailable>) -> Option<Fact> {
    let name = "ipsec-mb";
    let unavailable = match refused {
        Ok(refused) if refused.is_empty() => return None,
        Ok(refused) => {
            let named: Vec<_> = refused.iter().map(ToString::to_string).collect();
            let text = format!(
                "{} of its operations failed their self-test and are not offered: {}",
                refused.len(),
                named.join("; ")
            );
            let remedy =
                "install another version of the library; other back-ends do these meanwhile";
            let found = ok(named, text).degraded(remedy);
            return Some(found.named(format!("{}.refused", key(name)), "ipsec-mb refused"));
        }
        Err(unavailable) => unavailable,
    };
    let text = unavailable.to_string();
    // Each ends with its remedy.
    let (reason, remedy) = parts(&text);
    let reason = reason.strip_prefix("ipsec-mb: ").unwrap_or(reason);
    let found = match unavailable {
        Unavailable::Architecture => absent(reason, format!("{NOTHING_TO_DO}: {remedy}")),
        Unavailable::Untrusted { .. } => absent(reason, "").degraded(remedy),
        _ => absent(reason, remedy),
    };
    Some(found.named(key(name), name))
}

fn origin(calibrated: &Calibrated) -> Fact {
    let value = json!({ "places": calibrated.calibration.measured().len() });
    let found = |text: String| ok(value, format!("{WHY}; {text}"));
    let found = match &calibrated.origin {
        Origin::Cached { path, measured_utc } => found(format!(
            "measured {measured_utc}, from {}; `lockgate probe --calibrate` measures again",
            path.display()
        )),
        Origin::Measured { seconds, kept } => match kept {
            Ok(path) => found(format!(
                "measured now in {seconds:.2} s, kept in {}",
                path.display()
            )),
            // Measured for each use anew.
            Err(reason) => found(format!(
                "measured now in {seconds:.2} s, not kept: {reason}"
            ))
            .degraded(format!(
                "{}, or let LOCKGATE_CACHE name a folder of this user's",
                parts(reason).1
            )),
        },
    };
    found.named("crypto.calibration", "Calibration")
}

/// What is chosen for one kind; none where there is nothing to choose.
fn choice(calibrated: &Calibrated, kind: Kind) -> Option<Fact> {
    let calibration = &calibrated.calibration;
    let words = in_words(calibration, kind)?;
    let text = match stand_in(calibration, kind) {
        Some(measured) => format!("as {}, measured for both", name(measured)),
        None => format!("{words} ({})", fastest(calibrated, kind)?),
    };
    let rows = places().flat_map(|(bytes, jobs)| calibration.at(kind, bytes, jobs));
    let key = format!("crypto.calibration.{}.{}", kind.algorithm, kind.operation);
    Some(ok(rows.map(row).collect::<Vec<_>>(), text).named(key, name(kind)))
}

fn name(kind: Kind) -> String {
    format!("{} {}", kind.algorithm, kind.operation)
}

fn row(one: &Measured) -> serde_json::Value {
    json!({"bytes": one.bytes, "jobs": one.jobs, "backend": one.backend, "ns": one.ns})
}

/// `32 × 16 KiB: kernels 38.5 GB/s, ipsec-mb 24.3, aws-lc 1.69`.
fn fastest(calibrated: &Calibrated, kind: Kind) -> Option<String> {
    let (bytes, jobs) = places().last()?;
    let ((name, speed), others) = chosen_at(&calibrated.calibration, kind, bytes, jobs)?;
    let others = others
        .iter()
        .map(|(name, speed)| format!(", {name} {speed}"));
    let others: String = others.collect();
    Some(format!(
        "{jobs} × {}: {name} {speed} {GB_PER_S}{others}",
        size(bytes)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crypto::{Algorithm, Operation};
    use trial::State;

    #[test]
    fn a_missing_library_and_refused_operations_are_facts_with_remedies() {
        assert!(of_ipsec_mb(Ok(Vec::new())).is_none());
        let absent = of_ipsec_mb(Err(Unavailable::NotInstalled {
            reason: "libIPSec_MB.so.1: cannot open".to_owned(),
        }))
        .unwrap();
        assert_eq!(absent.state, State::Absent);
        assert_eq!(absent.key, "crypto.backend.ipsec_mb");
        assert_eq!(absent.text, "libIPSec_MB.so.1: cannot open");
        assert!(absent.remedy.contains("libipsec-mb1"), "{absent:?}");
        let arm = of_ipsec_mb(Err(Unavailable::Architecture)).unwrap();
        assert!(arm.remedy.starts_with(NOTHING_TO_DO), "{arm:?}");
        let refused = Refused {
            kind: Kind::new(Algorithm::Sha256, Operation::Hash),
            reason: "wrong digest".to_owned(),
        };
        let degraded = of_ipsec_mb(Ok(vec![refused])).unwrap();
        assert_eq!(degraded.state, State::Degraded);
        assert!(degraded.text.contains("sha256 hash: wrong digest"));
        assert!(!degraded.remedy.is_empty());
    }

    #[test]
    fn each_contested_kind_has_one_short_fact_with_every_figure() {
        let facts = facts();
        let calibrated = current();
        for kind in Kind::all() {
            let key = format!("crypto.calibration.{}.{}", kind.algorithm, kind.operation);
            let own: Vec<_> = facts.iter().filter(|fact| fact.key == key).collect();
            let measured = calibrated.calibration.at(kind, 4096, 12).len();
            assert_eq!(own.len(), usize::from(measured > 1), "{key}");
            if let Some(fact) = own.first() {
                // How long it is depends on what was measured; it must not be cut.
                assert!(!fact.text.ends_with('…'), "{}", fact.text);
                let rows = fact.value.as_array().unwrap().len();
                assert_eq!(rows, measured * places().count(), "{key}");
            }
        }
        let why = facts.iter().find(|fact| fact.key == "crypto.calibration");
        assert!(why.unwrap().text.contains("fastest here"));
    }
}
