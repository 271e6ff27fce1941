//! Whether tester and device counted the same frames, and lost few.

use trial::{Validity, Verdict};

use super::{Claim, Evidence, ratio};
use crate::tester::trial::Direction;

/// Foreign frames of a trial: neighbour discovery, router solicitations. Counters may
/// differ by this many, or by a thousandth.
pub const STRANGERS_MAX: u64 = 64;

/// Share of the frames that may take the kernel's path instead of the measured one:
/// their cost does not show beside the others'.
pub const UNSURE_RATIO_MAX: f64 = 0.01;

/// Share of the frames that a path is credited with which its own program must
/// have sent on.
pub const OWN_RATIO_MIN: f64 = 0.99;

/// Share of the frames that may be lost where only this many are under way. The
/// limit follows the highest sequence that came, so that a device that drops
/// frames keeps its pace: only this tells it from one that carries them.
pub const WINDOW_LOSS_MAX: f64 = 0.01;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Verdict> {
    [
        more_than_sent(evidence),
        came_without_being_forwarded(evidence),
        lost_behind_the_device(evidence),
        more_than_arrived(evidence),
        another_path(evidence),
        not_its_own(evidence),
        lost_in_a_window(evidence),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn disagree(reason: String, remedy: &str) -> Verdict {
    Verdict::new(Validity::Noisy, reason, remedy)
}

/// Whether `more` exceeds `less` by more than foreign frames explain.
fn exceeds(more: u64, less: u64) -> bool {
    more.saturating_sub(less) > STRANGERS_MAX.max(less / 1000)
}

/// Never by one frame: each has a sequence of its own.
fn more_than_sent(evidence: &Evidence<'_>) -> Option<Verdict> {
    let wrong = evidence
        .directions
        .iter()
        .find(|one| one.received.received > one.sent.offered)?;
    Some(disagree(
        format!(
            "{} frames came of {} sent: one of the two counts is wrong",
            wrong.received.received, wrong.sent.offered
        ),
        "report this: the tester contradicts itself",
    ))
}

fn came_without_being_forwarded(evidence: &Evidence<'_>) -> Option<Verdict> {
    let forwarded = evidence.counters?.forwarded;
    let came = evidence.received() + evidence.sum(|one| one.received.duplicates);
    exceeds(came, forwarded).then(|| {
        disagree(
            format!("{came} frames came, the device says that it forwarded {forwarded}"),
            "check that frames take the path that is measured, and no other",
        )
    })
}

/// Frames that the device sent and that were not counted are the tester's loss.
fn lost_behind_the_device(evidence: &Evidence<'_>) -> Option<Verdict> {
    let forwarded = evidence.counters?.forwarded;
    let came =
        evidence.received() + evidence.sum(|one| one.received.duplicates + one.received.late);
    (evidence.claim != Claim::Rate && exceeds(forwarded, came)).then(|| {
        disagree(
            format!(
                "the device forwarded {forwarded} frames and {came} were counted: the rest was lost behind it"
            ),
            "give the sink a CPU of its own, or offer less",
        )
    })
}

fn more_than_arrived(evidence: &Evidence<'_>) -> Option<Verdict> {
    let arrived = evidence.counters?.received;
    let offered = evidence.offered();
    exceeds(arrived, offered).then(|| {
        disagree(
            format!("{arrived} frames reached the device, the generator sent {offered}"),
            "stop other senders through this device",
        )
    })
}

fn another_path(evidence: &Evidence<'_>) -> Option<Verdict> {
    let counted = evidence.counters?;
    let share = ratio(counted.unsure as f64, counted.received as f64);
    (share > UNSURE_RATIO_MAX).then(|| {
        disagree(
            format!(
                "{:.1}% of the frames went by kernel routing, because changes of its tables could not be followed in time",
                share * 100.0
            ),
            "stop other programs: who follows the changes needs a CPU at least every 100 ms",
        )
    })
}

/// Else the figure is of whatever sent the frames on instead, such as the kernel
/// behind a program that gives frames up.
fn not_its_own(evidence: &Evidence<'_>) -> Option<Verdict> {
    let own = evidence.counters?.own?.forwarded;
    let came = evidence.received();
    let missing = came.saturating_sub(own);
    let allowed = (came as f64 * (1.0 - OWN_RATIO_MIN)).max(STRANGERS_MAX as f64);
    (missing as f64 > allowed).then(|| {
        disagree(
            format!(
                "{came} frames came, and the path's own program forwarded {own} ({:.1}%): others took another path",
                ratio(own as f64, came as f64) * 100.0
            ),
            "check that the path forwards such frames itself",
        )
    })
}

/// At overload any loss is allowed, but not where queues have room for all that
/// is under way.
fn lost_in_a_window(evidence: &Evidence<'_>) -> Option<Verdict> {
    let is_too_much = |one: &&Direction| one.loss_ratio() > WINDOW_LOSS_MAX;
    let mut ways = evidence.directions.iter().filter(is_too_much);
    let (worst, most) = ways.find_map(|one| Some((one, one.stream.in_flight_max?)))?;
    (evidence.claim == Claim::Rate && worst.sent.offered > 0).then(|| {
        disagree(
            format!(
                "{:.1}% of the frames were lost, though at most {most} were under way: a rate without loss may lose {:.0}% (the generator stopped waiting for {} of {} frames)",
                worst.loss_ratio() * 100.0,
                WINDOW_LOSS_MAX * 100.0,
                worst.sent.given_up,
                worst.sent.offered
            ),
            "look where frames are dropped (ip -s link at the router's ports), and measure on a quiet host",
        )
    })
}
