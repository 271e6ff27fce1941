//! Every section on this host, once and tiny. No time is asserted, nor that a
//! trial is valid: only what must be there and what is counted.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;

use kit::place::usable_cpus;
use kit::testing::Collector;
use lockgate_sections as registry;
use trial::{Event, PlanError, Point, Probe, RunError, Section, Validity, Weight};

fn section(name: &str, text: &str) -> Box<dyn Section> {
    let kind = registry::section(name).expect("it is registered");
    (kind.parse)(text.parse().expect("toml")).expect("a valid table")
}

struct Ran(Vec<Event>);

/// None, visibly, where the host cannot.
fn run(name: &str, text: &str) -> Option<Ran> {
    let (section, probe) = (section(name, text), Probe::default());
    let plan = match section.plan(&probe, Duration::from_secs(3600)) {
        Ok(plan) => plan,
        Err(PlanError::NotSupported { reason, remedy }) => {
            testing::skipped(format!("{reason}; {remedy}"));
            return None;
        }
        Err(error) => panic!("{name}: {error}"),
    };
    if [
        "kspeed",
        "disk-guest",
        "cpu-guest",
        "vcm-guest",
        "vcm-guests",
    ]
    .contains(&name)
        || name.starts_with("router-")
    {
        assert!(!plan.creates.is_empty() && plan.downloads.is_empty());
    }
    let mut sink = Collector::default();
    match section.run(&probe, &plan, &mut sink) {
        Ok(()) => {}
        // A host so slow that not all was measured shows all the same.
        Err(RunError::Interrupted) if name.starts_with("router-") => {}
        Err(error) => panic!("{name}: {error:?}"),
    }
    let ran = Ran(sink.events);
    assert_eq!(
        ran.count(|event| matches!(event, Event::Finding(one) if one.weight == Weight::Headline)),
        1
    );
    for event in &ran.0 {
        if let Event::Table(table) = event {
            let columns = table.columns.len();
            assert!(table.rows.iter().all(|row| row.len() == columns));
        }
    }
    let metrics = ran.points().flat_map(|point| &point.metrics);
    assert!(metrics.into_iter().all(|metric| metric.value.is_finite()));
    Some(ran)
}

/// Where nothing else that counts on the host's time runs.
fn alone(name: &str, text: &str, check: impl Fn(Ran)) {
    testing::alone(|| run(name, text).into_iter().for_each(&check));
}

fn booting(name: &str, text: &str, check: impl Fn(Ran)) {
    testing::booting(|| run(name, text).into_iter().for_each(&check));
}

fn timed(name: &str, text: &str, check: impl Fn(Ran)) {
    testing::timed(|| run(name, text).into_iter().for_each(&check));
}

impl Ran {
    fn count(&self, is_such: impl Fn(&Event) -> bool) -> usize {
        self.0.iter().filter(|event| is_such(event)).count()
    }

    fn points(&self) -> impl DoubleEndedIterator<Item = &Point> {
        self.0.iter().filter_map(|event| match event {
            Event::Point(point) => Some(point),
            _ => None,
        })
    }

    fn values(&self, dimension: &str) -> BTreeSet<String> {
        let values = self
            .points()
            .filter_map(|point| point.dimensions.get(dimension));
        values.map(ToString::to_string).collect()
    }

    /// Ratios, charts and tables.
    fn shown(&self) -> [usize; 3] {
        [
            self.count(|event| matches!(event, Event::Comparison(_))),
            self.count(|event| matches!(event, Event::Chart(_))),
            self.count(|event| matches!(event, Event::Table(_))),
        ]
    }

    fn has_table(&self, title: &str) -> bool {
        self.count(|event| matches!(event, Event::Table(table) if table.title.contains(title))) > 0
    }

