//! Whether the generator did what it was told, and the device did not set its
//! pace.

use trial::{Validity, Verdict};

use super::{Claim, Evidence, ratio};
use crate::tester::trial::Direction;

/// Share of the intended frames that the generator must have sent, and the
/// port accepted.
pub const SENT_RATIO_MIN: f64 = 0.99;

/// A result this near to the generator's own ceiling may be the generator's.
pub const CEILING_RATIO_MAX: f64 = 0.8;

/// Share of the trial for which the generator's thread may have been ready without
/// running. Frames sent afterwards come in bursts.
pub const WAITED_RATIO_MAX: f64 = 0.05;

/// A device that forwards in the sender's softirq runs one for each 64 frames
/// (a NAPI's weight) to 300 (`netdev_budget`); other traffic of this host
/// raises far fewer.
const FRAMES_PER_SOFTIRQ: u64 = 512;

/// Softirqs that happen in any second.
const SOFTIRQS_IDLE: u64 = 2_000;

pub(super) const LESS: &str = "offer less, or use a quicker port";

const OWN_CPU: &str = "give the generator a CPU of its own";

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Verdict> {
    let each = evidence.directions.iter().flat_map(|direction| {
        [
            short(evidence, direction),
            refused(evidence, direction),
            starved(evidence, direction),
            throttled(evidence, direction),
        ]
    });
    each.chain([
        shared_core(evidence),
        unthreaded(evidence),
        near_ceiling(evidence),
        lost_by_ports(evidence),
    ])
    .flatten()
    .collect()
}

fn bound(reason: String, remedy: &str) -> Verdict {
    Verdict::new(Validity::GeneratorBound, reason, remedy)
}

fn intended(direction: &Direction) -> Option<f64> {
    let stream = &direction.stream;
    let by_rate = stream.rate_pps? * stream.duration.as_secs_f64();
    let by_count = stream
        .frames_max
        .map_or(f64::INFINITY, |frames| frames as f64);
    // The first frame is due at once, the last before the time is over.
    Some(
        by_rate
            .min(by_count)
            .floor()
            .max(direction.sent.due as f64 * SENT_RATIO_MIN),
    )
}

/// The rate is also judged over the time that sending really took: frames sent over
/// twice the time were not sent at that rate.
fn short(evidence: &Evidence<'_>, direction: &Direction) -> Option<Verdict> {
    if evidence.claim == Claim::Rate {
        return None;
    }
    let intended = intended(direction)?;
    let rate_pps = direction.stream.rate_pps?;
    let count = ratio(direction.sent.offered as f64, intended);
    let is_long = direction.sent.offered > 1;
    let pace = if is_long {
        direction.offered_pps() / rate_pps
    } else {
        1.0
    };
    let share = count.min(pace);
    // What is not a number is not held.
    let held = share >= SENT_RATIO_MIN;
    (!held).then(|| {
        bound(
            format!(
                "the generator sent {:.1}% of the {rate_pps:.0} frames/s it was told, it must hold {:.0}%",
                share * 100.0,
                SENT_RATIO_MIN * 100.0
            ),
            LESS,
        )
    })
}

fn refused(evidence: &Evidence<'_>, direction: &Direction) -> Option<Verdict> {
    let sent = &direction.sent;
    let share = ratio(sent.refused as f64, sent.offered as f64);
    (evidence.claim != Claim::Rate && share > 1.0 - SENT_RATIO_MIN).then(|| {
        bound(
            format!(
                "the generator's own port refused {} of {} frames: they never reached the device",
                sent.refused, sent.offered
            ),
            "offer less, or use a port with a longer queue",
        )
    })
}

fn starved(evidence: &Evidence<'_>, direction: &Direction) -> Option<Verdict> {
    // Of what really passed: a generator that is behind was due to end earlier.
    let elapsed_ns = direction
        .sent
        .elapsed_ns
        .max(evidence.seen.host.elapsed.as_nanos() as u64);
    let share = ratio(direction.sender.waited_ns as f64, elapsed_ns as f64);
    (share > WAITED_RATIO_MAX).then(|| {
        bound(
            format!(
                "another thread had the generator's CPU for {:.1}% of the trial, more than {:.0}%",
                share * 100.0,
                WAITED_RATIO_MAX * 100.0
            ),
            OWN_CPU,
        )
    })
}

fn throttled(evidence: &Evidence<'_>, direction: &Direction) -> Option<Verdict> {
    let (softirqs, offered) = (direction.sender.receive_softirqs, direction.sent.offered);
    let seconds = direction.sent.elapsed_ns as f64 / 1e9;
    let idle = (SOFTIRQS_IDLE as f64 * seconds.max(1.0)) as u64;
    let forwards = softirqs > idle && softirqs > offered / FRAMES_PER_SOFTIRQ;
    // Where the device is known to have threads, these belong to other traffic.
    (forwards && evidence.seen.threaded != Some(true)).then(|| {
        bound(
            format!(
                "the generator's CPU ran {softirqs} receive softirqs for {offered} frames: the device forwards in the sender's time and throttles it"
            ),
            "turn threaded NAPI on for the device's ports and pin its threads to another CPU",
        )
    })
}

fn unthreaded(evidence: &Evidence<'_>) -> Option<Verdict> {
    (evidence.seen.threaded == Some(false)).then(|| {
        bound(
            "NAPI of the device's ports is not threaded: the device forwards in the sender's softirq, so that nothing is lost at any rate".to_owned(),
            "turn threaded NAPI on for the device's ports and pin its threads to another CPU",
        )
    })
}

fn shared_core(evidence: &Evidence<'_>) -> Option<Verdict> {
    let placement = &evidence.seen.placement;
    let shared = placement
        .generator
        .iter()
        .find(|cpu| placement.device.contains(cpu))?;
    Some(bound(
        format!(
            "generator and device share CPU {shared}: each waits for the other, so that nothing is lost at any rate"
        ),
        "pin the generator and the device to different CPUs",
    ))
}

fn near_ceiling(evidence: &Evidence<'_>) -> Option<Verdict> {
    let ceiling_pps = evidence.seen.ceiling_pps?;
    let received_pps: f64 = evidence.directions.iter().map(carried_pps).sum();
    // A ceiling of nothing, or not a number, vouches for nothing.
    let within = received_pps < ceiling_pps * CEILING_RATIO_MAX;
    (!within).then(|| {
        bound(
            format!(
                "{received_pps:.0} frames/s came, {:.0}% of the {ceiling_pps:.0} that the generator reaches at this size: above {:.0}% the result may be the generator's",
                ratio(received_pps, ceiling_pps) * 100.0,
                CEILING_RATIO_MAX * 100.0
            ),
            "use a quicker port (live-frame XDP) or larger frames",
        )
    })
}

fn lost_by_ports(evidence: &Evidence<'_>) -> Option<Verdict> {
    let (lost, own) = (evidence.lost(), evidence.seen.lost_by_ports);
    evidence.is_doubtful(own as f64).then(|| {
        bound(
            format!("{lost} frames were lost, {own} of them by the tester's own ports"),
            LESS,
        )
    })
}

/// Frames received, at most those to be sent: the last frames of a short burst may
/// arrive quicker than they left.
fn carried_pps(direction: &Direction) -> f64 {
    let most = direction.stream.rate_pps.unwrap_or(f64::INFINITY);
    direction.received_pps().min(most)
}
