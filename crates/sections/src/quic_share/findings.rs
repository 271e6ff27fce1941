//! What the numbers mean, beside the source's figure 8.

use kit::experiment::Results;
use kit::headline::Answer;
use kit::transfers::Stack;
use kit::words::{file_size, finding};
use trial::{Finding, Weight};

use super::{QuicShare, SETTLED, SHARE};

type Measured<'a, 'b> = &'b Results<'a, QuicShare>;

/// A share is like another within this.
const SAME: f64 = 0.9;

/// The largest file of which the share is known, by stock QUIC or offloaded.
fn largest(results: Measured<'_, '_>) -> Option<usize> {
    let known = |place: &usize, arm: &Stack| results.valid_median(place, arm, SHARE).is_some();
    let quic = results.measured().filter(|(one, _)| !one.arm.is_tcp());
    let known = quic.filter(|(one, _)| known(&one.place, &one.arm));
    known.map(|(one, _)| one.place).max()
}

/// What QUIC gets of the link, what a second TCP would, and what offloading changes.
pub(super) fn answer(results: Measured<'_, '_>) -> Option<Answer> {
    let bytes = largest(results)?;
    let share = |stack| results.valid_median(&bytes, &stack, SHARE);
    let (stack, quic) = [Stack::Stock, Stack::Together]
        .into_iter()
        .find_map(|stack| Some((stack, share(stack)?)))?;
    let link = results.experiment.link();
    let mut said = format!(
        "A file of {} by {} gets {quic:.0}% of a link of {} Mbit/s that one TCP flow filled before",
        file_size(bytes),
        stack.words(),
        link.rate_bit_per_s as f64 / 1e6
    );
    if let Some(tcp) = share(Stack::Tcp) {
        said += &format!("; by TCP it gets {tcp:.0}%");
    }
    said += ".";
    let pair = ((&bytes, &Stack::Together), (&bytes, &Stack::Stock));
    let gain = results
        .ratio(pair.0, pair.1, SHARE)
        .filter(|ratio| ratio.is_believed);
    if let Some(gain) = gain {
        let what = match (gain.is_evident(), gain.is_same(SAME)) {
            (_, true) => "Offloading changes that little",
            (true, false) => "Offloading changes that",
            (false, false) => "That offloading changes it is not evident",
        };
        said += &format!(
            " {what}: {} the share of stock QUIC (source: 1.03×).",
            gain.words()
        );
    }
    Some(Answer::new(said, ""))
}

/// From which size on each has its share.
pub(super) fn findings(results: Measured<'_, '_>) -> Vec<Finding> {
    let Some(bytes) = largest(results) else {
        return Vec::new();
    };
    let stacks = results.experiment.0.stacks.iter().map(|name| name.0);
    let each = stacks.filter_map(|stack| {
        let settled = results.valid_median(&bytes, &stack, SETTLED)?;
        Some(format!("{} from {settled:.0} kB on", stack.words()))
    });
    let each: Vec<_> = each.collect();
    if each.is_empty() {
        return Vec::new();
    }
    let text = format!(
        "The share stays within a tenth of its last: {}. Smaller files get another share: each begins slowly.",
        each.join(", ")
    );
    vec![finding(Weight::Note, text, "")]
}
