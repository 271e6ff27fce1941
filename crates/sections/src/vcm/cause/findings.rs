//! What made the speed fall, in plain words.

use model::cause::{Cause, Diagnosis, FALL_RATIO, Source};
use trial::{Finding, Validity, Weight};

use crate::vcm::cause::experiment::Experiment;
use crate::vcm::cause::points::Conditions;
use crate::vcm::cause::results::{Examined, SelfTest, self_test};
use kit::words::{finding, percent, size, speed};

pub(super) fn findings(examined: &[Examined], conditions: Conditions) -> Vec<Finding> {
    let loads = || examined.iter().filter(|one| one.plant().is_none());
    let falls = loads().filter_map(|one| fall(one, conditions));
    let mut all: Vec<_> = falls.chain(steady(loads())).collect();
    // What the section is for: a cause, or else that there is no fall.
    let answer = |finding: &&mut Finding| finding.weight == Weight::Advice;
    if let Some(first) = all.iter_mut().find(answer) {
        first.weight = Weight::Headline;
    } else if let [only] = &mut all[..]
        && only.weight == Weight::Note
        && loads().all(|one| is_quiet(one, conditions))
    {
        only.weight = Weight::Headline;
    }
    all.extend(test(examined));
    all
}

/// Of a load whose speed falls.
fn fall(one: &Examined, conditions: Conditions) -> Option<Finding> {
    let (fall, diagnosis) = (one.examination.fall.as_ref()?, one.diagnosis.as_ref()?);
    if diagnosis.cause == Cause::None {
        return None;
    }
    let speed_of = |experiment| fall.series(experiment)?.mb_per_s();
    let (peak, fallen) = (speed_of(Experiment::Peak)?, speed_of(Experiment::Plain)?);
    let what = format!(
        "{}, {} in flight: the speed falls from {} at {} to {} at {} ({})",
        one.examination.name,
        fall.fallen.depth,
        speed(peak),
        size(fall.peak.block_bytes),
        speed(fallen),
        size(fall.fallen.block_bytes),
        percent(fallen / peak),
    );
    if let Some(reason) = disturbed(one, conditions) {
        let text = format!("{what}, but the run was too disturbed to say why: {reason}.");
        return Some(finding(Weight::Warning, text, "Measure on a quiet host."));
    }
    Some(match diagnosis.cause {
        Cause::Unknown if !is_shown(diagnosis) => {
            let text = format!(
                "{}, {} in flight: whether the speed falls beyond {} is not shown: at {} it is {} of that.",
                one.examination.name,
                fall.fallen.depth,
                size(fall.peak.block_bytes),
                size(fall.fallen.block_bytes),
                percent(fallen / peak),
            );
            finding(
                Weight::Note,
                text,
                "Measure longer (--budget) on a quiet host.",
            )
        }
        Cause::Unknown => unknown(&what, diagnosis),
        cause => {
            let proof = diagnosis.evidence.first().map_or("", |it| it.text.as_str());
            let text = format!(
                "{what}, because {}: {proof}{}.",
                cause.sentence(),
                others(diagnosis)
            );
            finding(Weight::Advice, text, sentence(cause.remedy()))
        }
    })
}

/// Whether the pairs show that there is a fall at all.
fn is_shown(diagnosis: &Diagnosis) -> bool {
    let points = diagnosis
        .evidence
        .iter()
        .filter(|evidence| evidence.source == Source::Points);
    let ratios = points.filter_map(|evidence| evidence.ratio);
    ratios.into_iter().any(|ratio| ratio.high < FALL_RATIO)
}

/// What else contributes.
fn others(diagnosis: &Diagnosis) -> String {
    let others: Vec<_> = diagnosis
        .others
        .iter()
        .map(|(cause, share)| format!("{cause} ({})", share.words()))
        .collect();
    if others.is_empty() {
        String::new()
    } else {
        format!("; besides: {}", others.join(", "))
    }
}

fn unknown(what: &str, diagnosis: &Diagnosis) -> Finding {
    let possible: Vec<_> = diagnosis
        .others
        .iter()
        .map(|(cause, _)| cause.to_string())
        .collect();
    let possible = if possible.is_empty() {
        "none of the causes it knows".to_owned()
    } else {
        possible.join(", ")
    };
    let next: Vec<_> = diagnosis.next.iter().map(ToString::to_string).collect();
    let text = format!("{what}; the experiments do not tell why (still possible: {possible}).");
    finding(Weight::Note, text, sentence(&next.join("; ")))
}

/// With a capital and a full stop.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| {
        format!("{}{}.", first.to_uppercase(), letters.as_str())
    })
}

/// What disturbed the two points that a fall is between.
fn disturbed(one: &Examined, conditions: Conditions) -> Option<String> {
    let fall = one.examination.fall.as_ref()?;
    let ends = [Experiment::Peak, Experiment::Plain];
    let verdicts = ends.into_iter().filter_map(|experiment| {
        let series = fall.series(experiment)?;
        Some(conditions.verdict(&one.case, &series.setting, &series.readings))
    });
    verdicts
        .into_iter()
        .find(|verdict| !matches!(verdict.validity, Validity::Valid | Validity::WorkingSet))
        .map(|verdict| verdict.reason)
}

/// Whether nothing disturbed the look over the sizes.
fn is_quiet(one: &Examined, conditions: Conditions) -> bool {
    let mut scan = one.examination.scan.iter();
    scan.all(|(setting, readings)| conditions.is_quiet(&one.case, setting, readings))
}

/// Loads whose speed does not fall.
fn steady<'a>(loads: impl Iterator<Item = &'a Examined>) -> Option<Finding> {
    let names: Vec<_> = loads
        .filter(|one| one.cause() == Some(Cause::None))
        .map(|one| one.examination.name.as_str())
        .collect();
    (!names.is_empty()).then(|| {
        let text = format!(
            "The speed does not fall as blocks grow: {}.",
            names.join("; ")
        );
        finding(Weight::Note, text, "")
    })
}

/// How the diagnosis did on what was planted.
fn test(examined: &[Examined]) -> Option<Finding> {
    let outcomes: Vec<_> = examined
        .iter()
        .filter_map(|one| {
            let (plant, cause) = (one.plant()?, one.cause()?);
            Some((plant, cause, self_test(plant, cause)))
        })
        .collect();
    let of = |wanted: SelfTest| outcomes.iter().filter(move |(_, _, is)| *is == wanted);
    let list = |wanted: SelfTest| {
        let all: Vec<_> = of(wanted)
            .map(|(plant, cause, _)| format!("{} as {cause}", plant.what()))
            .collect();
        all.join("; ")
    };
    if outcomes.is_empty() {
        return None;
    }
    let right = of(SelfTest::Right).count();
    let text = format!(
        "The diagnosis named {right} of {} planted cases right",
        outcomes.len()
    );
    Some(if of(SelfTest::Wrong).count() > 0 {
        let text = format!("{text}, and wrongly: {}.", list(SelfTest::Wrong));
        finding(
            Weight::Warning,
            text,
            "Do not trust the causes of this run: measure on a quiet host.",
        )
    } else if right < outcomes.len() {
        let text = format!("{text}, and named no cause: {}.", list(SelfTest::Open));
        finding(
            Weight::Note,
            text,
            "Measure on a quiet host, or with more --budget.",
        )
    } else {
        finding(Weight::Note, format!("{text}."), "")
    })
}
