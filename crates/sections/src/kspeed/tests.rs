//! The section without a guest: a shell that answers as one does.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use kit::guest::{Shell, Stop};
use kit::plan;
use kit::section::run_with;
use kit::testing::{Collector, assert_has, assert_refused, comparisons, findings, points, section};
use serde_json::json;
use sys::failure::Failure;
use trial::{Comparison, Point, RunError, Validity, Weight};

use super::*;

const CBC: &str = include_str!("fixtures/tcrypt-cbc-generic.log");
const OFFERED: &str = include_str!("../../../kit/src/guest/kspeed/fixtures/proc-crypto");
const LOG: &str = "tsc: Detected 2600.004 MHz processor";

/// Answers scripts: an asynchronous driver that does four times as many
/// requests when it is kept busy.
#[derive(Clone, Default)]
struct Fake {
    scripts: usize,
    /// It is gone after this many.
    dies_after: Option<usize>,
    /// How many answers of the module, at most, come from a guest that was let
    /// do nothing.
    idle: usize,
    /// It is this host, whose modules are left alone.
    is_host: bool,
}

/// The value behind `key=` in a script.
fn word<'a>(script: &'a str, key: &str) -> &'a str {
    let (_, rest) = script.split_once(&format!(" {key}=")).expect("it is there");
    &rest[..rest.find([' ', '"', '\n']).unwrap_or(rest.len())]
}

impl Fake {
    fn answer(&mut self, script: &str) -> serde_json::Value {
        let number = |key| word(script, key).parse::<u64>().expect("a number");
        if word(script, "driver") == "xts-aes-aesni" {
            assert!(script.contains(" key=64 place=in\""), "{script}");
        }
        if number("size") == 65_536 {
            return json!({
                "schema": 1, "ok": false,
                "error": {"name": "EINVAL", "what": "too long", "limit": "4096", "remedy": "a shorter one"},
            });
        }
        // tcrypt's fixture has 2.6e9 / 5330 requests a second at 64 B.
        let sync = 2.6e9 / 5190.0 * 0.05;
        let jitter = (self.scripts % 7) as f64 * 0.001;
        let factor = if word(script, "mode") == "sync" {
            1.0
        } else {
            4.0
        };
        let completed = match self.idle {
            0 => (sync * factor * (1.0 + jitter)) as u64,
            _ => 0,
        };
        self.idle = self.idle.saturating_sub(1);
        let times = |ns: u64| {
            let taken = json!({"count": completed, "buckets": [[ns, completed]]});
            (number("latency") == 1).then_some(taken)
        };
        json!({
            "schema": 1, "ok": true,
            "driver": word(script, "driver"), "is_async": true,
            "algorithm": "an algorithm", "key_bytes": 16, "verified_by": "another",
            "in_place": script.contains(" place=in"),
            "mode": word(script, "mode"), "op": word(script, "op"),
            "size_bytes": number("size"), "depth": number("depth"), "thread_count": number("threads"),
            "elapsed_ns": 50_000_000, "completed": completed,
            "bytes": completed * number("size"), "errors": 0,
            "latency_ns": times(2000), "submit_ns": times(500),
            "wait_ns": times(1500), "callback_ns": times(100),
            "threads": [{
                "completed": completed, "backlogged": 0, "completed_inline": 0,
                "in_interrupt": completed / 2, "in_flight_max": 1,
            }],
        })
    }
}

impl Shell for Fake {
    fn run(&mut self, script: &str, _: Duration) -> Result<vm::Outcome, Failure> {
        self.scripts += 1;
        assert!(!self.is_host || !script.contains("modprobe") && !script.contains("rmmod"));
        if self.dies_after.is_some_and(|most| self.scripts > most) {
            return Err(Failure::new("it was killed"));
        }
        let (status, text) = match script {
            _ if script == clock::SCRIPT => (0, LOG.to_owned()),
            _ if script.ends_with("cat /proc/crypto") => (0, OFFERED.to_owned()),
            _ if script.contains("/control") => (0, self.answer(script).to_string()),
            _ if script.contains("modprobe tcrypt") => (0, CBC.to_owned()),
            _ if script.contains("modprobe pcrypt") => {
                (1, "modprobe: module pcrypt not found\n".to_owned())
            }
            _ => (0, String::new()),
        };
        let output = text.into();
        Ok(vm::Outcome { status, output })
    }

