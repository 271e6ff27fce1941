//! Lockgate's own small guests: what there is to boot them with.

use serde_json::Value;
use sys::failure::with_causes;
use trial::Fact;
use vm::{Accelerator, Cache, CacheError, Qemu, QemuError};

use crate::fact::{Found, absent, ok, refused};
use crate::machine::Machine;
use crate::row::Row::{self, Many};

pub(super) const FACTS: &[Row] = &[Many(facts)];

/// Facts about this machine; a recorded one has no guest cache.
fn facts(on: &Machine) -> Vec<Fact> {
    if !on.host.is_live() {
        return Vec::new();
    }
    let cache = Cache::open_default();
    let qemus = Qemu::find_all(cache.as_ref().ok());
    let chosen = Qemu::find(cache.as_ref().ok());
    vec![
        of_cache(&cache).named("guests.cache", "Guest cache"),
        of_qemus(&qemus, chosen).named("guests.qemu", "QEMU for guests"),
        of_accelerator(vm::accelerator_here()).named("guests.accelerator", "Guests run on"),
    ]
}

/// The value is the list of the kernels' releases.
fn of_cache(cache: &Result<Cache, CacheError>) -> Found {
    match cache {
        Ok(cache) => {
            let releases: Vec<&str> = cache.kernels().iter().map(|k| &k.release[..]).collect();
            let text = format!(
                "kernels {}; busybox {}",
                releases.join(", "),
                cache.busybox_version()
            );
            ok(releases, text)
        }
        Err(CacheError::Absent { .. }) => absent(
            "not there",
            "`make setup-guests` fills it, without root, to boot guests; or LOCKGATE_GUESTS names another",
        ),
        Err(error @ CacheError::Untrusted(_)) => refused(&error.to_string()),
        Err(error) => ok(Value::Null, with_causes(error))
            .degraded("`make setup-guests` mends it; or LOCKGATE_GUESTS names another"),
    }
}

/// The value is the list of the versions; guests run on the first, unless
/// another one is named.
fn of_qemus(qemus: &[Qemu], chosen: Result<Qemu, QemuError>) -> Found {
    match chosen {
        Err(error @ QemuError::Untrusted(_)) if qemus.is_empty() => {
            return refused(&error.to_string());
        }
        _ if qemus.is_empty() => {
            return absent(
                "none",
                "install qemu-system-x86; without root `make setup-guests GUESTS=all`; or LOCKGATE_QEMU names one",
            );
        }
        _ => {}
    }
    let version = |qemu: &Qemu| {
        let (major, minor, micro) = qemu.version;
        format!("{major}.{minor}.{micro}")
    };
    let versions: Vec<String> = qemus.iter().map(version).collect();
    let text = versions.join(", ");
    match chosen {
        Ok(_) => ok(versions, text),
        Err(error) => ok(versions, format!("{text}, but {}", with_causes(&error)))
            .degraded("LOCKGATE_QEMU names the one to use: correct or unset it"),
    }
}

fn of_accelerator((accelerator, reason): (Accelerator, String)) -> Found {
    let name = accelerator.name();
    ok(name, format!("{name}: {reason}")).degraded_unless(
        accelerator == Accelerator::Kvm,
        "emulated guests prove function, and ratios among themselves; for figures, see what KVM needs above",
    )
}

#[cfg(test)]
mod tests {
    use trial::State;

    use super::*;

    fn named_wrongly() -> Result<Qemu, QemuError> {
        Err(QemuError::NotAProgram {
            program: "nowhere/qemu".into(),
        })
    }

    #[test]
    fn what_is_missing_or_damaged_has_its_remedy() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("manifest.json"), "{").unwrap();
        let cache = |path: &std::path::Path| of_cache(&Cache::open(path));
        let emulated = (Accelerator::Tcg, "no vmx".to_owned());
        let native = (Accelerator::Kvm, "it boots".to_owned());
        for (found, state, text, remedy) in [
            (
                cache("/nowhere".as_ref()),
                State::Absent,
                "not there",
                "make setup-guests",
            ),
            (
                cache(folder.path()),
                State::Degraded,
                "manifest.json",
                "make setup-guests",
            ),
            (
                of_qemus(&[], named_wrongly()),
                State::Absent,
                "none",
                "qemu-system-x86",
            ),
            (
                of_accelerator(emulated),
                State::Degraded,
                "tcg: no vmx",
                "KVM",
            ),
            (of_accelerator(native), State::Ok, "kvm: it boots", ""),
        ] {
            assert_eq!(found.state, state, "{found:?}");
            assert!(
                found.text.contains(text) && found.remedy.contains(remedy),
                "{found:?}"
            );
        }
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
}
