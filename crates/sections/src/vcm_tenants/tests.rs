//! What only this section promises: the rest is in `tests/conformance.rs`.

use kit::config::keys::{self, Table};
use kit::experiment::{Experiment, Results};
use kit::host::Host;
use kit::load::benches::NOTIFICATIONS;
use kit::rehearsal::headline;
use kit::subject::Reading;
use kit::testing::{assert_refused, section};
use trial::Weight;

use super::case::{Case, Place};
use super::{Config, Tenants, findings, rig};

#[test]
fn what_does_not_go_together_is_named() {
    assert_refused::<Tenants>(&[
        ("algorithm = 'rsa-2048'", "algorithm", "no block sizes"),
        (
            "algorithm = 'aes-128-cbc'\nblock_bytes = 17",
            "block_bytes",
            "multiples of 16",
        ),
        (
            "depth = 4096\nblock_bytes = 1048576",
            "depth",
            "lower depth",
        ),
        (
            "backend = 'kernels'\nalgorithm = 'aes-128-cbc'",
            "hostile",
            "back-end kernels has no rsa-2048",
        ),
        (
            "tenants = []\nweights = []\nhostile = []\ncap_per_s = 0\nquota_per_s = 0",
            "tenants",
            "nothing is measured",
        ),
    ]);
}

/// An empty list leaves its cases out, also where it is printed and read again;
/// a weight may be named twice.
#[test]
fn lists_say_which_cases_there_are() {
    let cases = |text: &str| Case::all(section::<Tenants>(text).unwrap().config()).len();
    assert_eq!(cases(""), 12);
    assert_eq!(cases("tenants = [4, 2, 4]\ncap_per_s = 0"), 8);
    let some: Tenants = section("tenants = []\nweights = [2, 2, 1]\nhostile = []").unwrap();
    let names: Vec<_> = Case::all(some.config())
        .iter()
        .map(|one| one.said(some.config()).0)
        .collect();
    assert_eq!(names, ["weighted", "cap", "quota"]);
    assert_eq!(Case::Weighted.said(some.config()).1, "weights 2:2:1");
    let again: Config = keys::parse(&some.config().written()).unwrap();
    assert_eq!(&again, some.config());
    let flags = keys::flags(some.config());
    assert!(flags.contains("--hostile none"), "{flags}");
}

#[test]
fn many_tenants_are_shallower_so_that_the_cache_holds_them() {
    assert_eq!(rig::depth(32, 2, 8192, 1 << 20), 32);
    assert_eq!(rig::depth(32, 16, 8192, 1 << 20), 6);
    assert_eq!(rig::depth(32, 64, 65_536, 1 << 20), 4);
    assert_eq!(rig::depth(2, 64, 65_536, 0), 2);
}

#[test]
fn the_headline_is_the_worst_that_a_hostile_tenant_did() {
    let kept = headline::<Tenants>(|_| 100.0).unwrap();
    assert!(kept.contains("no more than its share"), "{kept}");
    let taken = headline::<Tenants>(|point| {
        let is_worst = point["case"] == "mute".into() && point["tenant"] == "2".into();
        if is_worst { 50.0 } else { 100.0 }
    })
    .unwrap();
    let worst = "others keep 50% (50% to 50%), tenant 2, weight 2, beside one that fills";
    assert!(taken.contains(worst), "{taken}");
}

#[test]
fn a_broken_limit_is_a_warning() {
    let section: Tenants = section("tenants = [1]").unwrap();
    let host = Host::with_cpus([0, 1]);
    let subjects = section.subjects(&host);
    let mut results = Results::new(&section, &host, &subjects, (0.1, ""));
    let of = |one: &kit::subject::Subject<Place, Case>| {
        (one.place, one.arm) == (Place::Tenant(0), Case::Cap)
    };
    let capped = subjects.iter().position(of).expect("it is measured");
    for (round, (per_s, weight)) in [
        // Two more may be counted at a trial's ends.
        (2020.0, Weight::Note),
        (2021.0, Weight::Warning),
    ]
    .into_iter()
    .enumerate()
    {
        let reading = Reading::new(vec![(NOTIFICATIONS, per_s)]);
        results.series[capped].rounds.insert(round, reading);
        let told = findings::findings(&results);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].weight, weight, "{}", told[0].text);
    }
}
