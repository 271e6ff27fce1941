//! The section `kspeed`, run once and tiny in a real guest, so that it does
//! not rot. No time is asserted: only what must be there and what must hold.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use lockgate_sections as registry;
use trial::{Event, PlanError, Point, Probe, RunError, Section, Sink, Validity};

/// Collects events; interrupts after so many points.
#[derive(Default)]
struct Collector {
    events: Vec<Event>,
    interrupt_after: Option<usize>,
    /// When it first said so.
    interrupted: std::cell::OnceCell<Instant>,
}

impl Sink for Collector {
    fn emit(&mut self, event: Event) {
        self.events.push(event);
    }

    fn is_interrupted(&self) -> bool {
        let is_late = |most: usize| points(&self.events).count() >= most;
        let is_interrupted = self.interrupt_after.is_some_and(is_late);
        if is_interrupted {
            self.interrupted.get_or_init(Instant::now);
        }
        is_interrupted
    }
}

fn points(events: &[Event]) -> impl Iterator<Item = &Point> {
    events.iter().filter_map(|event| match event {
        Event::Point(point) => Some(point),
        _ => None,
    })
}

fn section(text: &str) -> Box<dyn Section> {
    let kind = registry::section("kspeed").expect("it is registered");
    (kind.parse)(text.parse().expect("toml")).expect("a valid table")
}

/// Its results; none where this host has no guest to boot.
fn run(text: &str, mut sink: Collector) -> Option<(Collector, Result<(), RunError>)> {
    let (section, probe) = (section(text), Probe::default());
    let plan = match section.plan(&probe, Duration::from_secs(600)) {
        Ok(plan) => plan,
        Err(PlanError::NotSupported { reason, remedy }) => {
            testing::skipped(format!("{reason}; remedy: {remedy}"));
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    assert!(plan.creates[0].contains("QEMU") && plan.downloads.is_empty());
    let result = section.run(&probe, &plan, &mut sink);
    Some((sink, result))
}

fn values(events: &[Event], dimension: &str) -> BTreeSet<String> {
    let values = points(events).filter_map(|point| point.dimensions.get(dimension));
    values.map(ToString::to_string).collect()
}

fn count(events: &[Event], is_such: impl Fn(&Event) -> bool) -> usize {
    events.iter().filter(|event| is_such(event)).count()
}

const TINY: &str = "drivers = ['virtio_crypto_aes_cbc', 'cbc(aes-generic)', 'cryptd(sha256-generic)', 'generic-gcm-aesni']\nsizes_bytes = [512]\ndepth = 8\nmethods = ['sync', 'batch', 'async', 'resubmit', 'tcrypt', 'tcrypt-mb']\nseconds = 0.02\npairs = 1";

#[test]
fn every_driver_is_measured_by_every_method() {
    testing::timed(|| {
        let Some((sink, result)) = run(TINY, Collector::default()) else {
            return;
        };
        result.expect("it runs");
        let events = &sink.events;
        for point in points(events) {
            let (dimensions, verdict) = (&point.dimensions, &point.verdict);
            assert_ne!(
                verdict.validity,
                Validity::NotSupported,
                "{dimensions:?}: {verdict:?}"
            );
            let rate = point.metric("requests_per_s").expect("it was measured");
            assert!(rate.value > 0.0 && rate.samples.len() == 1);
        }
        assert_eq!(values(events, "driver").len(), 4);
        assert_eq!(values(events, "method").len(), 6);
        for dimension in ["guest_kernel", "qemu", "accelerator", "vcpus", "guest_cpu"] {
            assert_eq!(values(events, dimension).len(), 1, "{dimension}");
        }
        assert!(count(events, |event| matches!(event, Event::Comparison(_))) > 10);
        let latencies = points(events).filter(|point| !point.histogram.is_empty());
        assert!(latencies.count() > 0, "the warm-up takes latencies");
    });
}

#[test]
fn an_interrupt_ends_the_guest_at_once_and_keeps_what_was_measured() {
    testing::timed(|| {
        let sink = Collector {
            interrupt_after: Some(1),
            ..Collector::default()
        };
        let text = "drivers = ['cbc(aes-generic)']\nsizes_bytes = [64]\nmethods = ['sync', 'async']\nseconds = 0.02\npairs = 50";
        let Some((sink, result)) = run(text, sink) else {
            return;
        };
        assert!(matches!(result, Err(RunError::Interrupted)), "{result:?}");
        let since = sink.interrupted.get().expect("it was").elapsed();
        assert!(since < Duration::from_secs(20), "a hang: {since:?}");
        assert!(points(&sink.events).count() > 0);
        assert!(count(&sink.events, |event| matches!(event, Event::Finding(_))) > 0);
    });
}

#[test]
fn a_kernel_that_is_not_there_is_named() {
    let section = section("kernel = '9.9.9-none'");
    let error = section.plan(&Probe::default(), Duration::from_secs(600));
    match error {
        Err(PlanError::NotSupported { reason, remedy }) => {
            assert!(remedy.contains("setup-guests"), "{remedy}");
            assert!(!reason.is_empty());
        }
        other => panic!("{other:?}"),
    }
}
