//! What the numbers mean, in plain words: the price of a notification, and the
//! paper's figure 2 beside ours.

use kit::experiment::Experiment;
use kit::headline::Answer;
use kit::place::Placement;
use kit::places::on;
use kit::ratio::Ratio;
use kit::results::Results;
use kit::words::{finding, percent, size, speed};
use model::paper::published;
use policy::Policy;
use probe::tier;
use trial::{Finding, Outcome, Weight};

use super::BlockSize;
use super::figure::{Line, lines, rate};
use super::price::{Price, SMALL_BYTES_MAX, Spread, elapsed_ns, placements};

/// So many falls are told one by one.
const FALLS_MAX: usize = 4;

/// What a notification costs, from what may be believed.
pub(super) fn answer(results: &Results<'_, BlockSize>) -> Option<Answer> {
    let told = |placement| {
        let price = Price::of(results, placement).filter(|price| price.is_sound)?;
        let [elapsed, client, worker] = price.spreads(results.seed())?;
        Some(format!(
            "A notification costs {elapsed} with client and worker on {}; it takes {client} of the client's CPU time and {worker} of the worker's.",
            on(placement)
        ))
    };
    let told: Vec<_> = placements(results).into_iter().filter_map(told).collect();
    (!told.is_empty()).then(|| Answer {
        text: told.join(" ") + &large(results),
        remedy: String::new(),
    })
}

/// What it costs where blocks are so large that each wakes the client.
fn large(results: &Results<'_, BlockSize>) -> String {
    let (each, armed) = (lines(results, Policy::EACH), lines(results, Policy::ARMED));
    let is_quiet = |line: &&Line| {
        line.is_quiet
            && armed
                .iter()
                .any(|armed| armed.is_along(line) && armed.is_quiet)
    };
    let largest = |placement: Placement| {
        let line = each
            .iter()
            .filter(is_quiet)
            .find(|line| line.placement == placement)?;
        let place = line.ends().1.place;
        let spread = Spread::of(&elapsed_ns(results, &place), results.seed())?;
        (place.block_bytes > SMALL_BYTES_MAX)
            .then(|| format!("{spread} at {} ({})", size(place.block_bytes), line.name()))
    };
    let told: Vec<_> = placements(results)
        .into_iter()
        .filter_map(largest)
        .collect();
    if told.is_empty() {
        return String::new();
    }
    format!(
        " That is for blocks of up to {}, which complete faster than a client wakes up. At the largest it is {}.",
        size(SMALL_BYTES_MAX),
        told.join("; ")
    )
}

pub(super) fn findings(results: &Results<'_, BlockSize>) -> Vec<Finding> {
    let (each, polled) = (lines(results, Policy::EACH), lines(results, Policy::POLLED));
    let texts = [
        gains(results),
        shape(&each),
        rates(&each),
        working_set(results),
    ];
    let falls = each.iter().filter_map(|line| fell(line, &polled));
    texts
        .into_iter()
        .flatten()
        .chain(falls.take(FALLS_MAX))
        .collect()
}

/// Where `armed` gains most and least, of what is evident.
fn gains(results: &Results<'_, BlockSize>) -> Option<Finding> {
    let mut evident: Vec<_> = (results.told().iter())
        .map(|told| &told.ratio)
        .filter(|ratio| ratio.is_evident())
        .collect();
    evident.sort_by(|a, b| a.comparison.ratio.total_cmp(&b.comparison.ratio));
    let (least, best) = (evident.first()?, evident.last()?);
    let at = |ratio: &Ratio| format!("{} ({})", ratio.words(), ratio.comparison.subject);
    let range = match evident.len() {
        1 => at(best),
        _ => format!("from {} to {}", at(least), at(best)),
    };
    let text = format!("`armed` completes {range} of what `each` does.");
    let (weight, remedy) = match best.comparison.outcome {
        Outcome::Faster => (
            Weight::Advice,
            "Notify only a client that sleeps (policy `armed`).",
        ),
        _ => (Weight::Note, ""),
    };
    Some(finding(weight, text, remedy))
}

