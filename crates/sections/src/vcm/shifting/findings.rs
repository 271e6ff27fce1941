//! What the numbers mean, in plain words.

use std::collections::BTreeMap;

use trial::stats::median;
use trial::{Comparison, Finding, Weight};

use crate::vcm::shifting::comparisons::{ALL_PHASES, OVER_PROSE, find, subject};
use crate::vcm::shifting::config::Config;
use crate::vcm::shifting::recovery::RECOVERED;
use crate::vcm::shifting::results::{End, Results, notifications_per_s};
use crate::vcm::shifting::tables::with_interval;
use kit::closing::clock;
use kit::controllers::contender::{ADAPTIVE, Contender};
use kit::controllers::{OF_ORACLE, OF_UNCAPPED};
use kit::load::rig::{Record, Window};
use kit::words::finding;

/// A change is answered within so many ms.
const RECOVERY_MS_MAX: f64 = 300.0;
const NAMED_MAX: usize = 4;
/// A cap so many times above what is sent is no limit.
const UNBOUND: f64 = 2.0;

pub(super) fn findings(config: &Config, results: &Results, ratios: &[Comparison]) -> Vec<Finding> {
    let texts = [
        headline(results, ratios),
        everyone(results, ratios),
        short(results, ratios),
        recovery(config, results),
        unbound(results, ratios),
        alone(results),
        rounds(results),
        clock(results.steps_ns()),
        end(results),
    ];
    let findings = texts.into_iter().flatten();
    findings.chain(remarks(results)).collect()
}

/// A ratio in words: with its interval where there is one.
fn says(ratio: &Comparison) -> String {
    if ratio.pairs.len() > 1 {
        with_interval(ratio)
    } else {
        format!("{:.2}", ratio.ratio)
    }
}

/// What ours keeps of the best, and what it is beside the paper's.
fn headline(results: &Results, ratios: &[Comparison]) -> Option<Finding> {
    let over_all = |pair| find(ratios, ALL_PHASES, pair);
    let of_oracle = over_all((Contender::ADAPTIVE, Contender::Oracle))?;
    let doubt = if of_oracle.believed {
        String::new()
    } else {
        " Some of it was disturbed: see the points.".to_owned()
    };
    let over_prose =
        over_all((Contender::ADAPTIVE, Contender::PROSE)).map_or_else(String::new, |ratio| {
            format!(
                ", and is {}× as fast as the paper's speed monitor ({OVER_PROSE} was wanted)",
                says(ratio)
            )
        });
    let gain = over_all((Contender::Oracle, Contender::Uncapped))
        .map_or_else(String::new, |ratio| {
            format!(" The best is {}× of no moderation.", says(ratio))
        });
    let weight = if doubt.is_empty() {
        Weight::Headline
    } else {
        Weight::Warning
    };
    let text = format!(
        "While block size, depth and tenants change, adaptive keeps {} of each phase's best fixed setting (geometric mean of {} phases){over_prose}.{gain}{doubt}",
        says(of_oracle),
        results.phases.len(),
    );
    Some(finding(weight, text, ""))
}

fn everyone(results: &Results, ratios: &[Comparison]) -> Option<Finding> {
    let share = |contender: Contender| {
        let ratio = find(ratios, ALL_PHASES, (contender, Contender::Oracle))?;
        Some((contender, ratio))
    };
    let mut shares: Vec<_> = results.contenders().into_iter().filter_map(share).collect();
    shares.sort_by(|a, b| b.1.ratio.total_cmp(&a.1.ratio));
    let shares: Vec<_> = shares
        .iter()
        .map(|(contender, ratio)| format!("{} {}", contender.in_words(), says(ratio)))
        .collect();
    (!shares.is_empty()).then(|| {
        let text = format!(
            "Share of each phase's best, geometric mean: {}. Armed has trials of its own in each phase, without changes.",
            shares.join(", ")
        );
        finding(Weight::Note, text, "")
    })
}

/// What controllers say of themselves, and in how many of their runs.
pub(super) fn remarks(results: &Results) -> impl Iterator<Item = Finding> {
    let of = |(name, runs): &(&'static str, BTreeMap<usize, Record>)| {
        let said = |record: &Record| {
            let mut shares = record.windows.iter().flat_map(|window| &window.tenants);
            shares.find_map(|share| share.remark)
        };
        let all: Vec<_> = runs.values().filter_map(said).collect();
        let remark = all.first()?;
        let text = format!("{name}, in {} of {} runs: {remark}", all.len(), runs.len());
        Some(finding(Weight::Note, text, ""))
    };
    results.runs.iter().filter_map(of)
}

/// Phases where ours is below what was wanted, by the lower bound; by the
/// ratio where a single round has none.
fn short(results: &Results, ratios: &[Comparison]) -> Option<Finding> {
    let wanted = [
        (Contender::Oracle, OF_ORACLE),
        (Contender::Uncapped, OF_UNCAPPED),
    ];
    let mut missed = Vec::new();
    let mut count = 0;
    for phase in 0..results.phases.len() {
        let subject = subject(results, phase);
        for (reference, at_least) in wanted {
            let ratio = find(ratios, &subject, (Contender::ADAPTIVE, reference));
            let Some(ratio) = ratio.filter(|ratio| ratio.believed) else {
                continue;
            };
            count += 1;
            if ratio.low < at_least {
                missed.push(format!("{subject}: {} of {reference}", says(ratio)));
            }
        }
    }
    if count == 0 {
        return None;
    }
    if missed.is_empty() {
        let text = format!(
            "In all {} phases adaptive keeps at least {OF_ORACLE} of the best fixed setting and {OF_UNCAPPED} of no moderation.",
            results.phases.len()
        );
        return Some(finding(Weight::Note, text, ""));
    }
    let more = match missed.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let text = format!(
        "adaptive falls short of {OF_ORACLE} of the best or {OF_UNCAPPED} of no moderation in {} of {count} comparisons: {}{more}.",
        missed.len(),
        missed[..missed.len().min(NAMED_MAX)].join("; ")
    );
    let remedy = "More rounds (--budget) narrow the intervals; a steady load may have its best fixed setting.";
    Some(finding(Weight::Warning, text, remedy))
}

