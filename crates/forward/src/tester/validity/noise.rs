//! Whether something else had the CPUs.

use std::time::Duration;

use trial::validity::{GAP_NS_MAX, STEAL_RATIO_MAX};
use trial::{Validity, Verdict};

use super::generator::LESS;
use super::{Claim, Evidence, Seen, ratio};
use crate::tester::trial::Direction;

/// Longest pause of the generator, as a share of the trial; and never more than 10
/// ms.
pub const GAP_RATIO_MAX: f64 = 0.01;

/// CPU time of the generator's CPU, or of the device's and the sink's, that
/// none of them took, as a share of one CPU. The kernel's own work and the
/// harness's take 1 to 2%.
pub const ELSEWHERE_RATIO_MAX: f64 = 0.05;

/// Relative error allowed for a loss that is stated as a figure.
pub const LOSS_ERROR_MAX: f64 = 0.1;

/// Frames that a paced generator always sends at once: two batches of 16. How many
/// more a device takes is not known beforehand.
const BATCH_FRAMES: f64 = 32.0;

/// Frames that wait harmlessly for a device that pauses: half of a veth's ring of
/// 256.
const QUEUE_FRAMES: f64 = 128.0;

/// A device on this host that waits longer is worth a word.
const KEPT_MIN: Duration = Duration::from_millis(1);

const QUIET: &str = "stop other programs, or give the trial CPUs of its own";

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Verdict> {
    let each = evidence
        .directions
        .iter()
        .flat_map(|direction| [paused(direction), overrun(evidence, direction)]);
    let others = match evidence.claim {
        // Who else used the device's CPU makes no pass less.
        Claim::Carried { .. } | Claim::Loss => None,
        Claim::Latency | Claim::Rate => elsewhere(evidence.seen),
    };
    each.chain([excusable_loss(evidence), stolen(evidence.seen), others])
        .flatten()
        .collect()
}

/// Whether the host left a measurement on these CPUs alone, be it a trial or
/// something else.
pub(crate) fn of_host(seen: &Seen) -> Vec<Verdict> {
    let doubts = [stolen(seen), elsewhere(seen)];
    doubts.into_iter().flatten().collect()
}

fn noisy(reason: String, remedy: &str) -> Verdict {
    Verdict::new(Validity::Noisy, reason, remedy)
}

fn gap_ns_max(direction: &Direction) -> u64 {
    let share = direction.stream.duration.as_nanos() as f64 * GAP_RATIO_MAX;
    // A burst of a millisecond is not judged by a hundredth of that.
    (share as u64).clamp(GAP_NS_MAX / 10, GAP_NS_MAX)
}

fn paused(direction: &Direction) -> Option<Verdict> {
    let (gap_ns, limit_ns) = (direction.sent.gap_ns_max, gap_ns_max(direction));
    (gap_ns > limit_ns).then(|| {
        noisy(
            format!(
                "the generator did not run for {:.1} ms, more than {:.1} ms",
                gap_ns as f64 / 1e6,
                limit_ns as f64 / 1e6
            ),
            QUIET,
        )
    })
}

fn overrun(evidence: &Evidence<'_>, direction: &Direction) -> Option<Verdict> {
    direction.stream.rate_pps?;
    let (behind_ns, limit_ns) = (direction.sent.behind_ns_max, gap_ns_max(direction));
    (evidence.claim != Claim::Rate && behind_ns > limit_ns).then(|| {
        noisy(
            format!(
                "the generator was {:.1} ms behind its schedule, more than {:.1} ms",
                behind_ns as f64 / 1e6,
                limit_ns as f64 / 1e6
            ),
            LESS,
        )
    })
}

pub(super) fn excusable_frames(evidence: &Evidence<'_>) -> f64 {
    // Others that used what the device left over took nothing from it; and
    // threads of the device that waited for each other belong to it.
    let elsewhere = elsewhere_behind(evidence.seen);
    let waited = evidence.seen.waited_behind.unwrap_or(Duration::MAX);
    // Nor does a thread know of the time in which its CPU itself was taken away.
    let kept = evidence.seen.kept_waiting;
    let behind = elsewhere.min(waited).max(kept.unwrap_or_default());
    let behind_ns = (behind + evidence.seen.host.steal).as_nanos() as f64;
    // Nothing is known of the queues of a device that is not ours.
    let queue = if kept.is_some() {
        BATCH_FRAMES
    } else {
        QUEUE_FRAMES
    };
    let excusable = |one: &Direction| late_frames(one) + paused_frames(one, behind_ns, queue);
    evidence.directions.iter().map(excusable).sum()
}

