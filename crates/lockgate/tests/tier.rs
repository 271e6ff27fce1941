//! `lockgate --tier`: what a guest with fewer CPU features would see, and a
//! refusal where a library sees more.

use std::fs;

use crate::common::{Desk, Ended, words};
use trial::{Fact, Probe};

const TIERS: [&str; 6] = ["none", "aesni", "avx", "avx2", "vaes", "avx512"];

const TINY: &str = "speed --backend aws-lc --algorithm aes-128-gcm --size 16384 --mode async \
    --seconds 0.02 --pairs 1 --no-peers --quiet";

fn probe(ended: &Ended) -> Probe {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
}

/// The tiers this host has, lowest first; empty where there are none.
fn host_tiers(desk: &Desk) -> Vec<&'static str> {
    let whole = probe(&desk.lockgate(&["probe", "--json"]).ok());
    assert!(whole.fact("tier").is_none(), "no tier was asked for");
    let reached = whole.text("cpu.tier").expect("the probe names it");
    let Some(at) = TIERS.iter().position(|tier| *tier == reached) else {
        testing::skipped(format!(
            "this CPU reaches the tier '{reached}', below all others"
        ));
        return Vec::new();
    };
    TIERS[..=at].to_vec()
}

fn facts(probe: &Probe) -> impl Iterator<Item = &Fact> {
    let facts = probe.groups.iter().flat_map(|group| &group.facts);
    facts.filter(|fact| fact.key.starts_with("tier."))
}

#[test]
fn every_tier_of_the_host_is_what_its_libraries_see() {
    let desk = Desk::new();
    let tiers = host_tiers(&desk);
    for tier in &tiers {
        for end in ["", "-sha", "-adx", "-aes"] {
            let name = format!("{tier}{end}");
            // Without AES-NI no tier is left.
            let left = if end == "-aes" { "none" } else { *tier };
            let seen = probe(&desk.lockgate(&["probe", "--json", "--tier", &name]).ok());
            assert_eq!(seen.text("tier"), Some(name.as_str()));
            for key in ["tier.aws_lc", "tier.limit"] {
                assert_eq!(seen.text(key), Some(left), "{key} at {name}");
            }
            for fact in facts(&seen) {
                let sha_is_hidden = !fact.text.contains("SHA-NI");
                assert!(sha_is_hidden || end != "-sha", "{fact:?}");
                // A library may tell fewer tiers apart, and then sees less.
                let rank = |name: &str| TIERS.iter().position(|tier| *tier == name);
                let seen = fact.value.as_str().map_or(Some(0), rank);
                assert!(seen.is_some_and(|at| Some(at) <= rank(left)), "{fact:?}");
            }
            // The CPU itself is the same as ever.
            assert_eq!(seen.text("cpu.tier"), tiers.last().copied());
        }
    }
}

#[test]
fn a_mask_that_does_nothing_is_refused() {
    let desk = Desk::new();
    let tiers = host_tiers(&desk);
    for (at, tier) in tiers.iter().enumerate().take(tiers.len().saturating_sub(1)) {
        // As if the program had been started again with masks, and they are
        // none, or those of a higher tier.
        for mask in ["~0x0:~0x0", "~0x0:~0x4000000000000000"] {
            let planted = [("LOCKGATE_TIER", *tier), ("OPENSSL_ia32cap", mask)];
            let arguments = format!("{TINY} --tier {tier}");
            let ended = desk.lockgate_with(&words(&arguments), &planted);
            assert_eq!(ended.code, Some(4), "{}", ended.stderr);
            ended.says(&["AWS-LC", &format!("tier {tier}"), "sees ", "did nothing"]);
            let found = tiers[at + 1..].iter().any(|found| {
                let sees = format!("sees {found}");
                ended.stderr.contains(&sees)
            });
            assert!(found, "{}", ended.stderr);
        }
    }
    assert!(desk.runs().is_empty(), "nothing may be measured");
}

#[test]
fn a_mask_of_the_users_own_does_not_stay() {
    let desk = Desk::new();
    let Some(highest) = host_tiers(&desk).pop() else {
        return;
    };
    // An empty mask would hide everything from OpenSSL.
    for mask in ["", "~0x200000200000000:0"] {
        let own = [("OPENSSL_ia32cap", mask)];
        let arguments = ["--tier", highest, "probe", "--json"];
        let seen = probe(&desk.lockgate_with(&arguments, &own).ok());
        assert_eq!(seen.text("tier.aws_lc"), Some(highest));
    }
}

