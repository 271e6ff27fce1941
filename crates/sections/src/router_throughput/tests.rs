//! Both sections without a host: routers of known speed.

use kit::routers::testing::{
    Fake, assert_has, assert_refused, comparisons, findings, headline, measured, points, section,
    tables,
};
use trial::{Comparison, Dimension, Outcome, Point, Weight};

use super::*;

fn native(text: &str) -> Rfc2544<Native> {
    section(text).expect(text)
}

fn run<K: Kind>(text: &str, fake: &Fake) -> Vec<Event> {
    measured(text, fake, rig::on::<K>)
}

fn of<'a>(events: &'a [Event], procedure: &str, frame: u64) -> Vec<&'a Point> {
    let mut all = points(events);
    all.retain(|point| {
        point.dimensions["procedure"] == Dimension::from(procedure)
            && point.dimensions["frame"] == Dimension::from(frame)
    });
    all
}

#[test]
fn native_finds_the_rate_and_the_full_links() {
    let events = run::<Native>("pairs = 3\nseconds = 0.2", &Fake::default());
    let small = of(&events, "throughput", 64);
    let rate = small[0].metric("throughput_pps").expect("a rate");
    // The router carries 900,000 / 1.0064.
    assert!((870_000.0..=901_000.0).contains(&rate.value), "{rate:?}");
    assert_eq!(rate.samples.len(), 3);
    let large = of(&events, "throughput", 1518);
    let share = large[0].metric("throughput_percent").expect("a share");
    assert!((share.value - 100.0).abs() < 1e-9, "{share:?}");
    let latency = of(&events, "latency", 64);
    assert_eq!(latency.len(), 4);
    for point in latency {
        let own = point.metric("rate_pps").expect("it was offered");
        let Dimension::Number(percent) = point.dimensions["rate_percent"] else {
            panic!("{point:?}")
        };
        assert!((own.value / rate.samples[0] / percent as f64 * 100.0 - 1.0).abs() < 0.02);
        assert_eq!(own.samples.len(), 1, "once");
    }
    let tables = tables(&events);
    let beside = tables.iter().find(|table| table.title.contains("table 2"));
    let beside = beside.expect("the source's");
    assert_eq!(beside.rows.len(), 3);
    assert_has(&beside.note, ["L5420", "60 s"]);
    let parts = ["512 B, 1518 B", "the source's Linux: 26%", "offered more"];
    assert_has(&headline(&events).text, parts);
    let names = comparisons(&events).into_iter();
    let names: Vec<_> = names.map(|one| [&*one.arm, &*one.reference]).collect();
    assert_eq!(names, [["with 0.1% loss", "without loss"]; 3]);
}

#[test]
fn every_extra_is_measured_both_ways() {
    let text = "pairs = 1\nseconds = 0.2\nframes = [64]\ntwo_way = true\nextras = ['latency', 'frame-loss', 'back-to-back']";
    let events = run::<Native>(text, &Fake::default());
    let losses = of(&events, "frame-loss", 64);
    assert_eq!(losses.len(), 10);
    let lost = losses
        .iter()
        .filter_map(|point| point.metric("loss_percent"));
    let lost: Vec<_> = lost.map(|metric| metric.value).collect();
    assert!(lost[0] > 60.0 && lost[9] == 0.0, "{lost:?}");
    let bursts = of(&events, "back-to-back", 64);
    for metric in ["burst_frames", "buffer_us"] {
        assert!(bursts[0].metric(metric).is_some(), "{metric}");
    }
    assert_eq!(tables(&events).len(), 4);
    let rate = of(&events, "throughput", 64)[0].metric("throughput_pps");
    let rate = rate.expect("both directions together").value;
    assert!((870_000.0..=901_000.0).contains(&rate), "{rate}");
}

#[test]
fn os_level_is_compared_with_native() {
    let host = Fake {
        missing_homes: vec!["lxc"],
        ..Fake::default()
    };
    let events = run::<OsLevel>("pairs = 9\nseconds = 0.2\nframes = [64, 1518]", &host);
    let all = comparisons(&events);
    let runc = |one: &&&Comparison| one.arm == "runc, bridged" && one.metric == "received_pps";
    let runc = all.iter().find(runc).expect("both were measured");
    assert!((0.94..0.96).contains(&runc.ratio), "{runc:?}");
    assert_eq!(runc.outcome, Outcome::Slower);
    assert_eq!(runc.reference, "namespace, direct");
    assert_has(&findings(&events, Weight::Warning), ["lxc, bridged"]);
    let shares = tables(&events)[0];
    assert!(shares.title.contains("figure 3"), "{}", shares.title);
    assert_eq!(shares.rows.len(), 3 * 2, "LXC is missing");
    let bridged = "runc, bridged 0.95× (0.95 to 0.95)";
    assert_has(&headline(&events).text, ["18 of 24 results", bridged]);
    let few = run::<OsLevel>("pairs = 2\nframes = [64]", &Fake::default());
    let parts = ["lxc, bridged, at overload 8", "so few rounds"];
    assert_has(&headline(&few).text, parts);
}

#[test]
fn what_is_not_valid_is_no_throughput() {
    let host = Fake {
        noisy: vec!["kernel"],
        ..Fake::default()
    };
    let events = run::<Native>("pairs = 1\nframes = [64]", &host);
    let open = headline(&events);
    let parts = ["is not known", "noisy: 1 of 1 rounds: a pause", "table 2"];
    assert_has(&open.text, parts);
    assert_eq!(open.remedy, "a quiet host");
    assert!(!of(&events, "throughput", 64)[0].verdict.is_valid());
    let latency = &of(&events, "latency", 64)[0].verdict;
    let doubt = "its throughput is not known: the generator did not run";
    assert!(latency.reason.starts_with(doubt), "{latency:?}");
}

#[test]
fn time_goes_to_throughput_first() {
    let own = native("pairs = 1\nextras = ['latency', 'back-to-back']");
    let host = Host::with_cpus([0, 1]);
    let all = own.subjects(&host);
    let (_, least, _) = kit::plan::appetite(&own, &all);
    for (budget, extras) in [(least.mul_f64(1.01), 15), (least.mul_f64(0.4), 0)] {
        let job = kit::plan::job(&own, &all, budget).expect("it fits");
        let is_extra = |one: &&Subject<FrameSize, Item>| one.arm.procedure.is_extra();
        assert_eq!(job.subjects.iter().filter(is_extra).count(), extras);
    }
}

#[test]
fn what_no_option_can_see_alone_is_named() {
    let many = "paths = ['kernel', 'kernel:2', 'kernel:3', 'kernel:4', 'kernel:5', 'kernel:6', 'kernel:7', 'kernel:8', 'kernel:9', 'kernel:10', 'kernel:11']\nhomes = ['namespace', 'lxc', 'runc']";
    assert_refused::<OfNative>(&[
        ("ipv6 = true", "frames", "84"),
        (
            "ports = ['eth1', 'eth2']\npaths = ['kernel', 'xdp-fib']",
            "ports",
            "name one home and one path",
        ),
        (many, "paths", "limit is 32"),
        ("homes = ['docker']", "homes", "runc"),
        ("extras = ['jitter']", "extras", "back-to-back"),
        ("seconds = 600.0", "seconds", "120"),
    ]);
    let few = native("extras = []\nloss_percent = 0.0");
    assert_eq!(few.options().items().len(), 6);
}
