//! The section's answer, and how its targets stand.

use forward::router::path::Path;
use trial::{Finding, Outcome, Standing, Weight};

use crate::router::paths::claims::{Claim, Question};
use crate::router::paths::context::Context;
use crate::router::paths::findings::{COSTS, evident};
use kit::headline::Answer;
use kit::ratio::words;
use kit::routers::trial::size_name;
use kit::routers::way::Way;
use kit::words::finding;

/// The fastest path that routes as the kernel does, or the fastest at all;
/// and how many targets are met.
pub(super) fn answer(context: &Context<'_>) -> Option<Answer> {
    let Answer { text, remedy } = best(context).or_else(|| fastest(context))?;
    let standings = standings(context);
    let met = count(&standings, Standing::Met);
    let text = match (standings.len() + context.open.len(), met) {
        (0, _) => text,
        (1, 0) => format!("{text} Of one target none is met."),
        (1, _) => format!("{text} Its target is met."),
        (all, met) => format!("{text} Of {all} targets {met} are met."),
    };
    Some(Answer { text, remedy })
}

/// The fastest path that routes as the kernel does, where it is evidently
/// faster.
fn best(context: &Context<'_>) -> Option<Answer> {
    let count = context.destinations();
    let routes = |claim: &&&Claim| {
        claim.way.asks_the_table() && claim.destinations == count && claim.routes.is_none()
    };
    let best = evident(context, Question::Path);
    let best = best
        .iter()
        .find(routes)
        .filter(|claim| claim.ratio.comparison.outcome == Outcome::Faster)?;
    let way = best.way;
    let series = &context.subject(way, count)?.series;
    let rate = series.rate()?;
    let about = if series.is_valid() { "" } else { "about " };
    let near = context
        .claim(Question::Redirect, way, count)
        .filter(|claim| {
            claim.ratio.comparison.outcome != Outcome::NoEvidence || claim.ratio.reaches(COSTS)
        })
        .map(|claim| {
            format!(
                ", and {:.2}× of a redirect that looks at nothing",
                claim.ratio.comparison.ratio
            )
        });
    let text = format!(
        "The fastest path that routes as the kernel does is {}: {about}{rate:.0} frames/s of {}, {} of kernel routing{}.",
        way.what(),
        size_name(context.config.frame),
        words(&best.ratio.comparison),
        near.unwrap_or_default()
    );
    let remedy = match way.path {
        Path::XdpFib | Path::XdpFibCached => {
            "Forward with XDP where the kernel's routing is all that is needed: what XDP does not know it still leaves to the kernel."
        }
        _ => "",
    };
    Some(Answer {
        text,
        remedy: remedy.to_owned(),
    })
}

/// The highest rate that is valid, where no path is evidently faster
/// than kernel routing.
fn fastest(context: &Context<'_>) -> Option<Answer> {
    let rate = |way: &Way| {
        let subject = context.subject(*way, context.destinations())?;
        Some((*way, subject.series.believed_rate()?))
    };
    let rates: Vec<_> = context.config.ways.iter().filter_map(rate).collect();
    let by_rate = |a: &&(Way, f64), b: &&(Way, f64)| a.1.total_cmp(&b.1);
    let (way, most) = rates.iter().max_by(by_rate)?;
    let kernel = rates.iter().find(|(way, _)| *way == Way::KERNEL);
    let beside = match kernel {
        Some((_, rate)) if *way != Way::KERNEL => {
            format!(" Kernel routing carries {rate:.0}.")
        }
        Some(_) => String::new(),
        None => " There is no rate of kernel routing to compare it with.".to_owned(),
    };
    let text = format!(
        "Of the rates that are valid the highest is that of {}: {most:.0} frames/s of {}.{beside} That a path which routes is faster than the kernel is not evident.",
        way.what(),
        size_name(context.config.frame),
    );
    let remedy = "Measure kernel routing beside it in five rounds or more, on a quiet host.";
    Some(Answer {
        text,
        remedy: remedy.to_owned(),
    })
}

/// Every claim that something is asked of, with how it stands.
fn standings<'a>(context: &Context<'a>) -> Vec<(&'a Claim, Standing)> {
    let of = |claim: &'a Claim| Some((claim, claim.ratio.standing()?));
    context.claims.iter().filter_map(of).collect()
}

fn count(standings: &[(&Claim, Standing)], wanted: Standing) -> usize {
    let same = |(_, standing): &&(&Claim, Standing)| *standing == wanted;
    standings.iter().filter(same).count()
}

/// How many targets are met, and which are not.
pub(super) fn targets(context: &Context<'_>) -> Option<Finding> {
    let standings = standings(context);
    let met = count(&standings, Standing::Met);
    let all = standings.len() + context.open.len();
    if all == 0 {
        return None;
    }
    if met == all {
        let text = format!("All {all} targets of the paths are met.");
        return Some(finding(Weight::Note, text, ""));
    }
    let told = |lead: &str, wanted: Standing| {
        let same = standings.iter().filter(|(_, standing)| *standing == wanted);
        let mut named: Vec<_> = same.map(|(claim, _)| asked(claim)).collect();
        if wanted == Standing::Undecided {
            named.extend(context.open.iter().cloned());
        }
        match named.is_empty() {
            true => String::new(),
            false => format!(" {lead}: {}.", named.join("; ")),
        }
    };
    let text = format!(
        "{met} of {all} targets of the paths are met.{}{}",
        told("Not met", Standing::NotMet),
        told("Undecided", Standing::Undecided)
    );
    let is_any_undecided = count(&standings, Standing::Undecided) + context.open.len() > 0;
    let remedy = match is_any_undecided {
        true => {
            "A target wants nine pairs and a lower bound above it: for those that are undecided, measure on a quiet host, or longer (--budget), before you conclude."
        }
        false => {
            "BENCHMARKING.md, \"Forwarding\", says what bounds the paths; where router and sink share a CPU, measure with one for each before you conclude."
        }
    };
    Some(finding(Weight::Warning, text, remedy))
}

fn asked(claim: &Claim) -> String {
    let doubt = match claim.ratio.is_believed {
        true => "",
        false => ", not valid",
    };
    format!(
        "{} against {}: {}{doubt}, at least {:.2}× wanted",
        claim.ratio.comparison.arm,
        claim.ratio.comparison.reference,
        words(&claim.ratio.comparison),
        claim.ratio.wanted.unwrap_or_default()
    )
}
