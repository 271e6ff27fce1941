//! The trials of `vcm-tenants` on this host, tiny. No speed is asserted: only
//! what must be there and what is counted.

use std::collections::BTreeMap;
use std::time::Duration;

use kit::testing::Collector;
use trial::{Event, PlanError, Probe, RunError};

fn run(text: &str, interrupt_after: Option<usize>) -> Option<(Vec<Event>, Result<(), RunError>)> {
    let kind = lockgate_sections::section("vcm-tenants").expect("it is registered");
    let section = (kind.parse)(text.parse().expect("toml")).expect("a valid table");
    let plan = match section.plan(&Probe::default(), Duration::from_secs(600)) {
        Ok(plan) => plan,
        Err(PlanError::NotSupported { reason, .. }) => {
            testing::skipped(reason);
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let mut sink = Collector {
        interrupt_after,
        ..Collector::default()
    };
    let result = section.run(&Probe::default(), &plan, &mut sink);
    Some((sink.events, result))
}

#[test]
fn every_case_is_measured_and_limits_are_kept() {
    testing::alone(|| {
        let text = "tenants = [1, 3]\nweights = [1, 2]\npairs = 2\nseconds = 0.05";
        let Some((events, result)) = run(text, None) else {
            return;
        };
        result.expect("it runs");
        let mut metrics = BTreeMap::new();
        for event in &events {
            match event {
                Event::Point(point) => {
                    let names: Vec<_> = point.metrics.iter().map(|own| own.name.clone()).collect();
                    let of = |name: &str| point.dimensions[name].to_string();
                    metrics.insert((of("case"), of("tenant")), names.join(" "));
                }
                Event::Finding(finding) => {
                    assert!(!finding.text.contains("was broken"), "{}", finding.text);
                }
                _ => {}
            }
        }
        let whole = "speed_mb_per_s client_cpu_percent worker_cpu_percent";
        let one = "speed_mb_per_s requests_per_s notifications_per_s";
        for (case, tenants) in [
            ("equal-1", &["1"][..]),
            ("equal-3", &["1", "2", "3"]),
            ("weighted", &["1", "2"]),
            ("polite", &["1", "2", "3"]),
            ("flood", &["1", "2", "hostile"]),
            ("signer", &["1", "2", "hostile"]),
            ("mute", &["1", "2", "hostile"]),
            ("cap", &["1", "2"]),
            ("quota", &["1", "2"]),
        ] {
            let is_shared = ["equal-1", "equal-3", "weighted", "polite"].contains(&case);
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