/// Whether speed rises and falls as in the paper's figure 2.
fn shape(lines: &[Line]) -> Option<Finding> {
    let peak_bytes = published::AES_128.peak_block_bytes? as usize;
    let (quiet, disturbed): (Vec<_>, Vec<_>) = lines
        .iter()
        .filter(|line| line.dots.len() > 1)
        .partition(|line| line.is_quiet);
    let falling = quiet.iter().filter(|line| line.fall.is_some()).count();
    let verdict = match falling {
        _ if quiet.is_empty() => return None,
        0 => "Here speed does not fall as blocks grow",
        all if all == quiet.len() => "Here, too, speed rises, and falls as blocks grow on",
        _ => "Here speed falls on some of the lines as blocks grow on",
    };
    let told = quiet.iter().map(|line| {
        let (peak, last) = (line.peak(), line.ends().1);
        let share = match last.place == peak.place {
            true => ", the largest".to_owned(),
            false => format!(
                ", {} of it at {}",
                percent(last.mb_per_s / peak.mb_per_s),
                size(last.place.block_bytes)
            ),
        };
        let (most, at) = (speed(peak.mb_per_s), size(peak.place.block_bytes));
        format!("{}: {most} at {at}{share}", line.name())
    });
    let told: Vec<_> = told.collect();
    let names: Vec<_> = disturbed.iter().map(|line| line.name()).collect();
    let disturbed = match names.is_empty() {
        true => String::new(),
        false => format!(" Too disturbed to tell: {}.", names.join("; ")),
    };
    let text = format!(
        "The paper's figure 2 has its greatest speed at {}, and less beyond. {verdict}. {}.{disturbed}",
        size(peak_bytes),
        told.join("; ")
    );
    Some(finding(Weight::Note, text, ""))
}

/// Whether the notification rate rises with the block, as the paper's does.
fn rates(lines: &[Line]) -> Option<Finding> {
    let line = lines
        .iter()
        .find(|line| line.is_quiet && line.dots.len() > 1)?;
    let (first, last) = line.ends();
    let best = published::AES_128.best_interrupts_per_s?;
    let (verdict, why) = match last.notifications_per_s < first.notifications_per_s {
        true => (
            "Here it falls",
            " One notification a completion follows the requests, and larger ones are fewer.",
        ),
        false => ("Here it rises too", ""),
    };
    let at = |bytes, per_s| format!("{} at {}", rate(per_s), size(bytes));
    let at = |dot: super::figure::Dot| at(dot.place.block_bytes, dot.notifications_per_s);
    let text = format!(
        "The paper's interrupt rate rises with the block size, to {best:.0}/s at its best block. {verdict} ({}, `each`): {}, {}.{why}",
        line.name(),
        at(first),
        at(last)
    );
    Some(finding(Weight::Note, text, ""))
}

/// One fall, and whether it is there without notifications too.
fn fell(line: &Line, polled: &[Line]) -> Option<Finding> {
    let (fall, peak) = (line.fall.as_ref()?, line.peak());
    let polled = polled
        .iter()
        .find(|polled| polled.is_along(line) && polled.is_quiet);
    let silent = match polled.map(|polled| &polled.fall) {
        Some(Some(lowest)) => format!(
            " Polled, with no notification at all, it falls too, to {:.2}× of its peak at {}: notifications are not the whole cause.",
            lowest.ratio.ratio,
            size(lowest.lowest.place.block_bytes)
        ),
        Some(None) => " Polled, with no notification at all, it does not fall.".to_owned(),
        None => String::new(),
    };
    let text = format!(
        "{}, policy `each`: speed falls as blocks grow, from {} at {} to {} at {}: {}.{silent}",
        line.name(),
        speed(peak.mb_per_s),
        size(peak.place.block_bytes),
        speed(fall.lowest.mb_per_s),
        size(fall.lowest.place.block_bytes),
        kit::ratio::words(&fall.ratio)
    );
    let remedy = format!("`{} run vcm-cause` names the cause.", tier::program());
    Some(finding(Weight::Note, text, remedy))
}

/// Which blocks do not fit the cache at this depth.
fn working_set(results: &Results<'_, BlockSize>) -> Option<Finding> {
    let half = results.host.l2_bytes as usize / 2;
    let is_beyond = |reading: &kit::experiment::Reading| {
        reading
            .evidence
            .is_some_and(|one| half > 0 && one.in_flight_bytes > half)
    };
    let beyond = results
        .measured()
        .filter(|(_, series)| series.rounds.values().any(is_beyond));
    let least = beyond.map(|(subject, _)| subject.place.block_bytes).min()?;
    let text = format!(
        "At depth {} blocks of {} and more put more than half of L2 ({}) in flight: from there on the cache is measured too.",
        results.experiment.config().depth.get(),
        size(least),
        size(results.host.l2_bytes as usize)
    );
    let remedy = "A smaller depth shows the blocks without the cache.";
    Some(finding(Weight::Note, text, remedy))
}