    fn stop(&self) -> Stop {
        Box::new(|| ())
    }

    fn cpu_s(&self) -> f64 {
        0.0
    }

    fn pause(&mut self, _: bool) -> Result<(), Failure> {
        Ok(())
    }
}

/// What came of a run, and how often a guest was booted.
struct Ran {
    events: Vec<Event>,
    result: Result<(), RunError>,
    boots: usize,
}

fn run(text: &str, fake: &Fake) -> Ran {
    let section: Kspeed = section(text).expect("a configuration");
    let host = Host::default();
    let all = section.subjects(&host);
    let job = plan::job(&section, &all, Duration::from_secs(3600)).expect("it fits");
    let (boots, fake) = (Rc::new(Cell::new(0)), fake.clone());
    let counted = Rc::clone(&boots);
    let boot = move |_: &dyn Fn() -> bool| {
        counted.set(counted.get() + 1);
        let about = Spot::new().with("accelerator", "tcg", "emulated guest");
        Ok((Box::new(fake.clone()) as Box<dyn Shell>, about))
    };
    let mut rig = OnGuest::new(section.clone(), &host, Box::new(boot));
    let mut sink = Collector::default();
    let result = run_with(&section, &host, &job, &mut rig, &mut sink);
    Ran {
        events: sink.events,
        result,
        boots: boots.get(),
    }
}

impl Ran {
    /// As the run left it.
    fn point(&self, driver: &str, bytes: u64, method: &str) -> &Point {
        let own = [driver.into(), bytes.into(), method.into()];
        let mut points = points(&self.events).into_iter();
        let own = points.find(|point| {
            ["driver", "block_bytes", "method"].map(|name| point.dimensions[name].clone()) == own
        });
        own.expect("it was tried")
    }

    fn comparison(&self, arm: &str, reference: &str) -> &Comparison {
        let mut all = comparisons(&self.events).into_iter();
        let own = all.find(|one| (&*one.arm, &*one.reference) == (arm, reference));
        own.expect("it is compared")
    }
}

const FEW: &str = "drivers = ['cbc(aes-generic)']\nsizes_bytes = [512, 64, 512]\nmethods = ['sync', 'batch', 'async', 'resubmit', 'tcrypt', 'tcrypt-mb']\nseconds = 0.05";

#[test]
fn every_method_is_measured_and_compared() {
    let ran = run(FEW, &Fake::default());
    ran.result.as_ref().expect("it ends well");
    assert_eq!(ran.boots, 1);
    for method in ["sync", "batch", "async", "resubmit", "tcrypt", "tcrypt-mb"] {
        let point = ran.point("cbc(aes-generic)", 64, method);
        assert_eq!(point.verdict.validity, Validity::Valid, "{point:?}");
        assert_eq!(point.dimensions["accelerator"], "tcg".into());
        let rates = point.metric("requests_per_s").expect("a rate");
        assert_eq!(rates.samples.len(), 9);
        let is_timed = !method.starts_with("tcrypt");
        assert_eq!(!point.histogram.is_empty(), is_timed, "{method}");
    }
    let point = ran.point("cbc(aes-generic)", 64, "sync");
    let value = |name| point.metric(name).expect("it was timed").value;
    let split = ["submit_ns", "wait_ns", "callback_ns"].map(value);
    for (found, planted) in split.into_iter().zip([500.0, 1500.0, 100.0]) {
        assert!((found / planted - 1.0_f64).abs() < 0.04, "{split:?}");
    }
    assert!((49.0..=50.0).contains(&value("in_interrupt_percent")));
    let tcrypt = ran.point("cbc(aes-generic)", 64, "tcrypt");
    assert!(tcrypt.metric("submit_ns").is_none(), "it is not timed");
    let gain = ran.comparison("kspeed async, 16 in flight", "kspeed sync");
    assert_eq!(gain.subject, "cbc(aes-generic), 64 B, emulated guest");
    assert!((3.9..4.1).contains(&gain.ratio) && gain.outcome == trial::Outcome::Faster);
    let same = ran.comparison("tcrypt serial", "kspeed sync");
    assert!(same.target.as_ref().expect("it has one").met);
    let headline = findings(&ran.events, Weight::Headline);
    assert_has(&headline, ["shows 25%", "emulated guest"]);
}

