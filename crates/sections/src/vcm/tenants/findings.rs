//! What the tenants have of each other, in plain words.

use trial::stats::median;
use trial::{Finding, Weight};

use crate::vcm::tenants::case::Case;
use crate::vcm::tenants::context::{Context, Kept, SHARE_KEPT, sum_mb_per_s};
use crate::vcm::tenants::limits::limits;
use crate::vcm::tenants::trials::End;
use kit::words::{finding, percent, speed};

pub(super) fn findings(context: &Context<'_>, kept: &[Kept], end: &End) -> Vec<Finding> {
    [
        beside(kept),
        equal(context),
        weighted(context),
        doubts(kept),
        late(end),
    ]
    .into_iter()
    .flatten()
    .chain(limited(context))
    .collect()
}

/// The worst that a hostile tenant did.
fn beside(kept: &[Kept]) -> Option<Finding> {
    let sound = || kept.iter().filter(|one| one.doubt.is_none());
    let worst = sound().min_by(|a, b| a.comparison.low.total_cmp(&b.comparison.low))?;
    let ratio = &worst.comparison;
    let is_met = sound().all(|one| one.comparison.target.is_some_and(|target| target.met));
    let figures = format!(
        "{} ({} to {}) with weight {} beside {}",
        percent(ratio.ratio),
        percent(ratio.low),
        percent(ratio.high),
        worst.weight,
        worst.hostile.what()
    );
    Some(if is_met {
        let text = format!(
            "A hostile tenant takes no more than its share: the others keep at least {} of the speed that they have beside a polite one; the least is {figures}.",
            percent(SHARE_KEPT)
        );
        finding(Weight::Headline, text, "")
    } else if ratio.high < SHARE_KEPT {
        let text = format!("A hostile tenant takes more than its share: others keep {figures}.");
        let remedy = "Give such a tenant a quota, or a worker of its own.";
        finding(Weight::Warning, text, remedy)
    } else {
        let text = format!(
            "Whether a hostile tenant takes more than its share is not shown: the least that others keep is {figures}."
        );
        finding(
            Weight::Note,
            text,
            "Measure longer (--budget) on a quiet host.",
        )
    })
}

/// How equal ones share.
fn equal(context: &Context<'_>) -> Option<Finding> {
    let cases = context
        .config
        .tenants
        .iter()
        .filter(|&&tenants| tenants > 1);
    let fair = cases.filter_map(|&tenants| {
        let fairness = context.fairness(Case::Equal(tenants))?;
        Some((tenants, median(&fairness.jain)?, median(&fairness.least)?))
    });
    let (tenants, jain, least) = fair.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let most = context.config.tenants.iter().copied().max()?;
    let sum = |tenants| {
        let case = Case::Equal(tenants);
        sum_mb_per_s(context.series(case)?, &context.roles(case))
    };
    let sums = match (sum(1), sum(most)) {
        (Some(one), Some(all)) => format!(
            "; {most} together do {}, one alone {}",
            speed(all),
            speed(one)
        ),
        _ => String::new(),
    };
    let text = format!(
        "Equal tenants share equally: Jain's index is {jain:.4} at worst, with {tenants} of them, of whom each has at least {} of its share{sums}.",
        percent(least)
    );
    Some(finding(Weight::Note, text, ""))
}

fn weighted(context: &Context<'_>) -> Option<Finding> {
    let fairness = context.fairness(Case::Weighted)?;
    let shares = fairness.shares.iter().filter_map(|share| median(share));
    let shares: Vec<_> = shares.map(percent).collect();
    let text = format!(
        "With {} each has {} of its entitlement; Jain's index of speeds over weights is {:.4}.",
        Case::Weighted.what(context.config),
        shares.join(", "),
        median(&fairness.jain)?
    );
    Some(finding(Weight::Note, text, ""))
}

/// What was no evidence.
fn doubts(kept: &[Kept]) -> Option<Finding> {
    let doubtful: Vec<_> = kept.iter().filter(|one| one.doubt.is_some()).collect();
    let first = doubtful.first()?.doubt.as_ref()?;
    let text = format!(
        "{} of {} ratios beside hostile tenants are no evidence: {first}.",
        doubtful.len(),
        kept.len()
    );
    Some(finding(Weight::Warning, text, "Measure on a quiet host."))
}

fn late(end: &End) -> Option<Finding> {
    let text = match end {
        End::Late(rounds) => format!("It took far longer than planned: {rounds} rounds are whole."),
        End::Interrupted => "Interrupted: what was measured until then is here.".to_owned(),
        End::Complete | End::Failed(_) => return None,
    };
    Some(finding(Weight::Warning, text, ""))
}

fn limited(context: &Context<'_>) -> Vec<Finding> {
    let all = limits(context);
    let broken = all.iter().filter(|limit| limit.broken > 0);
    let broken: Vec<_> = broken
        .map(|limit| {
            let text = format!(
                "A limit of {:.0} {}/s was broken in {} of {} trials, with up to {:.0}/s.",
                limit.per_s, limit.what, limit.broken, limit.trials, limit.highest_per_s
            );
            finding(
                Weight::Warning,
                text,
                "Report it with this run's result.json.",
            )
        })
        .collect();
    if !broken.is_empty() || all.is_empty() {
        return broken;
    }
    let kept: Vec<_> = all
        .iter()
        .map(|limit| {
            format!(
                "{:.0} {}/s (the most in a trial: {:.0}/s)",
                limit.per_s, limit.what, limit.highest_per_s
            )
        })
        .collect();
    let text = format!("Limits were kept in every trial: {}.", kept.join("; "));
    vec![finding(Weight::Note, text, "")]
}
