//! What the numbers mean, in plain words: the price of a notification, and the
//! paper's figure 2 beside ours.

use std::cmp::Reverse;

use kit::experiment::Results;
use kit::headline::Answer;
use kit::load::benches::Ask;
use kit::places::on;
use kit::ratio::{Ratio, words};
use kit::words::{finding, percent, size, speed, what};
use policy::Policy;
use probe::tier;
use trial::{Finding, Outcome, Weight};

use super::BlockSize;
use super::figure::{Dot, Line, PEAK_BYTES, lines};
use super::price::{Price, SMALL_BYTES_MAX, elapsed_ns, is_sound, places, prices, spread};

/// As many falls are told one by one.
const FALLS_MAX: usize = 4;

/// What a notification costs, from what is valid.
pub(super) fn answer(results: &Results<'_, BlockSize>) -> Option<Answer> {
    let prices = prices(results);
    let sound = prices.iter().filter(|price| price.is_sound);
    let told: Vec<_> = sound.filter_map(|price| costs(results, price)).collect();
    (!told.is_empty()).then(|| Answer::new(told.join(" "), ""))
}

fn costs(results: &Results<'_, BlockSize>, price: &Price) -> Option<String> {
    let part = |part| spread(&price.part(part));
    let (elapsed, client, worker) = (part(0)?, part(1)?, part(2)?);
    let is_large =
        |place: &Ask| place.placement == price.placement && place.block_bytes > SMALL_BYTES_MAX;
    let large = places(results).filter(|place| is_large(place) && is_sound(results, place));
    let large = large.min_by_key(|place| Reverse(place.block_bytes));
    let large = large.and_then(|place| {
        let (bytes, kind) = (size(place.block_bytes), what(place.kind));
        let costs = spread(&elapsed_ns(results, &[place]))?;
        Some(format!(
            " At {bytes} of {kind}, where it wakes the client more often, it costs {costs}."
        ))
    });
    Some(format!(
        "A notification costs {elapsed} at blocks of up to {}, client and worker on {}. It takes {client} of the client's CPU time and {worker} of the worker's.{}",
        size(SMALL_BYTES_MAX),
        on(price.placement),
        large.unwrap_or_default()
    ))
}

pub(super) fn findings(results: &Results<'_, BlockSize>) -> Vec<Finding> {
    let (each, polled) = (lines(results, Policy::EACH), lines(results, Policy::POLLED));
    let falls = each.iter().filter_map(|line| fell(line, &polled));
    let texts = [gains(results), shape(&each)];
    let texts = texts.into_iter().flatten();
    texts.chain(falls.take(FALLS_MAX)).collect()
}

/// Where `armed` gains most and least, of what is evident.
fn gains(results: &Results<'_, BlockSize>) -> Option<Finding> {
    let told = results.told().iter().map(|told| &told.ratio);
    let mut evident: Vec<_> = told.filter(|ratio| ratio.is_evident()).collect();
    evident.sort_by(|a, b| a.comparison.ratio.total_cmp(&b.comparison.ratio));
    let (least, best) = (evident.first()?, evident.last()?);
    let at = |ratio: &Ratio| format!("{} at {}", ratio.words(), ratio.comparison.subject);
    let range = match evident.len() {
        1 => at(best),
        _ => format!("from {}, to {}", at(least), at(best)),
    };
    let text = format!("`armed` compared with a notification for every completion gives {range}.");
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
    let whole = lines.iter().filter(|line| line.dots.len() > 1);
    let (quiet, disturbed): (Vec<_>, Vec<_>) = whole.partition(|line| line.is_quiet);
    let verdict = match quiet.iter().filter(|line| line.fall.is_some()).count() {
        _ if quiet.is_empty() => return None,
        0 => "Here speed does not fall as blocks grow",
        all if all == quiet.len() => "Here, too, speed rises, and falls as blocks grow on",
        _ => "Here speed falls on some of the lines as blocks grow on",
    };
    let told = quiet.iter().map(|line| {
        let (peak, last) = (line.peak(), line.ends().1);
        let share = percent(last.mb_per_s / peak.mb_per_s);
        let share = match last.place == peak.place {
            true => "the largest".to_owned(),
            false => format!("{share} of it at {}", size(last.place.block_bytes)),
        };
        let (most, at) = (speed(peak.mb_per_s), size(peak.place.block_bytes));
        format!("{}: {most} at {at}, {share}", line.name)
    });
    let names: Vec<_> = disturbed.iter().map(|line| line.name.as_str()).collect();
    let disturbed = match names.is_empty() {
        true => String::new(),
        false => format!(" Too disturbed to tell: {}.", names.join("; ")),
    };
    let text = format!(
        "The paper's figure 2 has its greatest speed at {}, and less beyond. {verdict}. {}.{disturbed}",
        size(PEAK_BYTES),
        told.collect::<Vec<_>>().join("; ")
    );
    Some(finding(Weight::Note, text, ""))
}

/// One fall, and whether it is there without notifications too.
fn fell(line: &Line, polled: &[Line]) -> Option<Finding> {
    let ((lowest, ratio), peak) = (line.fall.as_ref()?, line.peak());
    let polled = polled
        .iter()
        .find(|polled| polled.is_along(line) && polled.is_quiet);
    let silent = match polled.map(|polled| &polled.fall) {
        Some(Some((lowest, ratio))) => format!(
            " Polled, with no notification at all, it falls too, to {:.2}× of its peak at {}: notifications are not the whole cause.",
            ratio.ratio,
            size(lowest.place.block_bytes)
        ),
        Some(None) => " Polled, with no notification at all, it does not fall.".to_owned(),
        None => String::new(),
    };
    let at = |dot: &Dot| format!("{} at {}", speed(dot.mb_per_s), size(dot.place.block_bytes));
    let text = format!(
        "Speed falls as blocks grow ({}, policy `each`), from {} to {}: {}.{silent}",
        line.name,
        at(&peak),
        at(lowest),
        words(ratio)
    );
    let remedy = format!("`{} run vcm-cause` names the cause.", tier::program());
    Some(finding(Weight::Note, text, remedy))
}
