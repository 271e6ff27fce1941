//! What the numbers mean, in plain words.

use trial::{Comparison, Finding, Outcome, Weight};

use crate::kspeed::cell::{Cell, Failure};
use crate::kspeed::comparisons::{Ratio, SAME_MIN, of};
use crate::kspeed::context::Context;
use crate::kspeed::end::End;
use crate::kspeed::method::Method;
use kit::words::{finding, percent, size};

/// Waiting for each request hides so much that it is worth a headline.
const HIDES: f64 = 0.8;

pub(super) fn findings(context: &Context<'_>, ratios: &[Ratio<'_>], end: &End) -> Vec<Finding> {
    let one = [
        hidden(context, ratios),
        at_once(context, ratios),
        same(context, ratios),
        socket(context, ratios),
        user_space(context, ratios),
        emulated(context),
        end.finding(),
    ];
    let mut findings: Vec<_> = one.into_iter().flatten().collect();
    findings.extend(missing(context));
    findings
}

/// Where asking one by one hides most of an asynchronous driver: the headline.
fn hidden(context: &Context<'_>, ratios: &[Ratio<'_>]) -> Option<Finding> {
    let gains = ratios.iter().filter(|ratio| {
        (ratio.method, ratio.reference) == (Method::Async, Method::Sync)
            && ratio.comparison.outcome == Outcome::Faster
            && context.is_async(ratio.cell) == Some(true)
            && 1.0 / ratio.comparison.ratio < HIDES
    });
    let most = gains.max_by(|a, b| a.comparison.ratio.total_cmp(&b.comparison.ratio))?;
    let (cell, gain) = (most.cell, &most.comparison);
    let asynchronous = cell.arm(Method::Async)?.median()?;
    let place = cell.place;
    let benchmark = context
        .ratio(cell, Method::Tcrypt, Method::Async)
        .filter(|_| context.is_valid(cell, Method::Tcrypt));
    let benchmark = benchmark.map_or_else(
        || "A benchmark that waits for each request".to_owned(),
        |share| {
            format!(
                "tcrypt, which waits for each request, shows {} of that; kspeed sync",
                percent(share.ratio)
            )
        },
    );
    let text = format!(
        "With {} requests in flight {} ({}) does {asynchronous:.0} requests/s at {}{}. {benchmark} shows {} of that: a factor of {:.1} is hidden ({:.1} to {:.1}).",
        context.config.depth,
        place.driver,
        place.driver.what,
        size(place.size_bytes),
        context.guest.mark(),
        percent(1.0 / gain.ratio),
        gain.ratio,
        gain.low,
        gain.high,
    );
    let batch = of(ratios, cell, Method::Batch, Method::Sync)
        .filter(|_| context.is_valid(cell, Method::Batch));
    let remedy = match batch {
        Some(batch) => format!(
            "Measure asynchronous drivers with callbacks (kspeed async), or at least with num_mb of {}: that shows {} of the asynchronous rate here.",
            context.config.depth,
            percent(batch.ratio / gain.ratio)
        ),
        None => "Measure asynchronous drivers with callbacks (kspeed async).".to_owned(),
    };
    Some(finding(Weight::Headline, text, remedy))
}

/// Drivers that complete at once gain nothing.
fn at_once(context: &Context<'_>, ratios: &[Ratio<'_>]) -> Option<Finding> {
    let own: Vec<_> = ratios
        .iter()
        .filter(|ratio| (ratio.method, ratio.reference) == (Method::Async, Method::Sync))
        .filter(|ratio| context.is_async(ratio.cell) == Some(false))
        .filter(|ratio| believed(context, ratio))
        .map(|ratio| &ratio.comparison)
        .collect();
    let (least, most) = ends(&own)?;
    let text = format!(
        "Drivers that complete at once gain nothing from more requests in flight: async is {least:.2} to {most:.2}× sync over {} places.",
        own.len()
    );
    Some(finding(Weight::Note, text, ""))
}

/// Whether the kernel's benchmark and ours agree where they do the same.
fn same(context: &Context<'_>, ratios: &[Ratio<'_>]) -> Option<Finding> {
    let own: Vec<_> = ratios
        .iter()
        .filter(|ratio| (ratio.method, ratio.reference) == (Method::Tcrypt, Method::Sync))
        .filter(|ratio| believed(context, ratio))
        .collect();
    let comparisons: Vec<_> = own.iter().map(|ratio| &ratio.comparison).collect();
    let (least, most) = ends(&comparisons)?;
    let is_same =
        |ratio: &&&Ratio<'_>| (SAME_MIN..=1.0 / SAME_MIN).contains(&ratio.comparison.ratio);
    let (alike, all) = (own.iter().filter(is_same).count(), own.len());
    let counts = if context.config.tcrypt_seconds == 0 {
        "cycles of a few operations"
    } else {
        "operations a second"
    };
    let text = format!(
        "tcrypt serial ({counts}) gives {least:.2} to {most:.2}× of kspeed sync; within 10% at {alike} of {all} places."
    );
    let (weight, remedy) = if alike == all {
        (Weight::Note, "")
    } else {
        (
            Weight::Warning,
            "tcrypt's few operations come right after one another's set-up; its seconds (key tcrypt_seconds = 1) say more.",
        )
    };
    Some(finding(weight, text, remedy))
}

