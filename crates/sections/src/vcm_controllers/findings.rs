//! What the numbers mean, in plain words. All of it rests on ratios that are
//! valid.

use kit::controllers::contender::Contender;
use kit::controllers::fixed::label;
use kit::controllers::shares::{believed, everyone, targets};
use kit::experiment::Results;
use kit::headline::Answer;
use kit::load::benches::{Ask, SPEED};
use kit::ratio::Ratio;
use kit::words::{finding, listed, speed};
use trial::{Finding, Outcome, Weight};

use super::{Controllers, at, operation};

/// As many places are named.
const NAMED_MAX: usize = 5;
/// A gain of less is none.
const GAIN_MIN: f64 = 1.05;

pub(super) fn findings(results: &Results<'_, Controllers>) -> Vec<Finding> {
    let findings = [
        everyone(results, "place", |_| true),
        targets(results),
        public_keys(results),
    ];
    let findings = findings.into_iter().flatten();
    findings.chain(remarks(results)).collect()
}

/// Where moderation gains most, and what finds it by itself.
pub(super) fn answer(results: &Results<'_, Controllers>) -> Option<Answer> {
    let gains = believed(results, Contender::Oracle, Contender::Uncapped);
    let by_ratio = |a: &&(Ask, &Ratio), b: &&(Ask, &Ratio)| {
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
    Some(Answer::new(text, remedy))
}

/// The setting that scouting found.
fn oracle(results: &Results<'_, Controllers>, place: &Ask) -> String {
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
        let text = format!("`{arm}`, at {}: {remark}", listed(&places, NAMED_MAX));
        finding(Weight::Note, text, "")
    });
    told.collect()
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
        .map(|(place, ratio)| format!("{} {}", operation(place), ratio.words()))
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
