//! What the numbers mean, in plain words. All of it rests on ratios that are
//! valid.

use kit::controllers::contender::Contender;
use kit::controllers::fixed::label;
use kit::controllers::shares::{believed, everyone, targets};
use kit::experiment::Results;
use kit::headline::Answer;
use kit::load::benches::SPEED;
use kit::ratio::Ratio;
use kit::words::{finding, speed};
use trial::{Finding, Outcome, Weight};

use super::{Controllers, Place, at};

/// So many places are named.
const NAMED_MAX: usize = 5;
/// The paper's monitor looks once in this many milliseconds.
const PAPER_INTERVAL_MS: f64 = 1000.0;
/// A gain of less is none.
const GAIN_MIN: f64 = 1.05;

pub(super) fn findings(results: &Results<'_, Controllers>) -> Vec<Finding> {
    let findings = [
        everyone(results, "place", |_| true),
        targets(results.told().iter().map(|told| &told.ratio)),
        public_keys(results),
        bounded(results),
        interval(results),
    ];
    let findings = findings.into_iter().flatten();
    findings.chain(remarks(results)).collect()
}

/// Where moderation gains most, and what finds it by itself.
pub(super) fn answer(results: &Results<'_, Controllers>) -> Option<Answer> {
    let gains = believed(results, Contender::Oracle, Contender::Uncapped);
    let by_ratio = |a: &&(Place, &Ratio), b: &&(Place, &Ratio)| {
        a.1.comparison.ratio.total_cmp(&b.1.comparison.ratio)
    };
    let (place, most) = gains.iter().max_by(by_ratio)?;
    let median = |arm| results.median(place, &arm, SPEED).map(speed);
    let mut text = format!(
        "The best fixed setting{} has {} the speed of a notification for every completion. That is at {}: {} instead of {}.",
        oracle(results, place),
        most.words(),
        most.comparison.subject,
        median(Contender::Oracle)?,
        median(Contender::Uncapped)?,
    );
    let ours = believed(results, Contender::ADAPTIVE, Contender::Uncapped);
    if let Some((_, own)) = ours.iter().find(|(own, _)| own == place) {
        text = format!(
            "{text} The controller `adaptive` comes to {:.2}× by itself.",
            own.comparison.ratio
        );
    }
    if let Some((_, least)) = gains
        .iter()
        .min_by(by_ratio)
        .filter(|(own, _)| own != place)
    {
        let (at, ratio) = (&least.comparison.subject, least.comparison.ratio);
        text = format!("{text} The least gain is {ratio:.2}×, at {at}.");
    }
    let remedy = match most.comparison.outcome {
        Outcome::Faster => "Let completions gather: policy `armed`, or a controller.",
        _ => "",
    };
    Some(Answer {
        text,
        remedy: remedy.to_owned(),
    })
}

/// The setting that scouting found.
fn oracle(results: &Results<'_, Controllers>, place: &Place) -> String {
    let own = results.notes.scouted.iter().find(|(own, _)| own == place);
    own.and_then(|(_, scouted)| scouted.first())
        .map_or_else(String::new, |(policy, _)| format!(" ({})", label(policy)))
}

/// What controllers say of themselves, and where.
fn remarks(results: &Results<'_, Controllers>) -> Vec<Finding> {
    let mut said: Vec<((Contender, &str), Vec<String>)> = Vec::new();
    for (place, arm, remark) in &results.notes.remarks {
        let Some(subject) = results.subject(place, arm) else {
            continue;
        };
        let (key, place) = ((*arm, *remark), at(&subject.spot));
        match said.iter_mut().find(|(own, _)| *own == key) {
            Some((_, places)) => places.push(place),
            None => said.push((key, vec![place])),
        }
    }
    let told = said.into_iter().map(|((arm, remark), places)| {
        let text = format!("`{arm}`, at {}: {remark}", named(&places));
        finding(Weight::Note, text, "")
    });
    told.collect()
}

/// The first of them, and how many more there are.
fn named(all: &[String]) -> String {
    let rest = match all.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!("{}{rest}", all[..all.len().min(NAMED_MAX)].join("; "))
}

/// Figure 10: work that outweighs its notifications has nothing to gain.
fn public_keys(results: &Results<'_, Controllers>) -> Option<Finding> {
    let mut gains = believed(results, Contender::Oracle, Contender::Uncapped);
    gains.retain(|(place, _)| place.is_public());
    let most = gains.iter().map(|(_, ratio)| ratio.comparison.ratio);
    let most = most.reduce(f64::max)?;
    let gained = gains.iter().filter(|(_, ratio)| {
        ratio.comparison.outcome == Outcome::Faster && ratio.comparison.ratio > GAIN_MIN
    });
    let gained: Vec<_> = gained
        .map(|(place, ratio)| format!("{} {}", place.operation(), ratio.words()))
        .collect();
    let text = match gained.is_empty() {
        true => format!(
            "Public keys gain at most {:.0}% from moderation. As in the paper's figure 10, their work outweighs their notifications.",
            (most - 1.0).max(0.0) * 100.0
        ),
        false => format!(
            "Of public keys only cheap operations gain from moderation: {}. The paper's figure 10 has hardly any gain.",
            gained.join("; ")
        ),
    };
    Some(finding(Weight::Note, text, ""))
}

/// Where fewer were in flight than wanted.
fn bounded(results: &Results<'_, Controllers>) -> Option<Finding> {
    let wanted = results.experiment.config.depth.get();
    let measured = results.measured().map(|(subject, _)| subject);
    let fewer = measured.filter(|subject| {
        let Place { depth, .. } = subject.place;
        subject.arm == Contender::Uncapped && !subject.place.is_public() && depth < wanted
    });
    let fewer: Vec<_> = fewer.map(|subject| at(&subject.spot)).collect();
    (!fewer.is_empty()).then(|| {
        let text = format!(
            "Half of L2 holds fewer than {wanted} requests in flight at: {}. The depth there is what fits, so that the cache is not measured too.",
            fewer.join("; ")
        );
        finding(Weight::Note, text, "")
    })
}

fn interval(results: &Results<'_, Controllers>) -> Option<Finding> {
    let section = results.experiment;
    let is_controlled = |arm: Contender| matches!(arm, Contender::Controlled(_));
    let mut measured = results.measured();
    measured.find(|(subject, _)| is_controlled(subject.arm))?;
    let interval_ms = section.parameters.interval_ns() as f64 / 1e6;
    let often = match interval_ms < PAPER_INTERVAL_MS {
        true => format!(", {:.0} times as often", PAPER_INTERVAL_MS / interval_ms),
        false => String::new(),
    };
    let text = format!(
        "Controllers that look once a second in their sources look every {interval_ms:.0} ms here{often}. Each settles for {:.1} s before anything counts.",
        section.config.settle_seconds.get()
    );
    Some(finding(Weight::Note, text, ""))
}
