use std::time::Duration;

use trial::{PlanError, Probe};

use crate::schedule::schedule;
use crate::testing::Fake;

fn seconds(of: &[Fake], budget_s: u64) -> Vec<Result<f64, PlanError>> {
    let sections = of.iter().cloned().map(Fake::boxed).collect();
    schedule(sections, &Probe::default(), Duration::from_secs(budget_s))
        .into_iter()
        .map(|scheduled| scheduled.plan.map(|plan| plan.seconds))
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
    assert!(matches!(plans[1], Err(PlanError::NotSupported { .. })));
}

#[test]
fn a_budget_too_small_says_by_how_much() {
    let plans = seconds(&[Fake::hungry(8, 60)], 3);
    let (needed_s, budget_s) = (8.0, 3.0);
    assert_eq!(plans[0], Err(PlanError::Budget { needed_s, budget_s }));
}

#[test]
fn what_the_host_lacks_counts_before_the_budget() {
    let plans = seconds(&[Fake::hungry(8, 60).unsupported()], 3);
    assert!(matches!(plans[0], Err(PlanError::NotSupported { .. })));
}

#[test]
fn one_that_fits_only_without_the_unsupported_one_runs() {
    let plans = seconds(&[Fake::hungry(5, 5).unsupported(), Fake::hungry(8, 60)], 10);
    assert!(matches!(plans[0], Err(PlanError::NotSupported { .. })));
    assert_eq!(plans[1], Ok(10.0));
}
