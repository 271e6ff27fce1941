//! What the numbers mean, in plain words.

use forward::router::path::{Path, Poll};
use trial::{Comparison, Finding, Outcome, Weight};

use super::claims::{Claim, Question, counted};
use super::context::Context;
use crate::router::end::End;
use crate::router::told::told;
use crate::router::trial::{Trial, size_name};
use crate::router::way::Way;
use crate::speed::findings::finding;

/// A gain below this is not worth a change.
const WORTH: f64 = 1.1;
/// A loss to this is worth a word.
const COSTS: f64 = 0.9;

pub(super) fn findings(context: &Context<'_>, end: &End) -> Vec<Finding> {
    let one = [
        best(context),
        targets(context),
        batching(context),
        polling(context),
        binding(context),
        peer(context),
        destinations(context),
        routes(context),
        costs(context),
    ];
    let mut findings: Vec<_> = one.into_iter().flatten().collect();
    findings.extend(told(context.subjects));
    findings.extend(end.finding());
    findings
}

/// `2.9× (2.7 to 3.1)`.
fn ratio(comparison: &Comparison) -> String {
    format!(
        "{:.2}× ({:.2} to {:.2})",
        comparison.ratio, comparison.low, comparison.high
    )
}

/// Claims of a question that say something, the largest ratio first.
fn evident<'a>(context: &Context<'a>, question: Question) -> Vec<&'a Claim> {
    let is_evident = |claim: &&Claim| {
        claim.question == question && claim.comparison.outcome != Outcome::NoEvidence
    };
    let mut claims: Vec<_> = context.claims.iter().filter(is_evident).collect();
    claims.sort_by(|a, b| b.comparison.ratio.total_cmp(&a.comparison.ratio));
    claims
}

/// The fastest path that routes as the kernel does: the headline.
fn best(context: &Context<'_>) -> Option<Finding> {
    let count = context.destinations();
    let routes = |claim: &&&Claim| {
        claim.way.asks_the_table() && claim.destinations == count && claim.routes.is_none()
    };
    let best = evident(context, Question::Path);
    let best = best
        .iter()
        .find(routes)
        .filter(|claim| claim.comparison.outcome == Outcome::Faster)?;
    let (way, comparison) = (best.way, &best.comparison);
    let rate = context.subject(way, count)?.series.rate()?;
    let near = context
        .claim(Question::Redirect, way, count)
        .filter(|claim| {
            claim.comparison.outcome != Outcome::NoEvidence || claim.comparison.low > COSTS
        })
        .map(|claim| {
            format!(
                ", and {:.2}× of a redirect that looks at nothing",
                claim.comparison.ratio
            )
        });
    let text = format!(
        "The fastest path that routes as the kernel does is {}: {rate:.0} frames/s of {}, {} of kernel routing{}.",
        way.what(),
        size_name(context.config.frame),
        ratio(comparison),
        near.unwrap_or_default()
    );
    let remedy = match way.path {
        Path::XdpFib | Path::XdpFibCached => {
            "Forward with XDP where the kernel's routing is all that is needed: what XDP does not know it still leaves to the kernel."
        }
        _ => "",
    };
    Some(finding(Weight::Headline, text, remedy))
}

/// How many targets are met, and which are not.
fn targets(context: &Context<'_>) -> Option<Finding> {
    let held: Vec<_> = (context.claims.iter())
        .filter_map(|claim| Some((&claim.comparison, claim.comparison.target?)))
        .collect();
    let missed: Vec<_> = held
        .iter()
        .filter(|(_, target)| !target.met)
        .map(|(one, target)| {
            format!(
                "{} against {}: {}, at least {:.2}× wanted",
                one.arm,
                one.reference,
                ratio(one),
                target.at_least
            )
        })
        .collect();
    let met = held.len() - missed.len();
    let (weight, text) = match (held.len(), missed.is_empty()) {
        (0, _) => return None,
        (all, true) => (Weight::Note, format!("All {all} targets are met.")),
        (all, false) => (
            Weight::Warning,
            format!(
                "{met} of {all} targets are met. Missed: {}.",
                missed.join("; ")
            ),
        ),
    };
    let remedy = match missed.is_empty() {
        true => "",
        false => {
            "A target wants nine pairs and a lower bound above it: measure on a quiet host, or longer (--budget), before you conclude."
        }
    };
    Some(finding(weight, text, remedy))
}

fn batching(context: &Context<'_>) -> Option<Finding> {
    let claims = evident(context, Question::Batching);
    let best = claims.first()?;
    let least = claims
        .iter()
        .filter(|claim| claim.comparison.ratio > COSTS * best.comparison.ratio)
        .min_by_key(|claim| match claim.way.path {
            Path::AfXdp(settings) => settings.batch,
            _ => u32::MAX,
        })?;
    let text = format!(
        "Batching: {} forwards {} of one that takes frames one by one.",
        least.way.what(),
        ratio(&least.comparison)
    );
    let remedy = "Take frames in batches: a copy-mode AF_XDP socket pays a system call for each batch it sends.";
    gain(&least.comparison, text, remedy)
}

