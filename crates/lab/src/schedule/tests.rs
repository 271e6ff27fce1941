use std::time::Duration;

use trial::Probe;

use crate::schedule::schedule;
use crate::testing::Fake;

/// Why one does not run that its host cannot.
const MISSING: &str = "no such card; remedy: plug one in";

#[test]
fn the_host_comes_before_the_budget_and_what_cannot_run_leaves_its_share() {
    let any = Fake::hungry(5, 300);
    let missing = || Err(MISSING);
    let too_little =
        "needs 8.0 s of measuring, the budget leaves 3.0 s; raise --budget or choose fewer points";
    for (name, sections, budget_s, plans) in [
        (
            "each gets its share",
            vec![Fake::hungry(0, 0), any.clone(), any.clone()],
            180,
            vec![Ok(0.0), Ok(90.0), Ok(90.0)],
        ),
        (
            "the share of one that cannot run",
            vec![any.clone(), any.clone().unsupported()],
            180,
            vec![Ok(180.0), missing()],
        ),
        (
            "a budget too small",
            vec![Fake::hungry(8, 60)],
            3,
            vec![Err(too_little)],
        ),
        (
            "the host lacks something, and the budget is too small",
            vec![Fake::hungry(8, 60).unsupported()],
            3,
            vec![missing()],
        ),
        (
            "one that fits only without the other",
            vec![Fake::hungry(5, 5).unsupported(), Fake::hungry(8, 60)],
            10,
            vec![missing(), Ok(10.0)],
        ),
    ] {
        let sections = sections.into_iter().map(Fake::wanted).collect();
        let scheduled = schedule(sections, &Probe::default(), Duration::from_secs(budget_s));
        let seconds = scheduled
            .into_iter()
            .map(|one| one.plan.map(|plan| plan.seconds));
        let seconds: Vec<_> = seconds
            .map(|own| own.map_err(|why| why.to_string()))
            .collect();
        let wanted: Vec<_> = plans
            .into_iter()
            .map(|own| own.map_err(str::to_owned))
            .collect();
        assert_eq!(seconds, wanted, "{name}");
    }
}
