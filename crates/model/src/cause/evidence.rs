//! What was seen and what it says, as sentences with their figures.

use trial::stats::Interval;

use super::finding::Reading;
use super::judge::Findings;
use super::{Case, Cause, NAMED_SHARE, Share};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    Points,
    Polled,
    SmallFootprint,
    Deeper,
    OtherPlacement,
    Split,
    GeneratorOnly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    For(Cause),
    Against(Cause),
    Neither,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    pub source: Source,
    pub ratio: Option<Interval>,
    /// What that ratio alone restores of the fall; only of experiments.
    pub restores: Option<Share>,
    pub speaks: Speaks,
    pub text: String,
}

/// All evidence about a fall: first what supports `cause`, then what rules others
/// out, then the rest.
pub(super) fn all(case: &Case, findings: &Findings, cause: Cause) -> Vec<Evidence> {
    let mut list = experiments(case, findings);
    list.extend(readings(findings));
    list.push(of_fall(case));
    let rank = |evidence: &Evidence| match evidence.speaks {
        Speaks::For(of) if of == cause => 0,
        Speaks::For(_) => 1,
        Speaks::Against(_) => 2,
        Speaks::Neither => 3,
    };
    let strength =
        |evidence: &Evidence| evidence.restores.map_or(0.0, |share| share.estimate.abs());
    list.sort_by(|left, right| {
        rank(left)
            .cmp(&rank(right))
            .then(strength(right).total_cmp(&strength(left)))
    });
    list
}

pub(super) fn of_fall(case: &Case) -> Evidence {
    let fall = case.fall_ratio();
    Evidence {
        source: Source::Points,
        ratio: Some(fall),
        restores: None,
        speaks: Speaks::Neither,
        text: format!(
            "at {} bytes the speed is {} of that at {} bytes",
            case.fallen.block_bytes,
            ratio_words(&fall),
            case.peak.block_bytes
        ),
    }
}

fn experiments(case: &Case, findings: &Findings) -> Vec<Evidence> {
    let tried = &case.experiments;
    let speed_ratios = [
        (
            Source::Polled,
            Cause::Notifications,
            tried.polled.map(|effect| effect.ratio),
        ),
        (
            Source::SmallFootprint,
            Cause::WorkingSet,
            tried.small_footprint,
        ),
        (Source::Deeper, Cause::Depth, tried.deeper),
        (Source::Split, Cause::Fragmentation, tried.split),
        (
            Source::OtherPlacement,
            Cause::Generator,
            tried.other_placement.map(|effect| effect.ratio),
        ),
    ];
    let mut list: Vec<_> = speed_ratios
        .into_iter()
        .filter_map(|(source, cause, ratio)| {
            ratio.map(|ratio| experiment(case, findings, source, cause, ratio))
        })
        .collect();
    if let Some(alone) = &tried.generator_only {
        list.push(generator_only(findings, alone.ratio));
    }
    list
}

fn experiment(
    case: &Case,
    findings: &Findings,
    source: Source,
    cause: Cause,
    ratio: Interval,
) -> Evidence {
    let restores = Share::restored(&ratio, 1.0 - case.fall_ratio().estimate);
    // Deeper lanes hold more bytes.
    let worsens = source == Source::Deeper
        && ratio.high < 1.0
        && findings.share(Cause::WorkingSet).high >= NAMED_SHARE;
    let speaks = if worsens {
        Speaks::For(Cause::WorkingSet)
    } else {
        speaks(findings, cause, restores)
    };
    Evidence {
        source,
        ratio: Some(ratio),
        restores: Some(restores),
        speaks,
        text: format!(
            "{}, the same load runs at {} of its speed, which restores {}: {}",
            changed(source),
            ratio_words(&ratio),
            restores.words(),
            conclusion(speaks, restores)
        ),
    }
}

fn generator_only(findings: &Findings, ratio: Interval) -> Evidence {
    let share = findings.share(Cause::Generator);
    let speaks = speaks(findings, Cause::Generator, share);
    Evidence {
        source: Source::GeneratorOnly,
        ratio: Some(ratio),
        restores: None,
        speaks,
        text: format!(
            "alone, the generator does {} of the load's speed: {}",
            ratio_words(&ratio),
            conclusion(speaks, share)
        ),
    }
}

/// The direction of an experiment that alone restores `restores`.
fn speaks(findings: &Findings, cause: Cause, restores: Share) -> Speaks {
    let share = findings.share(cause);
    if share.high < NAMED_SHARE {
        Speaks::Against(cause)
    } else if share.low >= NAMED_SHARE && restores.low >= NAMED_SHARE {
        Speaks::For(cause)
    } else {
        Speaks::Neither
    }
}

fn conclusion(speaks: Speaks, restores: Share) -> String {
    match speaks {
        Speaks::For(cause) => cause.sentence().to_owned(),
        Speaks::Against(cause) if restores.high >= NAMED_SHARE => {
            format!("but that is not down to {}", noun(cause))
        }
        Speaks::Against(cause) => format!("it is not {}", noun(cause)),
        Speaks::Neither if restores.low >= NAMED_SHARE => {
            "that fits more than one cause".to_owned()
        }
        Speaks::Neither => "that decides nothing".to_owned(),
    }
}

fn noun(cause: Cause) -> &'static str {
    match cause {
        Cause::Notifications => "notifications",
        Cause::WorkingSet => "the working set",
        Cause::Depth => "the depth",
        Cause::Fragmentation => "fragmentation",
        Cause::Generator => "the generator",
        Cause::None | Cause::Unknown => "nothing",
    }
}

fn changed(source: Source) -> &'static str {
    match source {
        Source::Points => "as it is",
        Source::Polled => "without notifications",
        Source::SmallFootprint => "with as many bytes in flight as at the peak",
        Source::Deeper => "at twice the depth",
        Source::OtherPlacement => "with its generator on another core",
        Source::Split => "split into requests of the peak's size",
        Source::GeneratorOnly => "without a device",
    }
}

fn readings(findings: &Findings) -> impl Iterator<Item = Evidence> {
    Cause::ALL.into_iter().filter_map(|cause| {
        let reading = findings.finding(cause)?.reading?;
        Some(Evidence {
            source: Source::Points,
            ratio: None,
            restores: None,
            speaks: Speaks::Against(cause),
            text: format!("{}: it is not {}", seen(reading), noun(cause)),
        })
    })
}

fn seen(reading: Reading) -> &'static str {
    match reading {
        Reading::SameDepth => "as many requests are in flight as at the peak",
        Reading::BusyCore => "a core that the load needs has no idle time",
        Reading::SameFootprint => "no more bytes are in flight than at the peak",
        Reading::FullLane => "the lane is full when the worker looks",
        Reading::SameClientTime => "the clients take no more time a byte than at the peak",
        Reading::NoNotifications => "no notifications are sent",
    }
}

fn ratio_words(ratio: &Interval) -> String {
    format!(
        "{:.2} ({:.2} to {:.2})",
        ratio.estimate, ratio.low, ratio.high
    )
}