/// What user space gets through the kernel's socket.
fn socket(context: &Context<'_>, ratios: &[Ratio<'_>]) -> Option<Finding> {
    let own = ratios.iter().filter(|ratio| {
        (ratio.method, ratio.reference) == (Method::AfAlg, Method::Async)
            && ratio.comparison.outcome == Outcome::Slower
            && context.is_async(ratio.cell) == Some(true)
    });
    let worst = own.min_by(|a, b| a.comparison.ratio.total_cmp(&b.comparison.ratio))?;
    let text = format!(
        "AF_ALG keeps one request in flight: from user space it shows {} of what {} does at {}{}.",
        percent(worst.comparison.ratio),
        worst.cell.place.driver,
        size(worst.cell.place.size_bytes),
        context.guest.mark()
    );
    let remedy = "Do not judge an asynchronous driver by AF_ALG.";
    Some(finding(Weight::Advice, text, remedy))
}

/// The article's comparison, in a sentence; its figures are in a table.
fn user_space(context: &Context<'_>, ratios: &[Ratio<'_>]) -> Option<Finding> {
    let said = |size_bytes: usize| {
        let own = ratios.iter().find(|ratio| {
            (ratio.method, ratio.reference) == (Method::Async, Method::Engine)
                && ratio.cell.place.size_bytes == size_bytes
                && context.is_async(ratio.cell) == Some(true)
                && believed(context, ratio)
        })?;
        Some(format!(
            "{:.2}× at {} ({})",
            own.comparison.ratio,
            size(size_bytes),
            own.cell.place.driver
        ))
    };
    let said: Vec<_> = [64, 1024].into_iter().filter_map(said).collect();
    if said.is_empty() {
        return None;
    }
    let text = format!(
        "The kernel asked asynchronously, over user space's own crypto in the same guest: {}{}. The article found 0.33× at 64 B (0.10× when asked serially) and 1.0× at 1 KiB, with an accelerator behind both sides; here user space has the guest's CPU alone, and a virtio-crypto device the host's.",
        said.join(", "),
        context.guest.mark()
    );
    Some(finding(Weight::Note, text, ""))
}

fn emulated(context: &Context<'_>) -> Option<Finding> {
    let text = "The guest was emulated (QEMU without KVM): the ratios hold within this guest; the figures hold for no other machine.";
    let remedy = "Run where a guest boots with KVM for figures.";
    context
        .guest
        .is_emulated()
        .then(|| finding(Weight::Note, text.to_owned(), remedy))
}

/// What could not be measured, each reason once.
fn missing(context: &Context<'_>) -> Vec<Finding> {
    let mut told: Vec<(&Failure, Vec<String>)> = Vec::new();
    for cell in context.cells {
        for (method, series) in &cell.arms {
            let Some(failure) = &series.failure else {
                continue;
            };
            let place = what(cell, *method);
            match told.iter_mut().find(|(own, _)| *own == failure) {
                Some((_, places)) if places.contains(&place) => {}
                Some((_, places)) => places.push(place),
                None => told.push((failure, vec![place])),
            }
        }
    }
    let say = |(failure, places): (&Failure, Vec<String>)| {
        let text = format!("Not measured: {}. {}.", places.join("; "), failure.reason);
        finding(Weight::Warning, text, &failure.remedy[..])
    };
    told.into_iter().map(say).collect()
}

fn what(cell: &Cell, method: Method) -> String {
    format!("{method} of {}", cell.place.driver)
}

fn believed(context: &Context<'_>, ratio: &Ratio<'_>) -> bool {
    context.is_valid(ratio.cell, ratio.method) && context.is_valid(ratio.cell, ratio.reference)
}

/// The least and the greatest ratio.
fn ends(comparisons: &[&Comparison]) -> Option<(f64, f64)> {
    let ratios = || comparisons.iter().map(|comparison| comparison.ratio);
    Some((ratios().reduce(f64::min)?, ratios().reduce(f64::max)?))
}
