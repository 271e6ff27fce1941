//! What the tenants have of each other, in plain words.

use kit::experiment::Results;
use kit::fairness::{JAIN, Kept, LEAST_SHARE, SHARE};
use kit::headline::Answer;
use kit::load::benches::{NOTIFICATIONS, REQUESTS, SPEED};
use kit::subject::Measure;
use kit::words::{finding, percent, speed};
use trial::{Finding, Standing, Weight};

use super::case::{Case, Place};
use super::{SHARE_KEPT, Tenants};

/// A quota may be used up at once for this long: the engine's default.
const BURST_S: f64 = 0.01;
/// A trial begins and ends between two counts.
const ENDS: f64 = 2.0;

/// The worst that a hostile tenant did; without any, how equal ones share.
pub(super) fn answer(results: &Results<'_, Tenants>) -> Option<Answer> {
    if results.experiment.config.hostile.is_empty() {
        let shares = equal(results).or_else(|| weighted(results));
        return shares.map(Answer::from);
    }
    let told = results.told().iter();
    let kept = Kept::of(told.filter(|one| one.ratio.is_believed))?;
    let least = kept.least;
    let (text, remedy) = match kept.standing {
        Standing::Met => (
            format!(
                "A hostile tenant takes no more than its share: others keep at least {} of the speed that they have beside a polite one. The least is {least}.",
                percent(SHARE_KEPT)
            ),
            "",
        ),
        Standing::NotMet => (
            format!("A hostile tenant takes more than its share: others keep {least}."),
            "Give such a tenant a quota, or a worker of its own.",
        ),
        Standing::Undecided => (
            format!(
                "Whether a hostile tenant takes more than its share is undecided: the least that others keep is {least}."
            ),
            "Measure longer (--budget) on a quiet host.",
        ),
    };
    Some(Answer::new(text, remedy))
}

pub(super) fn findings(results: &Results<'_, Tenants>) -> Vec<Finding> {
    let shares = [equal(results), weighted(results)];
    let limits = limits(results);
    shares.into_iter().flatten().chain(limits).collect()
}

fn of_all(results: &Results<'_, Tenants>, case: Case, measure: Measure) -> Option<f64> {
    let is_valid = results.is_valid(&Place::All, &case);
    let median = || results.median(&Place::All, &case, measure);
    is_valid.then(median).flatten()
}

/// How equal ones share.
fn equal(results: &Results<'_, Tenants>) -> Option<Finding> {
    let counts = || {
        let cases = Case::all(&results.experiment.config).into_iter();
        cases.filter_map(|case| match case {
            Case::Equal(tenants) => Some(tenants),
            _ => None,
        })
    };
    let fair = counts()
        .filter(|tenants| *tenants > 1)
        .filter_map(|tenants| {
            let of = |measure| of_all(results, Case::Equal(tenants), measure);
            Some((tenants, of(JAIN)?, of(LEAST_SHARE)?))
        });
    let (tenants, jain, least) = fair.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let most = counts().max()?;
    let sum = |tenants| of_all(results, Case::Equal(tenants), SPEED);
    let sums = match (sum(1), sum(most)) {
        (Some(one), Some(all)) => {
            let (one, all) = (speed(one), speed(all));
            format!(" {most} together do {all}, one alone {one}.")
        }
        _ => String::new(),
    };
    let text = format!(
        "Equal tenants: Jain's index is {jain:.4} at worst, with {tenants} of them, of whom each has at least {} of its share.{sums}",
        percent(least)
    );
    Some(finding(Weight::Note, text, ""))
}

fn weighted(results: &Results<'_, Tenants>) -> Option<Finding> {
    let config = &results.experiment.config;
    let jain = of_all(results, Case::Weighted, JAIN)?;
    let tenants = Case::Weighted.tenants(config).into_iter();
    let shares = tenants.filter_map(|(place, _)| results.median(&place, &Case::Weighted, SHARE));
    let text = format!(
        "With {} each has {} of its entitlement; Jain's index of speeds over weights is {jain:.4}.",
        Case::Weighted.said(config).1,
        shares.map(percent).collect::<Vec<_>>().join(", ")
    );
    Some(finding(Weight::Note, text, ""))
}

/// Whether a cap and a quota were kept in every trial.
fn limits(results: &Results<'_, Tenants>) -> Vec<Finding> {
    let config = &results.experiment.config;
    let cap = (Case::Cap, config.cap_per_s.get(), 0.0, NOTIFICATIONS);
    let quota = (Case::Quota, config.quota_per_s.get(), BURST_S, REQUESTS);
    let limit = |(case, per_s, burst_s, measure): (Case, usize, f64, Measure)| {
        let series = results.series(&Place::Tenant(0), &case)?;
        let rates = series.rounds.values().filter_map(|one| one.value(measure));
        let rates: Vec<_> = rates.collect();
        let per_s = per_s as f64;
        let most = per_s + (per_s * burst_s + ENDS) / results.slice_s;
        let broken = rates.iter().filter(|rate| **rate > most).count();
        let highest = rates.iter().copied().reduce(f64::max)?;
        let what = match case {
            Case::Cap => "notifications",
            _ => "requests",
        };
        let limit = format!("of {per_s:.0} {what}/s");
        Some(if broken == 0 {
            let text =
                format!("The limit {limit} was kept in every trial; the most was {highest:.0}/s.");
            finding(Weight::Note, text, "")
        } else {
            let text = format!(
                "The limit {limit} was broken in {broken} of {} trials, with up to {highest:.0}/s.",
                rates.len()
            );
            let remedy = "Report it with this run's result.json.";
            finding(Weight::Warning, text, remedy)
        })
    };
    [cap, quota].into_iter().filter_map(limit).collect()
}
