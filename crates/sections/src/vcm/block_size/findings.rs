//! What the numbers mean, in plain words.

use crypto::Kind;
use trial::{Comparison, Finding, Outcome, Weight};

use crate::vcm::block_size::context::Context;
use crate::vcm::block_size::fall::Fall;
use crate::vcm::block_size::price::{Price, SMALL_BYTES_MAX, Spread, of_place};
use crate::vcm::block_size::tables::{Shape, name, rate};
use kit::load::moderated::Arm;
use kit::load::rounds::End;
use kit::place::Placement;
use kit::places::on;
use kit::words::{finding, percent, size, speed};
use probe::tier;

/// So many falls are told one by one.
const FALLS_MAX: usize = 4;

pub(super) fn findings(
    context: &Context<'_>,
    comparisons: &[Comparison],
    end: &End,
) -> Vec<Finding> {
    let falls: Vec<_> = context
        .lines()
        .filter_map(|line| context.fall(line, Arm::EACH))
        .collect();
    let texts = [
        gains(comparisons),
        shape(context),
        rates(context),
        working_set(context),
        left_out(context),
        end.late(),
    ];
    let fallen = falls.iter().take(FALLS_MAX).map(|fall| fell(context, fall));
    let notes = texts.into_iter().flatten().chain(fallen);
    prices(context).into_iter().chain(notes).collect()
}

/// What a notification costs here: the headline, from what may be believed;
/// the rest with a warning.
fn prices(context: &Context<'_>) -> Vec<Finding> {
    let told = |sound: bool| -> Vec<String> {
        let one = |placement: Placement| {
            let (price, is_sound) = context.price(placement)?;
            let text = told(&price, placement, context.config.seed);
            text.filter(|_| is_sound == sound)
        };
        let placements = context.places.kept.iter();
        placements
            .filter_map(|&(placement, _)| one(placement))
            .collect()
    };
    let mut findings = Vec::new();
    let (sound, doubtful) = (told(true), told(false));
    if !sound.is_empty() {
        let costs = sound.join("; ");
        let text = format!("A notification costs {costs}.{}", large(context));
        findings.push(finding(Weight::Headline, text, ""));
    }
    if !doubtful.is_empty() {
        let costs = doubtful.join("; ");
        let text = format!(
            "The host was too busy to tell what a notification costs there; as far as it shows, {costs}."
        );
        findings.push(finding(Weight::Warning, text, "Measure on a quiet host."));
    }
    findings
}

/// What it costs where blocks are so large that each wakes the client.
fn large(context: &Context<'_>) -> String {
    let largest = |&(placement, _): &(Placement, _)| {
        let line = context.lines().find(|(own, _)| *own == placement)?;
        let cell = *context.line(line).last()?;
        let is_large = cell.key.block_bytes > SMALL_BYTES_MAX;
        let spread_ns = Spread::of(&of_place(cell)?, context.config.seed)?;
        (is_large && context.is_quiet(line, Arm::EACH)).then(|| {
            format!(
                "{} at {} ({})",
                spread(spread_ns),
                size(cell.key.block_bytes),
                on(placement)
            )
        })
    };
    let told: Vec<_> = context.places.kept.iter().filter_map(largest).collect();
    if told.is_empty() {
        return String::new();
    }
    format!(
        " That is for blocks of up to {}, which complete faster than a client wakes up. At the largest it is {}.",
        size(SMALL_BYTES_MAX),
        told.join("; ")
    )
}

fn told(price: &Price, placement: Placement, seed: u64) -> Option<String> {
    let elapsed = Spread::of(&price.elapsed_ns, seed)?;
    let (client, worker) = (
        Spread::of(&price.client_ns, seed)?,
        Spread::of(&price.worker_ns, seed)?,
    );
    Some(format!(
        "{} with client and worker on {} ({} of the client's CPU time, {} of the worker's)",
        spread(elapsed),
        on(placement),
        spread(client),
        spread(worker)
    ))
}

fn spread(Spread { median, low, high }: Spread) -> String {
    if median.abs() < 1000.0 {
        return format!("{median:.0} ns ({low:.0} to {high:.0})");
    }
    let us = |ns: f64| format!("{:.2}", ns / 1e3);
    format!("{} µs ({} to {})", us(median), us(low), us(high))
}

/// Where `armed` gains most and least, of what is evident.
fn gains(comparisons: &[Comparison]) -> Option<Finding> {
    let by_ratio = |a: &&Comparison, b: &&Comparison| a.ratio.total_cmp(&b.ratio);
    let evident = || {
        let is_evident = |one: &&Comparison| one.outcome != Outcome::NoEvidence;
        comparisons.iter().filter(is_evident)
    };
    let best = evident().max_by(by_ratio)?;
    let least = evident().min_by(by_ratio)?;
    let ratio = |one: &Comparison| {
        format!(
            "{:.2}× ({:.2} to {:.2}) at {}",
            one.ratio, one.low, one.high, one.subject
        )
    };
    let text = format!(
        "Against a notification for every completion, `armed` gives from {} to {}.",
        ratio(least),
        ratio(best)
    );
    let is_gain = best.outcome == Outcome::Faster;
    let (weight, remedy) = if is_gain {
        (
            Weight::Advice,
            "Notify only a client that sleeps (policy `armed`).",
        )
    } else {
        (Weight::Note, "")
    };
    Some(finding(weight, text, remedy))
}