fn polling(context: &Context<'_>) -> Option<Finding> {
    let claims = evident(context, Question::Polling);
    let best = claims.first()?;
    let text = format!(
        "Polling: {} forwards {} of one that sleeps until frames come.",
        best.way.what(),
        ratio(&best.comparison)
    );
    let remedy = "Poll where a CPU may be kept busy for it; it also burns when no frame comes.";
    gain(&best.comparison, text, remedy)
}

fn binding(context: &Context<'_>) -> Option<Finding> {
    let claims: Vec<_> = (context.claims.iter())
        .filter(|claim| claim.question == Question::Binding)
        .collect();
    let claim = claims.first()?;
    let subject = context.subject(claim.way, claim.destinations)?;
    let cpus = subject.setups[0].topology.cpus.router.len();
    if cpus < 2 {
        let text = format!(
            "Queues: this host leaves the router one CPU, so threads bound to queues only share it ({} of one thread).",
            ratio(&claim.comparison)
        );
        let remedy = "Give the router a CPU for each queue (four CPUs or more in all) to see what binding gives.";
        return Some(finding(Weight::Note, text, remedy));
    }
    let text = format!(
        "Queue binding: a thread on a core of its own for each queue forwards {} of one thread for all.",
        ratio(&claim.comparison)
    );
    gain(
        &claim.comparison,
        text,
        "Bind each queue to a core of its own.",
    )
}

/// Worth doing, or only worth knowing.
fn gain(comparison: &Comparison, text: String, remedy: &str) -> Option<Finding> {
    let is_gain = comparison.outcome == Outcome::Faster && comparison.ratio > WORTH;
    let (weight, remedy) = match is_gain {
        true => (Weight::Advice, remedy),
        false => (Weight::Note, ""),
    };
    Some(finding(weight, text, remedy))
}

/// How we stand beside DPDK.
fn peer(context: &Context<'_>) -> Option<Finding> {
    let way = Way::af_xdp(Poll::Polled, 32);
    let count = context.destinations();
    let by_cpu = context.claim(Question::PeerByCpu, way, count)?;
    let by_rate = context.claim(Question::PeerByRate, way, count)?;
    let weight = match by_cpu.comparison.outcome {
        Outcome::Slower => Weight::Warning,
        _ => Weight::Note,
    };
    let text = format!(
        "Beside DPDK's testpmd on the same ports (net_af_xdp), the AF_XDP forwarder does {} of its frames per CPU-second and {} of its rate.",
        ratio(&by_cpu.comparison),
        ratio(&by_rate.comparison)
    );
    Some(finding(weight, text, ""))
}

/// What many destinations cost the paths that ask the table.
fn destinations(context: &Context<'_>) -> Option<Finding> {
    let most = context.config.destinations.iter().max()?;
    let told: Vec<_> = evident(context, Question::Destinations)
        .into_iter()
        .filter(|claim| claim.destinations == *most)
        .map(|claim| format!("{} {}", claim.way.what(), ratio(&claim.comparison)))
        .collect();
    (!told.is_empty()).then(|| {
        let text = format!(
            "With {} instead of {} the paths keep: {}.",
            counted(*most, "destination"),
            context.destinations(),
            told.join("; ")
        );
        finding(Weight::Note, text, "")
    })
}

fn routes(context: &Context<'_>) -> Option<Finding> {
    let most = context.config.routes.iter().max()?;
    let told: Vec<_> = (context.claims.iter())
        .filter(|claim| claim.question == Question::Routes && claim.routes == Some(*most))
        .map(|claim| format!("{} {}", claim.way.what(), ratio(&claim.comparison)))
        .collect();
    (!told.is_empty()).then(|| {
        let text = format!(
            "With a table of {most} routes the paths keep: {}.",
            told.join("; ")
        );
        finding(Weight::Note, text, "")
    })
}

/// What a frame costs on each way, least first: what the source's advice
/// (short paths) comes to here.
fn costs(context: &Context<'_>) -> Option<Finding> {
    let count = context.destinations();
    let mut all: Vec<_> = (context.config.ways.iter())
        .filter_map(|way| {
            let series = &context.subject(*way, count)?.series;
            let ns = series.median(Trial::router_ns_per_frame)?;
            series.is_valid().then_some((ns, way.what()))
        })
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let told: Vec<_> = all
        .into_iter()
        .map(|(ns, what)| format!("{what} {ns:.0} ns"))
        .collect();
    (told.len() > 1).then(|| {
        let text = format!("CPU time of the router for a frame: {}.", told.join("; "));
        finding(Weight::Note, text, "")
    })
}
