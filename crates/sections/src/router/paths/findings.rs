//! What the numbers mean, in plain words.

use forward::router::path::{Path, Poll};
use trial::{Comparison, Finding, Outcome, Weight};

use crate::router::paths::answer::{answer, targets};
use crate::router::paths::claims::{Claim, Question, counted};
use crate::router::paths::context::Context;
use kit::headline::Question as Asked;
use kit::ratio::words;
use kit::routers::end::End;
use kit::routers::subject::Subject;
use kit::routers::trial::Trial;
use kit::routers::way::Way;
use kit::told::told;
use kit::words::finding;

/// A gain below this is not worth a change.
const WORTH: f64 = 1.1;
/// A loss to this is worth a word.
pub(super) const COSTS: f64 = 0.9;

const QUESTION: Asked = Asked {
    what: "What the forwarding paths of this host give over kernel routing",
    against: "the project's targets (BENCHMARKING.md, \"Forwarding\")",
};

pub(super) fn findings(context: &Context<'_>, end: &End) -> Vec<Finding> {
    let tried: Vec<_> = (context.subjects.iter())
        .filter_map(Subject::tried)
        .collect();
    let one = [
        targets(context),
        batching(context),
        polling(context),
        binding(context),
        peer(context),
        destinations(context),
        routes(context),
        costs(context),
    ];
    let mut findings = vec![QUESTION.headline(answer(context), &tried)];
    findings.extend(one.into_iter().flatten());
    findings.extend(told(&tried));
    findings.extend(end.finding());
    findings
}

/// Claims of a question that say something, the largest ratio first.
pub(super) fn evident<'a>(context: &Context<'a>, question: Question) -> Vec<&'a Claim> {
    let is_evident = |claim: &&Claim| {
        claim.question == question && claim.ratio.comparison.outcome != Outcome::NoEvidence
    };
    let mut claims: Vec<_> = context.claims.iter().filter(is_evident).collect();
    claims.sort_by(|a, b| {
        b.ratio
            .comparison
            .ratio
            .total_cmp(&a.ratio.comparison.ratio)
    });
    claims
}

fn batching(context: &Context<'_>) -> Option<Finding> {
    let claims = evident(context, Question::Batching);
    let best = claims.first()?;
    let least = claims
        .iter()
        .filter(|claim| claim.ratio.comparison.ratio > COSTS * best.ratio.comparison.ratio)
        .min_by_key(|claim| match claim.way.path {
            Path::AfXdp(settings) => settings.batch,
            _ => u32::MAX,
        })?;
    let text = format!(
        "Batching: {} forwards {} of one that takes frames one by one.",
        least.way.what(),
        words(&least.ratio.comparison)
    );
    let remedy = "Take frames in batches: a copy-mode AF_XDP socket pays a system call for each batch it sends.";
    gain(&least.ratio.comparison, text, remedy)
}

fn polling(context: &Context<'_>) -> Option<Finding> {
    let claims = evident(context, Question::Polling);
    let best = claims.first()?;
    let text = format!(
        "Polling: {} forwards {} of one that sleeps until frames come.",
        best.way.what(),
        words(&best.ratio.comparison)
    );
    let remedy = "Poll where a CPU may be kept busy for it; it also burns when no frame comes.";
    gain(&best.ratio.comparison, text, remedy)
}

fn binding(context: &Context<'_>) -> Option<Finding> {
    let claims: Vec<_> = (context.claims.iter())
        .filter(|claim| claim.question == Question::Binding && claim.ratio.is_believed)
        .collect();
    let claim = claims.first()?;
    let subject = context.subject(claim.way, claim.destinations)?;
    let cpus = subject.setups[0].topology.cpus.router.len();
    if cpus < 2 {
        let text = format!(
            "Queues: this host leaves the router one CPU, so threads bound to queues only share it ({} of one thread).",
            words(&claim.ratio.comparison)
        );
        let remedy = "Give the router a CPU for each queue (four CPUs or more in all) to see what binding gives.";
        return Some(finding(Weight::Note, text, remedy));
    }
    let text = format!(
        "Queue binding: a thread on a core of its own for each queue forwards {} of one thread for all.",
        words(&claim.ratio.comparison)
    );
    gain(
        &claim.ratio.comparison,
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
    if !by_cpu.ratio.is_believed {
        return None;
    }
    let weight = match by_cpu.ratio.comparison.outcome {
        Outcome::Slower => Weight::Warning,
        _ => Weight::Note,
    };
    let text = format!(
        "Beside DPDK's testpmd on the same ports (net_af_xdp), the AF_XDP forwarder does {} of its frames per CPU-second and {} of its rate.",
        words(&by_cpu.ratio.comparison),
        words(&by_rate.ratio.comparison)
    );
    Some(finding(weight, text, ""))
}

/// What many destinations cost the paths that ask the table.
fn destinations(context: &Context<'_>) -> Option<Finding> {
    let most = context.config.destinations.iter().max()?;
    let told: Vec<_> = evident(context, Question::Destinations)
        .into_iter()
        .filter(|claim| claim.destinations == *most)
        .map(|claim| format!("{} {}", claim.way.what(), words(&claim.ratio.comparison)))
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
        .filter(|claim| claim.ratio.is_believed)
        .map(|claim| format!("{} {}", claim.way.what(), words(&claim.ratio.comparison)))
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