#[test]
fn a_measurement_says_its_tier_everywhere() {
    testing::timed(|| {
        let desk = Desk::new();
        if !host_tiers(&desk).contains(&"aesni") {
            return;
        }
        let ended = desk.line(&format!("--tier aesni {TINY}")).ok();
        ended.shows(&["tier aesni"]);
        let run = desk.stored();
        assert_eq!(run.probe.text("tier"), Some("aesni"));
        assert!(run.command.contains("--tier aesni"), "{}", run.command);
        let section = &run.sections[0];
        let commands = section.points.iter().map(|point| &point.command);
        for command in commands.chain([&section.command]) {
            assert!(
                command.starts_with("lockgate --tier aesni run crypto-speed"),
                "{command}"
            );
        }
        let html = fs::read_to_string(desk.runs()[0].join("report.html")).unwrap();
        assert!(html.contains("measured as tier aesni"));
    });
}

#[test]
fn peers_are_masked_or_left_out_with_the_reason() {
    testing::timed(|| {
        let desk = Desk::new();
        // Where there is nothing above, there is nothing to hide.
        if !host_tiers(&desk).contains(&"avx") {
            return;
        }
        let words = "--tier aesni speed --backend aws-lc --algorithm sha256 --size 64 --peers all --seconds 0.02 --pairs 1";
        let ended = desk.line(words);
        if ended.code == Some(4) && ended.stderr.contains("need a CPU each") {
            testing::skipped(ended.stderr);
            return;
        }
        ended.ok();
        let run = desk.stored();
        let section = &run.sections[0];
        for point in &section.points {
            let arm = point.dimensions["arm"].to_string();
            assert!(!["ring", "dpdk-1", "dpdk-32"].contains(&&*arm), "{arm}");
            let begins = "lockgate --tier aesni run crypto-peers --algorithms sha256";
            assert!(point.command.starts_with(begins), "{}", point.command);
        }
        let texts: Vec<_> = section.findings.iter().map(|it| it.text.as_str()).collect();
        let says = |part: &str| texts.iter().any(|text| text.contains(part));
        assert!(says("ring asks the CPU itself"), "{texts:?}");
        let is_left_out =
            says("DPDK's library asks the CPU") || says("dpdk-test-crypto-perf is not installed");
        assert!(is_left_out, "{texts:?}");
    });
}

#[test]
fn what_cannot_be_masked_is_left_out_with_the_reason() {
    let desk = Desk::new();
    if !host_tiers(&desk).contains(&"aesni") {
        return;
    }
    let ended = desk.line("speed --tier none --backend portable --check");
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    ended.says(&["asks the CPU itself"]);
}

#[test]
fn names_commands_and_hosts_without_that_tier_are_refused() {
    let desk = Desk::new();
    let rows = "
        probe --tier avx1024          => aesni, avx, avx2
        completions bash --tier none  => run, speed, disk speed, probe
    ";
    desk.refuses(rows, &[]);
    let tiers = host_tiers(&desk);
    for above in &TIERS[tiers.len()..] {
        let ended = desk.lockgate(&["probe", "--tier", above]);
        assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    }
}

/// The real processes, their masks and their work, once round.
#[test]
fn a_feature_has_a_price_without_a_guest() {
    testing::timed(|| {
        let desk = Desk::new();
        let tiers = host_tiers(&desk);
        if !tiers.contains(&"aesni") {
            return;
        }
        let price = "cpu price --quiet --budget 5 --pairs 1 --hidden none,avx512-sha \
            --algorithms aes-256-gcm --modes xts";
        desk.line(price).ok();
        let run = desk.stored();
        let section = &run.sections[0];
        assert_eq!(section.name, "cpu-tiers");
        let speed = |work: &str, tier: &str| {
            let own = section.points.iter().find(|point| {
                let has = |name: &str, value: &str| {
                    let own = point.dimensions.get(name).map(ToString::to_string);
                    own.as_deref() == Some(value)
                };
                has("tier", tier) && (has("disk_mode", work) || has("numbers", work))
            });
            let metric = own.and_then(|point| point.metrics.first());
            metric
                .unwrap_or_else(|| panic!("{work} under {tier}"))
                .value
        };
        let whole = *tiers.last().unwrap();
        // No measurement of time: AES in software takes tens of times as long.
        assert!(speed("xts", whole) > 3.0 * speed("xts", "none"));
        for numbers in ["i16", "f32"] {
            assert!(speed(numbers, "none") > 0.0);
        }
        let refused = desk.line("--tier avx2 cpu price");
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    });
}
