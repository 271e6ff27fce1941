//! The section without a guest: a shell that answers as one does.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use kit::plan;
use kit::section::run_with;
use kit::testing::Collector;
use trial::{Comparison, Outcome, Point, RunError, Validity};

use super::shell::{Lost, Output, Shell, Stop};
use super::*;

const CBC: &str = include_str!("fixtures/tcrypt-cbc-generic.log");
const LOG: &str = "tsc: Detected 2600.004 MHz processor";

/// Answers scripts: an asynchronous driver that does four times as many
/// requests when it is kept busy.
#[derive(Clone, Default)]
struct Fake {
    scripts: usize,
    /// It is gone after this many.
    dies_after: Option<usize>,
    /// So many answers of the module, at most, come from a guest that was let
    /// do nothing.
    idle: usize,
}

/// The value behind `key=` in a script.
fn word<'a>(script: &'a str, key: &str) -> &'a str {
    let from = script.find(&format!(" {key}=")).expect("it is there") + key.len() + 2;
    let rest = &script[from..];
    &rest[..rest.find([' ', '"', '\n']).unwrap_or(rest.len())]
}

impl Fake {
    fn answer(&mut self, script: &str) -> String {
        let (mode, bytes) = (word(script, "mode"), word(script, "size"));
        if bytes == "65536" {
            return r#"{"schema":1,"ok":false,"error":{"name":"EINVAL","what":"too long","limit":"4096","remedy":"a shorter one"}}"#.to_owned();
        }
        // tcrypt's fixture has 2.6e9 / 5330 requests a second at 64 B.
        let sync = 2.6e9 / 5190.0 * 0.05;
        let jitter = (self.scripts % 7) as f64 * 0.001;
        let factor = if mode == "sync" { 1.0 } else { 4.0 };
        let is_idle = self.idle > 0;
        self.idle -= usize::from(is_idle);
        let completed = match is_idle {
            true => 0,
            false => (sync * factor * (1.0 + jitter)) as u64,
        };
        let total = completed * bytes.parse::<u64>().expect("a number");
        let latency = match word(script, "latency") {
            "1" => format!(r#"{{"count":{completed},"buckets":[[2000,{completed}]]}}"#),
            _ => "null".to_owned(),
        };
        format!(
            r#"{{"schema":1,"ok":true,"driver":"{}","is_async":true,"mode":"{mode}","op":"{}","size_bytes":{bytes},"depth":{},"thread_count":{},"elapsed_ns":50000000,"completed":{completed},"bytes":{total},"errors":0,"latency_ns":{latency},"threads":[{{"completed":{completed},"backlogged":0,"completed_inline":0,"in_flight_max":1}}]}}"#,
            word(script, "driver"),
            word(script, "op"),
            word(script, "depth"),
            word(script, "threads"),
        )
    }
}

impl Shell for Fake {
    fn run(&mut self, script: &str, _: Duration) -> Result<Output, Lost> {
        self.scripts += 1;
        if self.dies_after.is_some_and(|most| self.scripts > most) {
            return Err(Lost {
                during: "a test".to_owned(),
                source: "it was killed".into(),
            });
        }
        let (status, text) = match script {
            _ if script == clock::SCRIPT => (0, LOG.to_owned()),
            _ if script.contains("/control") => (0, self.answer(script)),
            _ if script.contains("modprobe tcrypt") => (0, CBC.to_owned()),
            _ if script.contains("modprobe pcrypt") => {
                (1, "modprobe: module pcrypt not found\n".to_owned())
            }
            _ => (0, String::new()),
        };
        Ok(Output { status, text })
    }

    fn stop(&self) -> Stop {
        Box::new(|| ())
    }

    fn cpu_s(&self) -> f64 {
        0.0
    }
}

/// What came of a run, and how often a guest was booted.
struct Ran {
    events: Vec<Event>,
    result: Result<(), RunError>,
    boots: usize,
}

fn run(text: &str, fake: &Fake) -> Ran {
    let config = kit::config::keys::parse(&text.parse().expect("toml")).expect("a table");
    let section = Kspeed::new(config).expect("a configuration");
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
    /// As the run left them.
    fn point(&self, driver: &str, bytes: u64, method: &str) -> &Point {
        let is_own = |point: &Point| {
            let dimensions = &point.dimensions;
            (
                &dimensions["driver"],
                &dimensions["block_bytes"],
                &dimensions["method"],
            ) == (&driver.into(), &bytes.into(), &method.into())
        };
        let points = self.events.iter().rev().filter_map(|event| match event {
            Event::Point(point) => Some(point),
            _ => None,
        });
        let mut own = points.filter(|point| is_own(point));
        own.next().expect("it was tried")
    }

    fn comparisons(&self) -> impl Iterator<Item = &Comparison> {
        self.events.iter().filter_map(|event| match event {
            Event::Comparison(one) => Some(one),
            _ => None,
        })
    }

    fn findings(&self) -> Vec<&str> {
        let texts = self.events.iter().filter_map(|event| match event {
            Event::Finding(finding) => Some(finding.text.as_str()),
            _ => None,
        });
        texts.collect()
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
    let gain = ran.comparisons().next().expect("there are ratios");
    assert_eq!(gain.subject, "cbc(aes-generic), 64 B, emulated guest");
    assert_eq!(
        (&*gain.arm, &*gain.reference),
        ("kspeed async, 16 in flight", "kspeed sync")
    );
    assert!((3.9..4.1).contains(&gain.ratio) && gain.outcome == Outcome::Faster);
    let same = ran.comparisons().find(|one| one.arm == "tcrypt serial");
    assert!(
        same.and_then(|one| one.target.as_ref())
            .expect("it has one")
            .met
    );
    let first = ran.findings()[0];
    for part in ["shows 25%", "emulated guest"] {
        assert!(first.contains(part), "{part}: {first}");
    }
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
        let told = ran.findings().into_iter();
        let told = told.filter(|text| text.starts_with("Not measured") && text.contains(part));
        assert_eq!(told.count(), 1, "{part}");
    }
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
    assert!(
        ran.findings()
            .iter()
            .any(|text| text.contains("ended 4 times"))
    );
}

#[test]
fn a_guest_that_was_let_do_nothing_is_asked_for_longer() {
    let text = "drivers = ['cbc(aes-generic)']\nsizes_bytes = [64]\nmethods = ['sync']\nseconds = 0.05\npairs = 5";
    // The warm-up, too, is asked for three times.
    for (idle, rounds) in [(0, 5), (2, 5), (5, 5), (6, 0)] {
        let ran = run(
            text,
            &Fake {
                idle,
                ..Fake::default()
            },
        );
        let point = ran.point("cbc(aes-generic)", 64, "sync");
        let rate = point.metric("requests_per_s");
        assert_eq!(
            rate.map_or(0, |rate| rate.samples.len()),
            rounds,
            "{idle} idle"
        );
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
    let parse = |text: &str| {
        let config = kit::config::keys::parse(&text.parse().unwrap())?;
        Kspeed::new(config).map(drop)
    };
    parse("drivers = ['sha256-generic']\nsizes_bytes = [100]\nkernel = ''").expect("of any length");
    for (text, key, part) in [
        ("drivers = ['cbc(des)']", "drivers", "cbc-aes-aesni"),
        ("sizes_bytes = [100]", "sizes_bytes", "multiples of 16"),
        ("cpu = 'max -device x'", "cpu", "max -device x"),
        ("seconds = 5.0", "seconds", "more than 0.8"),
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!(error.key(), key, "{error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
}
