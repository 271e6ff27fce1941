use std::collections::BTreeMap;

use kit::rehearsal::{Script, rehearse};
use trial::{Dimension, Event};

use super::*;

/// AES needs AES-NI, and is twice as fast with AVX-512; hashes need SHA-NI.
fn speeds(point: &BTreeMap<String, Dimension>) -> f64 {
    let text = |name: &str| point.get(name).map(ToString::to_string).unwrap_or_default();
    let tier = text("tier");
    match text("algorithm").as_str() {
        "sha256" if tier.ends_with("-sha") => 25.0,
        "aes-256-gcm" if tier == "none" || tier.ends_with("-aes") => 2.0,
        "aes-256-gcm" if !tier.starts_with("avx512") => 50.0,
        _ => 100.0,
    }
}

fn said(table: &str) -> Vec<Event> {
    let script = Script {
        speed: speeds,
        ..Script::default()
    };
    rehearse::<CpuTiers>(&table.parse().unwrap(), &script)
        .unwrap()
        .events
}

#[test]
fn each_feature_has_the_price_that_was_planted() {
    let table = "algorithms = ['aes-256-gcm', 'sha256']\nmodes = ['xts']\nvectors = false";
    let events = said(table);
    let headline = events.iter().find_map(|event| match event {
        Event::Finding(finding) => Some(finding.text.clone()),
        _ => None,
    });
    assert_eq!(
        headline.as_deref(),
        Some(
            "Hidden from a guest, a CPU feature costs up to: AVX-512 50% (50 to 50) of aes-256-gcm; AES-NI 98.0% (98.0 to 98.0); SHA-NI 75% (75 to 75) of sha256."
        )
    );
    let costs = events.iter().find_map(|event| match event {
        Event::Table(table) if table.title.contains("costs") => Some(table),
        _ => None,
    });
    let costs = costs.expect("there is a table of costs");
    assert_eq!((costs.rows.len(), costs.columns.len()), (5, 9));
}

#[test]
fn what_a_worker_is_sent_is_what_was_meant() {
    let section: CpuTiers = kit::testing::section("").unwrap();
    for (_, work) in section.works(&Host::with_cpus([0, 1])) {
        assert_eq!(work.to_string().parse(), Ok(work));
    }
    for wrong in [
        "",
        "crypto",
        "vector maybe",
        "sectors xts 4k true",
        "crypto x y 1 1",
    ] {
        let error = wrong.parse::<Work>().unwrap_err();
        assert!(error.contains("asked for"), "{error}");
    }
}

#[test]
fn tiers_above_the_host_are_left_out_and_named() {
    let section: CpuTiers = kit::testing::section("hidden = ['avx2', 'avx512', 'none']").unwrap();
    let mut host = Host::with_cpus([0, 1]);
    host.tiers = vec!["vaes".parse().unwrap(), "avx2".parse().unwrap()];
    let arms: Vec<_> = section
        .choices(&host)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(arms, ["vaes", "avx2", "none"]);
    assert!(section.left_out(&host).unwrap().ends_with("vaes: avx512"));
}