    /// Whether a place has a point with figures, or one that says, visibly, what
    /// this host lacks for it.
    fn is_measured_or_told(&self, dimension: &str, value: &str) -> bool {
        let mut at = self
            .points()
            .filter(|point| point.dimensions[dimension].to_string() == value);
        at.any(
            |Point {
                 verdict, metrics, ..
             }| {
                let lacks = verdict.validity == Validity::NotSupported;
                if lacks {
                    testing::left_out(format!("{value}: {}; {}", verdict.reason, verdict.remedy));
                }
                lacks || !metrics.is_empty()
            },
        )
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn every_block_size_is_measured_under_every_policy() {
    let text = "sizes_bytes = [512, 4096]\nalgorithms = ['aes-128-cbc']\nplacements = ['shared']\ndepth = 16\npairs = 5\nseconds = 0.03\nbackend = 'aws-lc'";
    alone("vcm-block-size", text, |ran| {
        // The figures, the paper's beside ours, the price by block size.
        assert_eq!(ran.shown(), [2, 2, 3]);
        assert_eq!(ran.values("block_bytes"), set(&["512", "4096"]));
        assert_eq!(ran.values("policy"), set(&["armed", "each", "polled"]));
        let price = ran
            .points()
            .find_map(|point| point.metric("notification_ns"));
        assert_eq!(
            price.expect("it has a price").samples.len(),
            5,
            "a round each"
        );
    });
}

#[test]
fn every_number_of_tasks_is_measured() {
    let text = "tasks = [1, 3]\ndepth = 8\nblock_bytes = 1024\npairs = 5\nplacements = ['shared']\nseconds = 0.03\nbackend = 'aws-lc'";
    alone("vcm-tasks", text, |ran| {
        // The sum under either policy, and the gain at either number of tasks.
        assert_eq!(ran.shown(), [4, 2, 1]);
        assert_eq!(ran.values("tasks"), set(&["1", "3"]));
    });
}

#[test]
fn every_arm_of_the_device_is_measured() {
    let text = "algorithms = ['sha256']\nsizes_bytes = [64]\ndepths = [16]\nplacements = ['shared']\npairs = 2\nseconds = 0.02\nbackend = 'aws-lc'";
    alone("vcm-device", text, |ran| {
        let arms = "adaptive,as asked,delayed by the guest,dim,polled,speed-monitor-prose,vic";
        assert_eq!(
            ran.values("arm"),
            arms.split(',').map(str::to_owned).collect()
        );
        assert!(ran.points().all(|point| !point.metrics.is_empty()));
    });
}

#[test]
fn a_guest_has_qemus_device_and_ours_in_turns() {
    let text = "sizes_bytes = [512]\ndepths = [16]\ntasks = [1]\ncontrollers = ['adaptive']\npairs = 2\nseconds = 0.1\nbackend = 'aws-lc'";
    booting("vcm-guest", text, |ran| {
        let arms = "QEMU's device,adaptive,as asked,front-end";
        assert_eq!(
            ran.values("arm"),
            arms.split(',').map(str::to_owned).collect()
        );
        let has = |point: &Point, name| point.metrics.iter().any(|metric| metric.name == name);
        assert!(
            ran.points()
                .all(|point| has(point, "interrupts_per_request"))
        );
    });
}

#[test]
fn tenants_of_a_device_are_measured_in_both_homes() {
    let text = "guests = [2]\nhostile = ['long', 'work']\nsizes_bytes = [4096]\ncontrollers = ['adaptive']\npairs = 2\nseconds = 0.05\nbackend = 'aws-lc'";
    booting("vcm-guests", text, |ran| {
        for home in ["front-end", "guest"] {
            assert!(ran.is_measured_or_told("home", home), "{home}");
        }
        let cases = set(&[
            "2 equal",
            "weights 1:2",
            "beside chains of 1,024 descriptors",
            "beside all the work it can ask for",
        ]);
        assert_eq!(ran.values("case"), cases);
        assert_eq!(ran.values("tenant"), set(&["1", "2", "all", "hostile"]));
        for point in ran.points() {
            let of = |name: &str| point.dimensions[name].to_string();
            if of("home") == "front-end" && of("tenant") != "hostile" {
                let rate = point.metric("requests_per_s").expect("it was measured");
                assert!(rate.value > 0.0, "{point:?}");
            }
        }
        let refused = ran
            .points()
            .filter_map(|point| point.metric("refused_per_s"));
        assert!(refused.into_iter().any(|own| own.value > 0.0));
    });
}

#[test]
fn every_contender_is_measured_at_every_place() {
    let text = "algorithms = ['aes-128-cbc', 'rsa-2048']\noperations = ['encrypt']\nsizes_bytes = [512, 1024]\ndepth = 8\ncontrollers = ['speed-monitor-prose', 'dim']\nbackend = 'aws-lc'\ninterval_ms = 5.0\npairs = 2\nseconds = 0.02\nsettle_seconds = 0.04";
    alone("vcm-controllers", text, |ran| {
        // Of three places: oracle and armed, and each controller twice. Shares,
        // and speed and notifications of AES by its size. Everyone, the paper's
        // figures 8 and 10, and how the oracle was found.
        assert_eq!(ran.shown(), [3 * (2 + 2 * 2), 3, 4]);
        let arms = ["armed", "dim", "oracle", "speed-monitor-prose", "uncapped"];
        assert_eq!(ran.values("arm"), set(&arms));
        assert!(!ran.values("oracle").is_empty(), "which setting it is");
        let held = ran.points().map(|point| point.metric("held_alone"));
        assert!(held.into_iter().flatten().all(|alone| alone.value == 0.0));
    });
}

#[test]
fn tenants_are_measured_in_every_case_and_limits_are_kept() {
    let text = "tenants = [1, 3]\nweights = [1, 2]\npairs = 2\nseconds = 0.05";
    alone("vcm-tenants", text, |ran| {
        let is_broken =
            |event: &Event| matches!(event, Event::Finding(one) if one.text.contains("was broken"));
        assert_eq!(ran.count(is_broken), 0);
        let mut metrics = BTreeMap::new();
        for point in ran.points() {
            let names: Vec<_> = point.metrics.iter().map(|own| own.name.clone()).collect();
            let of = |name: &str| point.dimensions[name].to_string();
            metrics.insert((of("case"), of("tenant")), names.join(" "));
        }
        let whole = "speed_mb_per_s client_cpu_percent worker_cpu_percent";
        let one = "speed_mb_per_s requests_per_s notifications_per_s";
        let hostile = &["1", "2", "hostile"][..];
        for (case, tenants, is_shared) in [
            ("equal-1", &["1"][..], true),
            ("equal-3", &["1", "2", "3"], true),
            ("weighted", &["1", "2"], true),
            ("polite", &["1", "2", "3"], true),
            ("flood", hostile, false),
            ("signer", hostile, false),
            ("mute", hostile, false),
            ("cap", &["1", "2"], false),
            ("quota", &["1", "2"], false),
        ] {
            let shared = |names: &str, more: &str| match is_shared {
                true => format!("{names} {more}"),
                false => names.to_owned(),
            };
            let mut of = |tenant: &str| metrics.remove(&(case.to_owned(), tenant.to_owned()));
            let all = shared(whole, "jain_index share_kept_least");
            assert_eq!(of("all"), Some(all), "{case}");
            for tenant in tenants {
                let own = shared(one, "share_of_entitlement");
                assert_eq!(of(tenant), Some(own), "{case}, {tenant}");
            }
        }
        assert!(metrics.is_empty(), "{metrics:?}");
    });
}

#[test]
fn every_mode_is_measured() {
    let text = "sizes_bytes = [64, 1024]\nalgorithms = ['aes-128-gcm', 'sha256', 'rsa-2048']\nseconds = 0.01\npairs = 1\npeers = false";
    timed("crypto-speed", text, |ran| {
        assert!(
            ran.values("mode")
                .is_superset(&set(&["sync", "batch", "async"]))
        );
        assert!(ran.values("algorithm").contains("rsa-2048"));
        for point in ran.points() {
            let rate = point.metric("requests_per_s").expect("every arm has one");
            // A busy machine may leave a trial this short nothing: then it says so.
            let is_told = point.verdict.validity == Validity::TooFewSamples;
            assert!(rate.value > 0.0 || is_told, "{point:?}");
        }
        let is_of_wake_ups = |event: &Event| matches!(event, Event::Comparison(one) if one.metric == "latency_p50_us");
        let has_two_cpus = usable_cpus().is_ok_and(|cpus| cpus.len() > 1);
        let (told, expected) = (ran.count(is_of_wake_ups), if has_two_cpus { 2 } else { 0 });
        testing::certainly!(told <= expected, "{told} places are small and split");
        if told < expected {
            // Tests beside this one can keep a thread from its CPU for that long.
            testing::noisy("no wake-up in 40 ms, or no request in 10 ms");
        }
    });
}

#[test]
fn open_loops_shared_cores_many_lanes_and_every_policy_run() {
    let text = "sizes_bytes = [256]\nalgorithms = ['aes-256-xts']\noperations = ['decrypt']\nmodes = ['async']\ndepths = [4]\nlanes = [3]\nworkers = [2]\npolicies = ['each', 'armed', 'polled']\nplacements = ['shared']\nrate_per_s = 5000.0\nseconds = 0.02\npairs = 1\npeers = false";
    timed("crypto-speed", text, |ran| {
        assert_eq!(ran.values("policy").len(), 3);
        assert!(ran.values("mode").contains("open-loop"));
        assert_eq!(ran.values("lanes"), set(&["3"]));
    });
}

#[test]
fn a_lane_too_slow_for_the_rate_is_not_the_generators_fault() {
    let text = "algorithms = ['rsa-2048']\noperations = ['sign']\nmodes = ['async']\ndepths = [2]\nplacements = ['shared']\nrate_per_s = 1e6\nseconds = 0.05\npairs = 1\npeers = false";
    alone("crypto-speed", text, |ran| {
        let is_paced = |point: &&Point| point.dimensions["mode"].to_string() == "open-loop";
        let point = ran.points().rfind(is_paced);
        let point = point.expect("an open loop is measured");
        let rate = point.metric("requests_per_s").expect("it has a rate");
        testing::certainly!(rate.value < 1e5, "no core signs a million times a second");
        assert_ne!(point.verdict.validity, Validity::GeneratorBound);
    });
}

#[test]
fn every_algorithm_is_measured_beside_what_is_ours() {
    let text = "sizes_bytes = [1024]\npairs = 1\nseconds = 0.01\npeers = ['ring', 'ceiling']\nbackend = 'aws-lc'";
    timed("crypto-peers", text, |ran| {
        assert!(
            ran.values("arm")
                .is_superset(&set(&["engine", "own-loop", "ring"]))
        );
        for point in ran.points() {
            let of = |name: &str| point.dimensions[name].to_string();
            let is_symmetric = ["encrypt", "hash"].contains(&&*of("operation"));
            let has_blocks = is_symmetric && !of("algorithm").starts_with("rsa");
            assert!(point.metric("requests_per_s").is_some(), "{point:?}");
            let has_speed = point.metric("speed_mb_per_s").is_some();
            assert_eq!(has_speed, has_blocks, "{point:?}");
        }
    });
}

/// A wrong word makes a program end without a figure.
#[test]
fn programs_that_are_installed_give_a_figure_for_all_they_are_asked_for() {
    let text = "algorithms = ['sha1', 'sha256', 'sha384', 'sha512', 'hmac-sha256', 'aes-128-ecb', 'aes-128-cbc', 'chacha20-poly1305', 'ecdsa-p256']\nsizes_bytes = [64]\nseconds = 0.01\npairs = 1\npeers = ['openssl', 'dpdk-32']\nbackend = 'aws-lc'";
    timed("crypto-peers", text, |ran| {
        for (program, arm) in [("openssl", "openssl"), ("dpdk-test-crypto-perf", "dpdk-32")] {
            if Command::new(program).arg("version").output().is_err() {
                testing::left_out(format!("{program} is not installed"));
                continue;
            }
            assert!(ran.values("arm").contains(arm), "{arm}");
        }
        let is_silent =
            |event: &Event| matches!(event, Event::Finding(one) if one.text.contains("no figure"));
        assert_eq!(ran.count(is_silent), 0);
        let is_met = |event: &Event| matches!(event, Event::Comparison(one) if one.target.as_ref().is_some_and(|target| target.met));
        assert_eq!(ran.count(is_met), 0, "one pair is no claim");
    });
}

#[test]
fn every_driver_is_measured_by_every_method() {
    let text = "drivers = ['virtio_crypto_aes_cbc', 'cbc(aes-generic)', 'cryptd(sha256-generic)', 'generic-gcm-aesni']\nsizes_bytes = [512]\ndepth = 8\nmethods = ['sync', 'batch', 'async', 'resubmit', 'tcrypt', 'tcrypt-mb']\nseconds = 0.02\npairs = 1";
    booting("kspeed", text, |ran| {
        for point in ran.points() {
            assert_ne!(point.verdict.validity, Validity::NotSupported, "{point:?}");
            let rate = point.metric("requests_per_s").expect("it was measured");
            assert!(rate.value > 0.0 && rate.samples.len() == 1);
        }
        assert_eq!(
            (ran.values("driver").len(), ran.values("method").len()),
            (4, 6)
        );
        for dimension in ["guest_kernel", "qemu", "accelerator", "vcpus", "guest_cpu"] {
            assert_eq!(ran.values(dimension).len(), 1, "{dimension}");
        }
        assert!(ran.shown()[0] > 10);
        let has_latency = ran.points().any(|point| !point.histogram.is_empty());
        assert!(has_latency, "the warm-up takes latencies");
        // A device has its time between call and callback, AES in C within the call.
        for (driver, waits, in_interrupt) in [
            ("virtio_crypto_aes_cbc", true, 100.0),
            ("cbc(aes-generic)", false, 0.0),
        ] {
            let own = ran.points().filter(|point| {
                point.dimensions["driver"] == driver.into() && point.metric("submit_ns").is_some()
            });
            let told = own.map(|point| {
                let percent = point.metric("in_interrupt_percent");
                (
                    point.metric("wait_ns").is_some(),
                    percent.map(|percent| percent.value),
                )
            });
            let mut told: Vec<_> = told.collect();
            told.dedup();
            assert_eq!(told, [(waits, Some(in_interrupt))], "{driver}");
        }
    });
}

#[test]
fn any_driver_of_the_kernel_is_measured_and_one_it_lacks_is_told() {
    let text = "drivers = ['xts-aes-aesni', 'cryptd(ctr(aes-generic))', 'generic-gcm-aesni', 'cbc-aes-aesni', 'pkcs1pad(rsa-generic,sha256)', 'cbc-aes-vendor']\nmodules = ['xts']\ndestination = 'in-place'\nsizes_bytes = [512]\ndepth = 4\nmethods = ['sync', 'async']\nseconds = 0.02\npairs = 1";
    booting("kspeed", text, |ran| {
        for point in ran.points() {
            let verdict = &point.verdict;
            if point.dimensions["driver"] == "cbc-aes-vendor".into() {
                let reason = &verdict.reason;
                assert!(reason.contains("/proc/crypto offers: "), "{reason}");
                continue;
            }
            assert_ne!(verdict.validity, Validity::NotSupported, "{point:?}");
            let rate = point.metric("requests_per_s").expect("it was measured");
            assert!(rate.value > 0.0, "{point:?}");
        }
        assert_eq!(ran.values("driver").len(), 6);
        assert_eq!(ran.values("operation").len(), 3, "encrypt, sign and verify");
        let is_told = |event: &Event| matches!(event, Event::Finding(one) if one.text.contains("xts(aes) by xts-aes-aesni, key of 32 bytes"));
        assert_eq!(ran.count(is_told), 1);
    });
}

#[test]
fn guests_encrypt_with_the_drivers_that_they_should_have() {
    let text =
        "modes = ['xts', 'pcbc']\ndirections = ['read']\ndisk_mib = 8\nseconds = 0.1\npairs = 1";
    booting("disk-guest", text, |ran| {
        for point in ran.points() {
            assert_ne!(point.verdict.validity, Validity::NotSupported, "{point:?}");
            let speed = point.metric("speed_mb_per_s").expect("it was measured");
            assert!(speed.value > 0.0, "{point:?}");
        }
        assert_eq!(ran.values("arm").len(), 7);
        let drivers = ran.values("driver");
        // None, and each mode's with AES-NI and without.
        assert_eq!(drivers.len(), 5, "{drivers:?}");
    });
}

#[test]
fn guests_use_what_their_cpu_model_shows() {
    let text =
        "algorithms = ['sha256']\nsteps = ['baseline', 'aesni', 'avx2', 'avx512']\npairs = 1";
    booting("cpu-guest", text, |ran| {
        let mut drivers = BTreeMap::new();
        for point in ran.points() {
            let of = |name: &str| point.dimensions[name].to_string();
            if point.verdict.validity == Validity::NotSupported {
                assert_eq!(of("step"), "avx512", "{point:?}");
                let reason = &point.verdict.reason;
                assert!(
                    reason.contains("avx512") || reason.contains("ended"),
                    "{reason}"
                );
                continue;
            }
            drivers.insert(of("step"), (of("kernel_aes"), of("kernel_sha256")));
        }
        assert!(!drivers["baseline"].0.contains("aesni"), "{drivers:?}");
        assert!(drivers["aesni"].0.contains("aesni"), "{drivers:?}");
        assert_eq!(drivers["baseline"].1, "sha256-generic", "{drivers:?}");
        assert!(drivers["avx2"].1.contains("avx2"), "{drivers:?}");
    });
}

#[test]
fn a_kernel_that_is_not_there_is_named() {
    for name in ["kspeed", "disk-guest", "cpu-guest"] {
        let section = section(name, "kernel = '9.9.9-none'");
        let error = section.plan(&Probe::default(), Duration::from_secs(600));
        let Err(PlanError::NotSupported { reason, remedy }) = error else {
            panic!("{error:?}")
        };
        assert!(
            remedy.contains("setup-guests") && !reason.is_empty(),
            "{remedy}"
        );
    }
}

/// No host of any kind has its kernel changed without a word.
#[test]
fn this_host_s_kernel_is_not_measured_without_leave() {
    let section = section("kspeed", "kernel = 'host'\ndrivers = ['cbc-aes-aesni']");
    let error = section.plan(&Probe::default(), Duration::from_secs(600));
    let Err(PlanError::NotSupported { reason, remedy }) = error else {
        panic!("{error:?}")
    };
    assert!(
        reason.contains("this host") || reason.contains("lockgate_kspeed"),
        "{reason}"
    );
    assert!(!remedy.is_empty());
}

/// A throughput search that is over soon.
const SEARCH: &str =
    "pairs = 1\nseconds = 0.1\nframes = [512]\nloss_percent = 0.0\nresolution_percent = 10.0";

#[test]
fn native_yields_the_source_s_table() {
    let text = format!("extras = []\n{SEARCH}");
    timed("router-native", &text, |ran| {
        assert!(ran.points().count() >= 2 && ran.has_table("table 2"));
    });
}

#[test]
fn routers_over_taps_are_told_from_those_over_veth_pairs() {
    let text = format!("ports = 'tap'\nextras = []\n{SEARCH}");
    timed("router-native", &text, |ran| {
        assert!(ran.is_measured_or_told("wires", "tap"));
    });
}

#[test]
fn homes_are_measured_beside_a_native_router() {
    timed("router-os-level", SEARCH, |ran| {
        assert!(ran.has_table("figure 3"));
        for home in ["namespace", "lxc", "runc"] {
            assert!(ran.is_measured_or_told("home", home), "{home}");
        }
    });
}

#[test]
fn tcp_is_measured_one_way_and_both() {
    let text = "pairs = 1\nseconds = 0.2\npaths = ['kernel', 'xdp-fib']";
    timed("router-tcp", text, |ran| {
        for way in ["one-way", "two-way"] {
            assert!(ran.is_measured_or_told("direction", way), "{way}");
        }
    });
}

#[test]
fn frames_pass_while_a_table_comes_by_bgp() {
    timed("router-bgp", "routes = 2000", |ran| {
        let phases = ran.values("phase");
        assert_eq!(phases.len(), 5, "{phases:?}");
        assert_eq!(ran.values("path").len(), 2);
        for point in ran.points() {
            let routes = point.metric("routes").map(|metric| metric.value);
            let phase = point.dimensions["phase"].to_string();
            if ["loading", "withdrawing"].contains(&phase.as_str()) {
                testing::certainly!(routes == Some(2000.0), "{point:?}");
            }
        }
    });
}

#[test]
fn paths_carry_ipv6_both_ways() {
    let text = "pairs = 1\nseconds = 0.1\npaths = ['kernel', 'xdp-fib', 'af-xdp:interrupt:32']\nframe = 128\nipv6 = true\ntwo_way = true\ndestinations = [1]\nroutes = []";
    timed("router-paths", text, |ran| {
        assert!(ran.is_measured_or_told("protocol", "ipv6"));
        assert!(ran.is_measured_or_told("direction", "two-way"));
    });
}

#[test]
fn paths_are_measured_beside_each_other() {
    let text = "pairs = 1\nseconds = 0.1\npaths = ['kernel', 'xdp-devmap', 'xdp-fib-cached']\ndestinations = [1]\nroutes = []";
    timed("router-paths", text, |ran| {
        assert!(ran.points().count() >= 3);
    });
}

#[test]
fn routers_stand_side_by_side() {
    let text = "pairs = 1\nseconds = 0.1\nrouters = [1, 2]\nbeside = 2";
    timed("router-scaling", text, |ran| {
        assert!(ran.points().count() >= 5);
    });
}

#[test]
fn disk_sectors_are_measured_by_every_arm() {
    let text = "ciphers = ['aes-xts-plain64', 'aes-cbc-essiv:sha256', 'aes-lrw-benbi']\nkey_bits = [256, 512]\nsector_bytes = [512]\ndirections = ['write']\npairs = 1\nseconds = 0.005";
    timed("disk-speed", text, |ran| {
        assert_eq!(ran.shown()[1..], [1, 1]);
        for arm in ["run", "bulk", "bulk-ipsec-mb", "call", "block", "ceiling"] {
            assert!(ran.is_measured_or_told("arm", arm), "{arm}");
        }
    });
}

#[test]
fn packets_are_measured_by_every_arm() {
    let text = "suites = ['aes-128-gcm', 'chacha20-poly1305']\nwork = ['seal', 'mask']\npacket_bytes = [64, 300]\nbatches = [4]\npairs = 1\nseconds = 0.005";
    timed("quic-packets", text, |ran| {
        assert_eq!(ran.shown()[1..], [1, 1]);
        for arm in ["kernels", "aws-lc", "ipsec-mb", "ring"] {
            assert!(ran.is_measured_or_told("arm", arm), "{arm}");
        }
    });
}
