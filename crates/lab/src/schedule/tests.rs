use std::time::Duration;

use trial::Probe;

use crate::schedule::schedule;
use crate::testing::Fake;

/// Why one does not run that its host cannot.
const MISSING: &str = "no such card; remedy: plug one in";

fn seconds(of: &[Fake], budget_s: u64) -> Vec<Result<f64, String>> {
    let sections = of.iter().cloned().map(Fake::boxed).collect();
    schedule(sections, &Probe::default(), Duration::from_secs(budget_s))
        .into_iter()
        .map(|scheduled| {
            let seconds = scheduled.plan.map(|plan| plan.seconds);
            seconds.map_err(|why| why.to_string())
        })
        .collect()
}

#[test]
fn each_gets_its_share() {
    let plans = seconds(
        &[
            Fake::hungry(0, 0),
            Fake::hungry(5, 300),
            Fake::hungry(5, 300),
        ],
        180,
    );
    assert_eq!(plans, [Ok(0.0), Ok(90.0), Ok(90.0)]);
}

#[test]
fn the_share_of_one_that_cannot_run_goes_to_the_others() {
    let plans = seconds(
        &[Fake::hungry(5, 300), Fake::hungry(5, 300).unsupported()],
        180,
    );
    assert_eq!(plans[0], Ok(180.0));
    assert_eq!(plans[1], Err(MISSING.to_owned()));
}

#[test]
fn a_budget_too_small_says_by_how_much() {
    let plans = seconds(&[Fake::hungry(8, 60)], 3);
    let why = plans[0].as_ref().unwrap_err();
    assert!(
        why.starts_with("needs 8.0 s of measuring, the budget leaves 3.0 s"),
        "{why}"
    );
}

#[test]
fn what_the_host_lacks_counts_before_the_budget() {
    let plans = seconds(&[Fake::hungry(8, 60).unsupported()], 3);
    assert_eq!(plans[0], Err(MISSING.to_owned()));
}

#[test]
fn one_that_fits_only_without_the_unsupported_one_runs() {
    let plans = seconds(&[Fake::hungry(5, 5).unsupported(), Fake::hungry(8, 60)], 10);
    assert_eq!(plans[0], Err(MISSING.to_owned()));
    assert_eq!(plans[1], Ok(10.0));
}
