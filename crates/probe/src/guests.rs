//! Lockgate's own small guests: what there is to boot them with.

use std::error::Error;

use serde_json::Value;
use trial::Fact;
use vm::{Accelerator, Cache, CacheError, Qemu, QemuError};

use crate::fact::{Judge, fact, refused};

/// Facts about this machine; a recorded one has no guest cache.
pub(super) fn facts() -> Vec<Fact> {
    let cache = Cache::open_default();
    let qemus = Qemu::find_all(cache.as_ref().ok());
    vec![
        of_cache(&cache),
        of_qemus(&qemus, Qemu::find(cache.as_ref().ok())),
        of_accelerator(vm::accelerator_here()),
    ]
}

/// The value is the list of the kernels' releases.
fn of_cache(cache: &Result<Cache, CacheError>) -> Fact {
    let (key, label) = ("guests.cache", "Guest cache");
    match cache {
        Ok(cache) => {
            let releases: Vec<&str> = cache.kernels().iter().map(|k| &k.release[..]).collect();
            let text = format!(
                "kernels {}; busybox {}",
                releases.join(", "),
                cache.busybox_version()
            );
            fact(key, label, releases, text)
        }
        Err(CacheError::Absent { .. }) => fact(key, label, Value::Null, "not there").absent(
            "`make setup-guests` fills it, without root, to boot guests; or LOCKGATE_GUESTS names another",
        ),
        Err(error @ CacheError::Untrusted(_)) => refused(key, label, &error.to_string()),
        Err(error) => fact(key, label, Value::Null, chain(error))
            .degraded("`make setup-guests` mends it; or LOCKGATE_GUESTS names another"),
    }
}

/// The value is the list of the versions; guests run on the first, unless
/// another one is named.
fn of_qemus(qemus: &[Qemu], chosen: Result<Qemu, QemuError>) -> Fact {
    let (key, label) = ("guests.qemu", "QEMU for guests");
    if let (true, Err(error @ QemuError::Untrusted(_))) = (qemus.is_empty(), &chosen) {
        return refused(key, label, &error.to_string());
    }
    if qemus.is_empty() {
        return fact(key, label, Value::Null, "none").absent(
            "install qemu-system-x86; without root `make setup-guests GUESTS=all`; or LOCKGATE_QEMU names one",
        );
    }
    let version = |qemu: &Qemu| {
        let (major, minor, micro) = qemu.version;
        format!("{major}.{minor}.{micro}")
    };
    let versions: Vec<String> = qemus.iter().map(version).collect();
    let text = versions.join(", ");
    match chosen {
        Ok(_) => fact(key, label, versions, text),
        Err(error) => fact(
            key,
            label,
            versions,
            format!("{text}, but {}", chain(&error)),
        )
        .degraded("LOCKGATE_QEMU names the one to use: correct or unset it"),
    }
}

fn of_accelerator((accelerator, reason): (Accelerator, String)) -> Fact {
    let (key, label) = ("guests.accelerator", "Guests run on");
    let name = accelerator.name();
    let fact = fact(key, label, name, format!("{name}: {reason}"));
    match accelerator {
        Accelerator::Kvm => fact,
        Accelerator::Tcg => fact.degraded(
            "emulated guests prove function, and ratios among themselves; for figures, see what KVM needs above",
        ),
    }
}

/// An error with its causes.
fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

#[cfg(test)]
mod tests {
    use trial::State;

    use super::*;

    #[test]
    fn what_is_missing_has_its_remedy() {
        let absent = of_cache(&Cache::open("/nowhere/guests".as_ref()));
        assert_eq!(absent.state, State::Absent);
        assert!(absent.remedy.contains("make setup-guests"));
        let none = of_qemus(&[], named_wrongly());
        assert_eq!(none.state, State::Absent);
        assert!(none.remedy.contains("qemu-system-x86"));
    }

    fn named_wrongly() -> Result<Qemu, QemuError> {
        Err(QemuError::NotAProgram {
            program: "nowhere/qemu".into(),
        })
    }

    #[test]
    fn a_wrong_name_is_said_beside_what_is_there() {
        let qemus = Qemu::find_all(None);
        if qemus.is_empty() {
            testing::skipped("no QEMU here; apt-get install qemu-system-x86");
            return;
        }
        let wrong = of_qemus(&qemus, named_wrongly());
        assert_eq!(wrong.state, State::Degraded);
        assert!(wrong.text.contains("nowhere/qemu"), "{wrong:?}");
    }

    #[test]
    fn a_damaged_cache_says_what_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("manifest.json"), "{").unwrap();
        let damaged = of_cache(&Cache::open(folder.path()));
        assert_eq!(damaged.state, State::Degraded);
        assert!(damaged.text.contains("manifest.json"), "{damaged:?}");
    }

    #[test]
    fn emulation_is_said_to_be_no_measure() {
        let emulated = of_accelerator((Accelerator::Tcg, "no vmx".to_owned()));
        assert_eq!(emulated.state, State::Degraded);
        assert_eq!(emulated.text, "tcg: no vmx");
        let native = of_accelerator((Accelerator::Kvm, "it boots".to_owned()));
        assert_eq!(native.state, State::Ok);
    }

    #[test]
    fn this_machine_has_all_three_facts() {
        let keys: Vec<String> = facts().into_iter().map(|fact| fact.key).collect();
        assert_eq!(keys, ["guests.cache", "guests.qemu", "guests.accelerator"]);
    }
}
