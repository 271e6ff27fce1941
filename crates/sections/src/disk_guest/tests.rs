//! The section without guests: a shell that answers as one does.

use std::time::Duration;

use kit::guest::{Shell, Stop};
use kit::plan;
use kit::section::run_with;
use kit::testing::{Collector, assert_has, assert_refused, comparisons, findings, points, section};
use sys::failure::Failure;
use trial::{RunError, Validity, Weight};

use super::*;

const CRYPTO: &str = "name         : __xts(aes)\ndriver       : cryptd(x)\npriority     : 900\n\nname         : xts(aes)\ndriver       : xts-aes-aesni\nmodule       : aesni_intel\npriority     : 401\n\nname         : xts(aes)\ndriver       : xts(ecb(aes-generic))\npriority     : 100\n";

/// AES-NI is four times as fast; a mapping with flags fails.
struct Fake {
    arm: Arm,
    /// Says that it has AES-NI, whatever it should have.
    lies: bool,
    /// What it may still answer.
    left: usize,
    is_paused: bool,
}

impl Shell for Fake {
    fn run(&mut self, script: &str, _: Duration) -> Result<vm::Outcome, Failure> {
        assert!(!self.is_paused);
        self.left = self.left.checked_sub(1).ok_or(Failure::new("it died"))?;
        let has_aesni = self.lies || self.arm == Arm::Shown;
        let text = if script.contains("/proc/crypto") {
            let list = if has_aesni {
                CRYPTO
            } else {
                &CRYPTO[CRYPTO.len() - 80..]
            };
            format!("failed xts-same_cpu_crypt\n\n{list}")
        } else {
            let (_, mib) = script.split_once("count=").expect("a size");
            let mib: f64 = mib[..mib.find(' ').expect("more")]
                .parse()
                .expect("a number");
            let mib_per_s = if has_aesni || script.contains("ram0") {
                40.0
            } else {
                10.0
            };
            format!("x bytes copied, {} s, y MB/s\n", mib / mib_per_s)
        };
        let output = text.into();
        Ok(vm::Outcome { status: 0, output })
    }

    fn stop(&self) -> Stop {
        Box::new(|| ())
    }

    fn cpu_s(&self) -> f64 {
        0.0
    }

    fn pause(&mut self, pauses: bool) -> Result<(), Failure> {
        assert_ne!(self.is_paused, pauses);
        self.is_paused = pauses;
        Ok(())
    }
}

const FEW: &str = "modes = ['xts']\ndirections = ['read']\nseconds = 0.1";

fn run(lies: bool, answers: usize) -> (Vec<Event>, Result<(), RunError>) {
    let section: DiskGuest = section(FEW).expect("a configuration");
    let host = Host::default();
    let all = section.subjects(&host);
    let job = plan::job(&section, &all, Duration::from_secs(3600)).expect("it fits");
    let boot = move |arm: Arm, _: &dyn Fn() -> bool| {
        let fake = Fake {
            arm,
            lies,
            left: answers,
            is_paused: false,
        };
        let about = Spot::new().with("accelerator", "tcg", "emulated guest");
        Ok((Box::new(fake) as Box<dyn Shell>, about))
    };
    let mut rig = OnGuests::new(section.clone(), &host, Box::new(boot));
    let mut sink = Collector::default();
    let result = run_with(&section, &host, &job, &mut rig, &mut sink);
    (sink.events, result)
}

#[test]
fn guests_take_turns_and_gains_are_told_with_what_ran_them() {
    let (events, result) = run(false, usize::MAX);
    result.expect("it ends well");
    let gains = comparisons(&events).into_iter();
    let mut gains = gains.filter(|one| one.reference.contains("AES-NI hidden"));
    let gain = gains.next().expect("it is compared");
    assert!((3.9..4.1).contains(&gain.ratio), "{gain:?}");
    assert!(gain.subject.contains("emulated guest") && gain.change.is_empty());
    assert_has(
        &findings(&events, Weight::Headline),
        ["xts read 4.00×", "emulated guest"],
    );
    let said = findings(&events, Weight::Note);
    assert_has(&said, ["none is faster or slower"]);
    assert!(!said.contains("book chapter"), "{said}");
    let own = |name: &str, value: &str| {
        let has = |point: &&trial::Point| point.dimensions.get(name) == Some(&value.into());
        points(&events).into_iter().find(has).expect("it was tried")
    };
    assert_eq!(own("arm", "shown").dimensions["driver"], "".into());
    assert_eq!(
        own("arm", "hidden").dimensions["driver"],
        "xts(ecb(aes-generic))".into()
    );
    let failed = &own("arm", "same_cpu_crypt").verdict;
    assert_eq!(failed.validity, Validity::NotSupported);
    assert!(
        failed.reason.contains("same_cpu_crypt"),
        "{}",
        failed.reason
    );
}

#[test]
fn a_guest_that_has_what_it_should_not_have_gives_nothing() {
    let (events, result) = run(true, usize::MAX);
    result.expect("it ends well");
    let said = findings(&events, Weight::Warning);
    assert_has(
        &said,
        ["AES-NI hidden was asked for, and xts is 'xts-aes-aesni'"],
    );
    assert!(
        comparisons(&events)
            .iter()
            .all(|one| !one.reference.contains("hidden"))
    );
}

#[test]
fn a_guest_that_dies_spoils_what_it_had_left() {
    let (events, result) = run(false, 20);
    assert!(matches!(result, Err(RunError::Failed { .. })));
    let rated = points(&events)
        .into_iter()
        .filter(|point| point.metric("speed_mb_per_s").is_some());
    assert!(rated.count() > 5);
}

#[test]
fn what_is_printed_is_read() {
    let best = cpu::guest::best_driver;
    assert_eq!(best(CRYPTO, "xts(aes)"), Some("xts-aes-aesni"));
    assert_eq!(best(CRYPTO, "cbc(aes)"), None);
    let line = "64+0 records out\n67108864 bytes (67 MB, 64 MiB) copied, 0.0175549 s, 3.8 GB/s";
    assert_eq!(rig::seconds(line), Some(0.0175549));
    for nothing in ["", "0 bytes copied, 0 s, 0 B/s", "copied, x s"] {
        assert_eq!(rig::seconds(nothing), None);
    }
}

#[test]
fn every_wrong_value_is_named() {
    assert_refused::<DiskGuest>(&[
        (
            "modes = ['xts']\nkey_bits = 128",
            "key_bits",
            "256, 384 and 512",
        ),
        ("cpu = 'max -device x'", "cpu", "max -device x"),
        ("arms = ['gone']", "arms", "shown, hidden, removed"),
    ]);
}
