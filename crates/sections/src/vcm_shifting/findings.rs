//! What the numbers mean, in plain words. All of it rests on what is valid.

use kit::controllers::MODERATE;
use kit::controllers::contender::Contender;
use kit::controllers::shares::{believed, everyone, mean, targets};
use kit::experiment::Results;
use kit::headline::Answer;
use kit::words::finding;
use trial::stats::median;
use trial::{Finding, Weight};

use super::{Place, RECOVERED, RECOVERY, Shifting};

/// A change is answered within this many ms.
const RECOVERY_MS_MAX: f64 = 300.0;
/// A gain of less is none.
const GAIN_MIN: f64 = 1.1;

pub(super) fn findings(results: &Results<'_, Shifting>) -> Vec<Finding> {
    let findings = [
        everyone(results, "phase", |place| *place != Place::All),
        targets(results),
        recovery(results),
    ];
    let remarks = results.notes.iter().map(|((name, remark), runs)| {
        let text = format!("`{name}`, in {runs} of its runs: {remark}");
        finding(Weight::Note, text, "")
    });
    findings.into_iter().flatten().chain(remarks).collect()
}

pub(super) fn answer(results: &Results<'_, Shifting>) -> Option<Answer> {
    // Over all phases; where that is not valid, over those that are.
    let of = |reference| {
        let all = believed(results, Contender::ADAPTIVE, reference);
        if let Some((_, own)) = all.iter().find(|(place, _)| *place == Place::All) {
            return Some((own.comparison.ratio, own.words()));
        }
        let ratios: Vec<_> = all.iter().map(|(_, own)| own.comparison.ratio).collect();
        let mean = mean(&ratios)?;
        Some((mean, format!("{mean:.2}× ({} phases only)", all.len())))
    };
    let gain = of(Contender::Uncapped);
    let others = [
        (of(Contender::Oracle), "each phase's best fixed setting"),
        (of(Contender::PROSE), "the paper's speed monitor"),
        (gain.clone(), "no moderation"),
    ];
    let says = |(own, other): (Option<(f64, String)>, &str)| {
        own.map(|(_, ratio)| format!("{ratio} that of {other}"))
    };
    let known: Vec<_> = others.into_iter().filter_map(says).collect();
    if known.is_empty() {
        return None;
    }
    let text = format!(
        "While block size, depth and tenants change, the speed under the controller `adaptive` is {}. These are geometric means of the phases.",
        known.join(", ")
    );
    let is_gain = gain.is_some_and(|(ratio, _)| ratio > GAIN_MIN);
    Some(Answer::new(text, if is_gain { MODERATE } else { "" }))
}

/// How soon ours answers each change.
fn recovery(results: &Results<'_, Shifting>) -> Option<Finding> {
    let of = |place: Place| {
        let series = results.series(&place, &Contender::ADAPTIVE)?;
        let all_ms = series.values(RECOVERY);
        let worst_ms = all_ms.iter().copied().reduce(f64::max)?;
        let is_valid = results.is_valid(&place, &Contender::ADAPTIVE);
        is_valid.then_some((place, median(&all_ms)?, worst_ms))
    };
    let changes: Vec<_> = results.experiment.phases().skip(1).filter_map(of).collect();
    let (place, slowest_ms, _) = changes.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let worst_ms = changes.iter().map(|(.., worst)| *worst).reduce(f64::max)?;
    let weight = match *slowest_ms <= RECOVERY_MS_MAX {
        true => Weight::Note,
        false => Weight::Warning,
    };
    let spot = results.experiment.spot(*place, Contender::ADAPTIVE);
    let text = format!(
        "After the slowest of {} changes, to {}, `adaptive` is at {RECOVERED} of what it settles at after {slowest_ms:.0} ms (median). The target is {RECOVERY_MS_MAX:.0} ms; the worst single run took {worst_ms:.0} ms. A window is {:.0} ms.",
        changes.len(),
        spot.only(|name| name == "phase").words(),
        results.experiment.config.window_ms.get()
    );
    Some(finding(weight, text, ""))
}