/// Frames that the generator sent late, beyond its usual batches. The longest of its
/// pauses and their sum are known; the most frames are late when all pauses were the
/// longest.
fn late_frames(direction: &Direction) -> f64 {
    let Some(rate_pps) = direction.stream.rate_pps else {
        return 0.0;
    };
    let sent = &direction.sent;
    let frames = |ns: u64| ns as f64 * rate_pps / 1e9;
    let burst = frames(sent.behind_ns_max.max(sent.gap_ns_max));
    let all = frames(sent.behind_ns_max.max(direction.sender.waited_ns));
    if burst > BATCH_FRAMES {
        all * (1.0 - BATCH_FRAMES / burst)
    } else {
        0.0
    }
}

/// Frames that came while others had the device's CPU. A queue that overflowed kept
/// its first frame for as long as it takes to fill.
fn paused_frames(direction: &Direction, elsewhere_ns: f64, queue: f64) -> f64 {
    let per_ns = direction.offered_pps() / 1e9;
    let longest_ns = direction.received.latency.max_ns();
    let is_short = longest_ns.is_some_and(|ns| ns as f64 * per_ns <= queue);
    if is_short { 0.0 } else { elsewhere_ns * per_ns }
}

fn excusable_loss(evidence: &Evidence<'_>) -> Option<Verdict> {
    let (lost, excusable) = (evidence.lost() as f64, excusable_frames(evidence));
    let kept = evidence.seen.kept_waiting.unwrap_or_default();
    evidence.is_doubtful(excusable).then(|| {
        if kept > KEPT_MIN {
            return noisy(
                format!(
                    "{lost:.0} frames were lost, and threads of the device waited {:.1} ms for a CPU: the loss may be the host's and not the device's",
                    kept.as_secs_f64() * 1e3
                ),
                "give the device CPUs that the tester does not use, and stop other programs",
            );
        }
        noisy(
            format!(
                "{lost:.0} frames were lost, and up to {excusable:.0} came in bursts after a pause of the generator or during one of the device: the loss may be the host's and not the device's"
            ),
            QUIET,
        )
    })
}

fn stolen(seen: &Seen) -> Option<Verdict> {
    let cpus = seen.placement.cpus().len();
    let whole = seen.host.elapsed.as_secs_f64() * cpus as f64;
    let share = ratio(seen.host.steal.as_secs_f64(), whole);
    (share > STEAL_RATIO_MAX).then(|| {
        noisy(
            format!(
                "the hypervisor took {:.1}% of the CPU time, more than {:.0}%",
                share * 100.0,
                STEAL_RATIO_MAX * 100.0
            ),
            "measure when the host is quiet, or on dedicated cores",
        )
    })
}

fn elsewhere_behind(seen: &Seen) -> Duration {
    let Some(own) = seen.own_cpu else {
        return Duration::ZERO;
    };
    let host = seen.host;
    host.busy_behind
        .saturating_sub(own.behind)
        .saturating_sub(host.resolution)
}

fn elsewhere(seen: &Seen) -> Option<Verdict> {
    let own = seen.own_cpu?;
    let host = seen.host;
    let before = host
        .busy_generator
        .saturating_sub(own.generators)
        .saturating_sub(host.resolution);
    let others = before.max(elsewhere_behind(seen));
    let share = ratio(others.as_secs_f64(), host.elapsed.as_secs_f64());
    (share > ELSEWHERE_RATIO_MAX).then(|| {
        noisy(
            format!(
                "others kept the trial's CPUs busy for {:.0}% of one CPU, more than {:.0}%",
                share * 100.0,
                ELSEWHERE_RATIO_MAX * 100.0
            ),
            QUIET,
        )
    })
}