#[test]
fn what_a_guest_refuses_is_not_supported_and_no_zero() {
    let text = "drivers = ['virtio_crypto_aes_cbc', 'pcrypt(generic-gcm-aesni)']\nsizes_bytes = [64, 65536]\nmethods = ['sync', 'async', 'tcrypt']\npairs = 5";
    let ran = run(text, &Fake::default());
    ran.result.as_ref().expect("a guest may lack things");
    let virtio = "virtio_crypto_aes_cbc";
    assert!(ran.point(virtio, 64, "async").verdict.is_valid());
    for (driver, bytes, method, part) in [
        (virtio, 65_536, "async", "too long (limit: 4096)"),
        ("pcrypt(generic-gcm-aesni)", 64, "sync", "pcrypt not found"),
        // The log is another driver's.
        (virtio, 64, "tcrypt", "cbc(aes-generic) instead of"),
    ] {
        let point = ran.point(driver, bytes, method);
        let verdict = &point.verdict;
        assert_eq!(verdict.validity, Validity::NotSupported);
        assert!(verdict.reason.contains(part), "{}", verdict.reason);
        assert!(point.metrics.is_empty() && !verdict.remedy.is_empty());
        let warnings = findings(&ran.events, Weight::Warning);
        let is_own = |text: &&str| text.starts_with("Not measured") && text.contains(part);
        assert_eq!(warnings.lines().filter(is_own).count(), 1, "{part}");
    }
}

/// Drivers that no table has: asked as /proc/crypto says, or refused with what it
/// offers.
#[test]
fn a_driver_that_is_only_named_is_measured_by_the_module_alone() {
    let text = "drivers = ['xts-aes-aesni', 'cbc-aes-vendor', 'generic-gcm-aesni']\nkey_bytes = 64\ndestination = 'in-place'\nsizes_bytes = [64]\nmethods = ['sync', 'async', 'tcrypt', 'af-alg']\nseconds = 0.05\npairs = 5";
    let ran = run(text, &Fake::default());
    ran.result.as_ref().expect("a guest may lack a driver");
    let methods = |driver: &str| {
        let own = points(&ran.events).into_iter();
        let own = own.filter(|point| point.dimensions["driver"] == driver.into());
        own.count()
    };
    for driver in ["xts-aes-aesni", "generic-gcm-aesni"] {
        assert_eq!(methods(driver), 2, "sync and async");
        let point = ran.point(driver, 64, "sync");
        assert!(point.verdict.is_valid(), "{:?}", point.verdict);
        assert_eq!(point.dimensions["destination"], "in-place".into());
    }
    let absent = ran.point("cbc-aes-vendor", 64, "sync");
    let reason = &absent.verdict.reason;
    assert!(
        reason.contains("/proc/crypto offers: generic-gcm-aesni, rsa"),
        "{reason}"
    );
    let notes = findings(&ran.events, Weight::Note);
    assert_has(
        &notes,
        ["Measured an algorithm by xts-aes-aesni, key of 16 bytes"],
    );
}

/// Neither the host's modules nor its log are touched; tcrypt and others need both.
#[test]
fn on_this_host_the_module_alone_measures_what_is_there() {
    let text = "kernel = 'host'\nload_module = true\ndrivers = ['cbc(aes-generic)', 'xts-aes-aesni']\nkey_bytes = 64\ndestination = 'in-place'\nsizes_bytes = [64]\nmethods = ['sync', 'async', 'tcrypt', 'engine']\npairs = 5";
    let fake = Fake {
        is_host: true,
        ..Fake::default()
    };
    let ran = run(text, &fake);
    ran.result.as_ref().expect("it ends well");
    for driver in ["cbc(aes-generic)", "xts-aes-aesni"] {
        for method in ["sync", "async"] {
            assert!(ran.point(driver, 64, method).verdict.is_valid(), "{driver}");
        }
    }
    let methods: Vec<_> = points(&ran.events)
        .iter()
        .map(|point| point.dimensions["method"].to_string())
        .collect();
    assert_eq!(methods.len(), 4, "{methods:?}");
    assert!(
        ran.comparison("kspeed async, 16 in flight", "kspeed sync")
            .target
            .is_none()
    );
}

