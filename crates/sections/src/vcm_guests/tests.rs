//! What only this section promises: the rest is in `tests/conformance.rs`.

use kit::rehearsal::headline;
use kit::testing::{assert_refused, section};

use super::*;

#[test]
fn what_does_not_go_together_is_named() {
    assert_refused::<VcmGuests>(&[
        ("cpu = '-x'", "cpu", "CPU model"),
        ("sizes_bytes = [20]", "sizes_bytes", "16"),
        ("guests = [5]", "guests", "1 to 4"),
        ("hostile = ['rude']", "hostile", "endless"),
    ]);
}

/// What a hostile one is compared with is measured, whoever asked for it.
#[test]
fn cases_follow_from_the_lists() {
    let names = |text: &str, home| {
        let own: VcmGuests = section(text).unwrap();
        let cases = Case::all(own.config(), home).into_iter();
        cases.map(|case| case.to_string()).collect::<Vec<_>>()
    };
    let few = "guests = [1, 4]\nhostile = ['work']\ncontrollers = ['adaptive']";
    let wanted = [
        "alone",
        "2 equal",
        "4 equal",
        "weights 1:2",
        "weights 1:2:4:8",
        "beside all the work it can ask for",
    ];
    assert_eq!(names(few, Home::Guest), wanted);
    let fronts = names(few, Home::FrontEnd);
    // Those that are told as they ask, and those with a controller.
    assert_eq!(
        fronts[..5],
        ["alone", "2 equal", "4 equal", "2 equal", "4 equal"]
    );
    assert_eq!(fronts[5..], wanted[3..]);
    let chains = "guests = [1]\nhostile = ['long']\ncontrollers = ['adaptive']";
    assert_eq!(names(chains, Home::Guest), ["alone"]);
    assert_eq!(names(chains, Home::FrontEnd).len(), 5);
    let none = "guests = [1, 2]\nhostile = []\ncontrollers = ['adaptive', 'dim']";
    let wanted = ["alone", "2 equal", "2 equal", "weights 1:2"];
    assert_eq!(names(none, Home::Guest), wanted);
}

#[test]
fn front_ends_come_first_and_guests_boot_only_where_they_are_measured() {
    let own: VcmGuests = section("").unwrap();
    let subjects = own.subjects(&Host::with_cpus([0, 1]));
    let at = |home| subjects.iter().filter(move |own| own.place.home == home);
    let last = at(Home::FrontEnd).map(|own| own.rank).max();
    assert!(last < at(Home::Guest).map(|own| own.rank).min());
    let fronts: Vec<_> = at(Home::FrontEnd).cloned().collect();
    assert!(own.start_s(&fronts) < BOOT_S);
    assert!(own.start_s(&subjects) > BOOT_S * GUESTS_MAX as f64);
    // One CPU leaves guests, and says what it does not.
    let one = Host::with_cpus([3]);
    let is_guest = |own: &Subject<Place, Case>| own.place.home == Home::Guest;
    assert!(own.subjects(&one).iter().all(is_guest));
    assert!(own.left_out(&one).is_some());
}

#[test]
fn the_headline_is_the_worst_that_a_hostile_tenant_did() {
    let kept = headline::<VcmGuests>(|_| 100.0).unwrap();
    assert!(kept.contains("no more than its share"), "{kept}");
    let taken = headline::<VcmGuests>(|point| {
        let is_worst =
            point["case"] == "beside endless chains".into() && point["tenant"] == "1".into();
        if is_worst { 50.0 } else { 100.0 }
    })
    .unwrap();
    let worst = "keeps 50% (50% to 50%), front-end, 512 B, tenant 1, beside endless chains.";
    assert!(taken.contains(worst), "{taken}");
}