/// How soon ours answers each change.
fn recovery(config: &Config, results: &Results) -> Option<Finding> {
    let of = |phase: usize| {
        let recoveries = results.recoveries_ms(phase, ADAPTIVE);
        Some((phase, median(&recoveries)?, recoveries))
    };
    let all: Vec<_> = (1..results.phases.len()).filter_map(of).collect();
    let (phase, slowest_ms, _) = all.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let single = all.iter().flat_map(|(_, _, all)| all).copied();
    let worst_ms = single.reduce(f64::max)?;
    let weight = if *slowest_ms <= RECOVERY_MS_MAX {
        Weight::Note
    } else {
        Weight::Warning
    };
    let window_ms = config.window_s * 1e3;
    let runs = results.rounds.max(1);
    let text = if worst_ms < window_ms {
        format!(
            "After every change, in all of {runs} runs, adaptive is at {RECOVERED} of what it settles at from the first window of {window_ms:.0} ms on ({RECOVERY_MS_MAX:.0} ms were wanted)."
        )
    } else {
        format!(
            "After a change adaptive is at {RECOVERED} of what it settles at from {slowest_ms:.0} ms on (median of {runs} runs at the slowest change, to {}; the worst single one {worst_ms:.0} ms; windows of {window_ms:.0} ms; {RECOVERY_MS_MAX:.0} ms were wanted).",
            subject(results, *phase),
        )
    };
    Some(finding(weight, text, ""))
}

/// Where the paper's monitor gains without its cap ever being the limit: any
/// cap makes completions that are published at once one notification.
fn unbound(results: &Results, ratios: &[Comparison]) -> Option<Finding> {
    let prose = Contender::PROSE;
    let gain = find(ratios, ALL_PHASES, (prose, Contender::Uncapped))?;
    let is_unbound = |phase: &usize| {
        let series = results.series(*phase, prose)?;
        let cap = |window: &Window| {
            let caps = window.tenants.iter();
            caps.filter_map(|share| share.settings.cap_per_s())
                .fold(0.0, f64::max)
        };
        Some(series.median(cap)? > UNBOUND * series.median(notifications_per_s)?)
    };
    let count = results.phases.len();
    let unbound = (0..count)
        .filter(|phase| is_unbound(phase) == Some(true))
        .count();
    (gain.ratio > 1.1 && 2 * unbound > count).then(|| {
        let text = format!(
            "The paper's speed monitor is {}× as fast as no moderation although its cap is no limit in {unbound} of {count} phases (it is more than {UNBOUND:.0} times what is sent): any cap, however high, makes the completions that a worker publishes at once one notification. A device that interrupts for each of them would not gain so.",
            says(gain)
        );
        finding(Weight::Note, text, "")
    })
}

/// Nothing may wait where one request is in flight.
fn alone(results: &Results) -> Option<Finding> {
    let runs = results.runs.iter().flat_map(|(_, runs)| runs.values());
    let windows = runs.flat_map(|record| &record.windows);
    let shares = windows.flat_map(|window| &window.tenants);
    let (mut notifications, mut alone) = (0, 0);
    for share in shares {
        notifications += share.counters.notifications;
        alone += share.held_alone;
    }
    let deep = results.phases.iter().all(|fixed| fixed.phase.depth > 1);
    (notifications > 0 && !deep).then(|| {
        let text = format!(
            "Notifications held back where one request was in flight: {alone} of {notifications} in all runs."
        );
        let weight = if alone == 0 {
            Weight::Note
        } else {
            Weight::Warning
        };
        finding(weight, text, "")
    })
}

fn rounds(results: &Results) -> Option<Finding> {
    let few = results.rounds < trial::stats::PAIRS_FOR_A_CLAIM && results.rounds > 0;
    few.then(|| {
        let rounds = match results.rounds {
            1 => "One round".to_owned(),
            rounds => format!("{rounds} rounds"),
        };
        let text = format!(
            "{rounds} of runs: figures to look at, not a claim, which rests on {}.",
            trial::stats::PAIRS_FOR_A_CLAIM
        );
        let remedy = "`lockgate run vcm-shifting` takes ten minutes for them.";
        finding(Weight::Note, text, remedy)
    })
}

fn end(results: &Results) -> Option<Finding> {
    let (text, remedy) = match &results.end {
        End::Complete => return None,
        End::Late(rounds) => (
            format!("The host was slower than planned: the run ended after {rounds} rounds."),
            "Measure when the host is quiet.",
        ),
        End::Interrupted => (
            "Interrupted: what is here stands on the rounds that were measured.".to_owned(),
            "Run again for the intervals that a claim needs.",
        ),
        End::Failed(error) => (
            format!("A trial failed: {error}. What was measured before it stands."),
            "See the error; run again.",
        ),
    };
    Some(finding(Weight::Warning, text, remedy))
}