/// RSA has no sizes: what is signed is a digest.
#[test]
fn signatures_are_made_and_checked_beside_each_other() {
    let text = "drivers = ['pkcs1pad(rsa-generic,sha256)']\nmethods = ['sync', 'async', 'engine']\nseconds = 0.05\npairs = 5";
    let ran = run(text, &Fake::default());
    ran.result.as_ref().expect("it ends well");
    let told = |point: &&Point| {
        let of = |name: &str| point.dimensions[name].to_string();
        (of("operation"), of("block_bytes"), of("method"))
    };
    let mut told: Vec<_> = points(&ran.events).iter().map(told).collect();
    told.sort();
    let wanted = ["sign", "verify"].map(|operation| {
        ["async", "sync"].map(|method| (operation.to_owned(), "32".to_owned(), method.to_owned()))
    });
    assert_eq!(told, wanted.concat());
    let mut own = comparisons(&ran.events).into_iter();
    let own = own
        .find(|one| one.subject.contains("sign"))
        .expect("it is compared");
    assert!((3.9..4.1).contains(&own.ratio), "{own:?}");
}

#[test]
fn a_guest_that_dies_is_booted_again_but_not_for_ever() {
    let dies = |after| Fake {
        dies_after: Some(after),
        ..Fake::default()
    };
    let ran = run(FEW, &dies(40));
    assert!(matches!(ran.result, Err(RunError::Failed { .. })));
    assert!((2..=4).contains(&ran.boots), "{}", ran.boots);
    let has_rate = |method| {
        let point = ran.point("cbc(aes-generic)", 64, method);
        point.metric("requests_per_s").is_some()
    };
    assert!(["sync", "batch", "async"].into_iter().any(has_rate));
    let ran = run(FEW, &dies(3));
    assert_eq!(ran.boots, 4);
    let is_said =
        |event: &Event| matches!(event, Event::Finding(one) if one.text.contains("ended 4 times"));
    assert!(ran.events.iter().any(is_said));
}

#[test]
fn a_guest_that_was_let_do_nothing_is_asked_for_longer() {
    let text = "drivers = ['cbc(aes-generic)']\nsizes_bytes = [64]\nmethods = ['sync']\nseconds = 0.05\npairs = 5";
    // The warm-up, too, is asked for three times.
    for (idle, rounds) in [(0, 5), (2, 5), (5, 5), (6, 0)] {
        let fake = Fake {
            idle,
            ..Fake::default()
        };
        let ran = run(text, &fake);
        let point = ran.point("cbc(aes-generic)", 64, "sync");
        let rates = point.metric("requests_per_s");
        let count = rates.map_or(0, |rates| rates.samples.len());
        assert_eq!(count, rounds, "{idle} idle");
        if rounds == 0 {
            let reason = &point.verdict.reason;
            assert!(
                reason.contains("no request completed in 3200 ms"),
                "{reason}"
            );
        }
    }
}

#[test]
fn every_wrong_value_is_named() {
    let any_length = "drivers = ['sha256-generic']\nsizes_bytes = [100]\nkernel = ''";
    section::<Kspeed>(any_length).expect("a hash takes any length");
    assert_refused::<Kspeed>(&[
        ("drivers = ['cbc(des) x']", "drivers", "as in /proc/crypto"),
        ("modules = ['a b']", "modules", "'a b'"),
        (
            "drivers = ['xts-aes-aesni']\nmethods = ['tcrypt']",
            "methods",
            "measures xts-aes-aesni so",
        ),
        (
            "kernel = 'host'\nmethods = ['tcrypt', 'af-alg']",
            "methods",
            "name sync, batch",
        ),
        (
            "destination = 'apart'\nmethods = ['engine']",
            "methods",
            "name sync, batch",
        ),
        ("sizes_bytes = [100]", "sizes_bytes", "multiples of 16"),
        ("cpu = 'max -device x'", "cpu", "max -device x"),
        ("seconds = 5.0", "seconds", "more than 0.8"),
    ]);
}
