//! Whether something else had the CPUs.

use std::time::Duration;

use trial::validity::{GAP_NS_MAX, STEAL_RATIO_MAX};
use trial::{Validity, Verdict};

use super::{Claim, Evidence, ratio};
use crate::tester::trial::Direction;

/// Longest pause of the generator, as a share of the trial; and never more
/// than 10 ms.
pub const GAP_RATIO_MAX: f64 = 0.01;

/// CPU time of the trial's CPUs that neither generator nor device nor sink
/// took, as a share of one CPU: `/proc/stat` counts in hundredths of a second,
/// and interrupts are nobody's.
pub const ELSEWHERE_RATIO_MAX: f64 = 0.15;

/// Frames that come at once without any harm: half of a veth's ring of 256.
const BURST_FRAMES: f64 = 128.0;

const QUIET: &str = "stop other programs, or give the trial CPUs of its own";

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Verdict> {
    let each = evidence.directions.iter().flat_map(|direction| {
        [
            paused(direction),
            overrun(evidence, direction),
            burst_loss(evidence, direction),
        ]
    });
    each.chain([stolen(evidence), elsewhere(evidence)])
        .flatten()
        .collect()
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
    (evidence.claim == Claim::Loss && behind_ns > limit_ns).then(|| {
        noisy(
            format!(
                "the generator was {:.1} ms behind its schedule, more than {:.1} ms",
                behind_ns as f64 / 1e6,
                limit_ns as f64 / 1e6
            ),
            "offer less, or give the generator a CPU of its own",
        )
    })
}

/// A generator that was behind sends what it owes in one burst. A loss no
/// larger than that may be the burst's and not the rate's.
fn burst_loss(evidence: &Evidence<'_>, direction: &Direction) -> Option<Verdict> {
    let rate_pps = direction.stream.rate_pps?;
    let lost = direction.lost();
    if evidence.claim == Claim::Rate || lost == 0 {
        return None;
    }
    let behind_ns = direction.sent.behind_ns_max.max(direction.sender.waited_ns);
    let owed = behind_ns as f64 / 1e9 * rate_pps;
    (owed > BURST_FRAMES && lost as f64 <= owed).then(|| {
        noisy(
            format!(
                "{lost} frames were lost, and {owed:.0} were sent late in bursts: the loss may be theirs and not the rate's"
            ),
            QUIET,
        )
    })
}

fn stolen(evidence: &Evidence<'_>) -> Option<Verdict> {
    let cpus = evidence.placement.cpus().len();
    let whole = evidence.host.elapsed.as_secs_f64() * cpus as f64;
    let share = ratio(evidence.host.steal.as_secs_f64(), whole);
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

fn elsewhere(evidence: &Evidence<'_>) -> Option<Verdict> {
    let device = evidence.device_cpu?;
    let host = evidence.host;
    let own_ns: u64 = evidence
        .directions
        .iter()
        .map(|direction| direction.sent.cpu_ns + direction.received.cpu_ns)
        .sum();
    let own = device + Duration::from_nanos(own_ns);
    let others = host.busy.saturating_sub(own).as_secs_f64();
    let share = ratio(others, host.elapsed.as_secs_f64());
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