/// Whether speed rises and falls as in the paper's figure 2.
fn shape(context: &Context<'_>) -> Option<Finding> {
    let peak_bytes = model::paper::published::AES_128.peak_block_bytes? as usize;
    let quiet = |line: &(Placement, Kind)| context.is_quiet(*line, Arm::EACH);
    let shapes: Vec<_> = context
        .lines()
        .filter(quiet)
        .filter_map(|line| Some((line, Shape::of(&context.line(line))?)))
        .collect();
    if context.config.sizes_bytes.len() < 2 || shapes.is_empty() {
        return None;
    }
    let falls = |(line, _): &&((Placement, Kind), Shape)| context.fall(*line, Arm::EACH).is_some();
    let agreeing = shapes.iter().filter(falls).count();
    let told: Vec<_> = shapes
        .iter()
        .map(|(line, shape)| {
            format!(
                "{}: {} at {}, {} of it at {}",
                name(*line),
                speed(shape.peak_mb_per_s),
                size(shape.peak_bytes),
                percent(shape.last_share),
                size(shape.last_bytes)
            )
        })
        .collect();
    let verdict = match agreeing {
        0 => "does not agree: speed does not fall as blocks grow",
        all if all == shapes.len() => "agrees in shape: speed rises, and falls as blocks grow on",
        _ => "agrees in part: speed falls on some of the lines as blocks grow on",
    };
    let disturbed: Vec<_> = context
        .lines()
        .filter(|line| !quiet(line))
        .map(name)
        .collect();
    let disturbed = if disturbed.is_empty() {
        String::new()
    } else {
        format!(" Too disturbed to tell: {}.", disturbed.join("; "))
    };
    let text = format!(
        "The paper's figure 2 (greatest speed at {}, less beyond) {verdict}. {}.{disturbed}",
        size(peak_bytes),
        told.join("; ")
    );
    Some(finding(Weight::Note, text, ""))
}

/// Whether the notification rate rises with the block, as the paper's does.
fn rates(context: &Context<'_>) -> Option<Finding> {
    let is_quiet = |line: &(Placement, Kind)| context.is_quiet(*line, Arm::EACH);
    let first = context.lines().find(is_quiet)?;
    let shape = Shape::of(&context.line(first))?;
    let (small, large) = shape.notifications_per_s;
    let best = model::paper::published::AES_128.best_interrupts_per_s?;
    let verdict = if large < small {
        "Here it is the other way round"
    } else {
        "Here it rises too"
    };
    let text = format!(
        "In the paper the interrupt rate rises with the block size, to {best:.0}/s at its best block. {verdict} ({}): {} at the smallest block, {} at the best, {} at the largest; one notification a completion follows the requests, and larger ones are fewer.",
        name(first),
        rate(small),
        rate(shape.peak_notifications_per_s),
        rate(large)
    );
    Some(finding(Weight::Note, text, ""))
}

/// One fall, and whether it is there without notifications too.
fn fell(context: &Context<'_>, fall: &Fall) -> Finding {
    let line = (fall.placement, fall.kind);
    let lowest = fall.deepest().map_or_else(String::new, |lowest| {
        format!(
            "from {} at {} to {} at {}: {:.2}× ({:.2} to {:.2})",
            speed(fall.peak_mb_per_s),
            size(fall.peak_bytes),
            speed(lowest.mb_per_s),
            size(lowest.block_bytes),
            lowest.ratio.ratio,
            lowest.ratio.low,
            lowest.ratio.high
        )
    });
    let silent = match context.fall(line, Arm::POLLED) {
        Some(polled) => match polled.deepest() {
            Some(lowest) => format!(
                " Polled, with no notification at all, it falls too, to {:.2}× of its peak at {}: notifications are not the whole cause.",
                lowest.ratio.ratio,
                size(lowest.block_bytes)
            ),
            None => String::new(),
        },
        None if context.arms().any(|arm| arm == Arm::POLLED) => {
            " Polled, with no notification at all, it does not fall.".to_owned()
        }
        None => String::new(),
    };
    let text = format!(
        "{}, policy `{}`: speed falls as blocks grow, {lowest}.{silent}",
        name(line),
        fall.arm
    );
    let remedy = format!("`{} run vcm-cause` names the cause.", tier::program());
    finding(Weight::Note, text, remedy)
}

/// Which blocks do not fit the cache at this depth.
fn working_set(context: &Context<'_>) -> Option<Finding> {
    let half = context.l2_bytes as usize / 2;
    let mut beyond: Vec<_> = context
        .cells
        .iter()
        .filter(|cell| half > 0 && cell.in_flight_bytes > half)
        .map(|cell| cell.key.block_bytes)
        .collect();
    beyond.sort_unstable();
    let least = beyond.first()?;
    let text = format!(
        "At depth {} blocks of {} and more put more than half of L2 ({}) in flight: from there on the cache is measured too.",
        context.config.depth,
        size(*least),
        size(context.l2_bytes as usize)
    );
    Some(finding(
        Weight::Note,
        text,
        "A smaller depth shows the blocks without the cache.",
    ))
}

fn left_out(context: &Context<'_>) -> Option<Finding> {
    let text = format!("Left out: {}.", context.places.left_out()?);
    Some(finding(
        Weight::Note,
        text,
        "Allow more CPUs (taskset, cpuset).",
    ))
}
