//! What the numbers mean, in plain words.

use kit::experiment::Results;
use kit::headline::Answer;
use kit::targets::{Targets, slower};
use kit::words::{size, time};
use trial::{Finding, Price};

use super::grid::{Arm, Place, Suite, Work};
use super::{PACKET, QuicPackets};

type Measured<'a, 'b> = &'b Results<'a, QuicPackets>;

/// Places named in one finding; the table has all.
const NAMED_MAX: usize = 6;

/// The fastest arm where packets are valid, and what the others take.
pub(super) fn answer(results: Measured<'_, '_>) -> Option<Answer> {
    let place = results
        .measured()
        .map(|(subject, _)| subject.place)
        .filter(|place| place.work == Work::Seal)
        .max_by_key(|place| (place.rank() == 0, place.bytes.min(1200), place.batch))?;
    let of = |arm| Some((results.valid_median(&place, &arm, PACKET)?, arm));
    let mut all: Vec<(f64, Arm)> = Arm::ALL.into_iter().filter_map(of).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ((ns, fastest), others) = all.split_first()?;
    let said: Vec<_> = others
        .iter()
        .map(|(ns, arm)| format!("{} {}", arm.name(), time(*ns)))
        .collect();
    let beside = match said.is_empty() {
        true => String::new(),
        false => format!(", beside {}", said.join(", ")),
    };
    let text = format!(
        "Sealing a QUIC packet of {} costs {} by {} in batches of {} ({}){beside}.",
        size(place.bytes),
        time(*ns),
        fastest.name(),
        place.batch,
        Suite(place.suite)
    );
    let remedy = match fastest {
        Arm::Kernels => {
            "Seal and open packets in batches: masks and tags of many are done together."
        }
        _ => "",
    };
    Some(Answer {
        text,
        remedy: remedy.to_owned(),
    })
}

/// Where a library is faster; targets that are missed or undecided.
pub(super) fn findings(results: Measured<'_, '_>) -> Vec<Finding> {
    let what = "A library does packets faster than our kernels";
    let lost = slower(results, what, NAMED_MAX, |_| true);
    let targets = Targets::of(results).finding("");
    lost.into_iter().chain(targets).collect()
}

/// The equation's c and t of a packet: what it costs whatever its size, and what a
/// thousand bytes more cost, by the smallest and the largest of a batch.
pub(super) fn prices(results: Measured<'_, '_>) -> Vec<Price> {
    let mut prices = Vec::new();
    for (subject, _) in results.measured() {
        let (place, arm) = (subject.place, subject.arm);
        let of_place = |one: &&Place| Place { bytes: 0, ..**one } == Place { bytes: 0, ..place };
        let places: Vec<_> = results.measured().map(|(one, _)| one.place).collect();
        let sizes = places.iter().filter(of_place).map(|one| one.bytes);
        let (Some(least), Some(most)) = (sizes.clone().min(), sizes.max()) else {
            continue;
        };
        let ns = |arm| results.valid_median(&place, &arm, PACKET);
        let mut all = Arm::ALL.into_iter().filter_map(ns);
        // Of the fastest alone: the list is of crossings.
        let is_fastest = ns(arm).is_some_and(|own| all.all(|other| own <= other));
        let is_packet = place.rank() == 0 && place.work != Work::Mask;
        let is_told = is_fastest && is_packet && place.bytes == most;
        if !is_told || least == most {
            continue;
        }
        let small = Place {
            bytes: least,
            ..place
        };
        let (Some(large), Some(small)) =
            (results.series(&place, &arm), results.series(&small, &arm))
        else {
            continue;
        };
        let is_valid = results.is_valid(&place, &arm);
        let pairs = large.pairs(small, PACKET);
        let byte_ns = |(large, small): &(f64, f64)| (large - small) / (most - least) as f64;
        let fixed = pairs
            .iter()
            .map(|pair| pair.1 - byte_ns(pair) * least as f64);
        let words = format!("QUIC {}, {}, batch {}", place.work, arm.name(), place.batch);
        let of = |what: &str, rounds_ns: Vec<f64>| {
            Price::of_rounds(format!("{words}: {what}"), &rounds_ns).filter(|_| is_valid)
        };
        prices.extend(of("each", fixed.collect()));
        prices.extend(of(
            "1,000 bytes more",
            pairs.iter().map(|pair| byte_ns(pair) * 1000.0).collect(),
        ));
    }
    prices
}
