//! Each home against the native router.

use trial::stats::{Arms, compare};
use trial::{Comparison, Direction};

use crate::router::series::ratio;
use crate::router::throughput::case::Case;
use crate::router::throughput::context::Context;
use crate::router::trial::{Trial, size_name};
use crate::speed::comparisons::without_evidence;

pub(super) fn comparisons(context: &Context<'_>) -> Vec<Comparison> {
    let pairs = context.measured().filter_map(|case| {
        let native = context.native(case.router);
        (native != case.router).then_some((case, context.case(native, case.size)?))
    });
    let both = pairs.flat_map(|pair| [at_overload(context, pair), without_loss(context, pair)]);
    both.flatten().collect()
}

fn arms(context: &Context<'_>, (case, native): (&Case, &Case), metric: &str) -> Arms {
    let way = case.router.way.what();
    Arms {
        subject: format!("{way}, {}", size_name(case.size)),
        arm: case.router.place.what(),
        reference: native.router.place.what(),
        metric: metric.to_owned(),
        command: context.conditions.command.to_owned(),
    }
}

pub(super) const OVERLOAD: &str = "received_pps";

fn at_overload(context: &Context<'_>, pair: (&Case, &Case)) -> Option<Comparison> {
    let rate = |trial: &Trial| Some(trial.received_pps());
    let series = (&pair.0.overload, &pair.1.overload);
    ratio(
        series,
        arms(context, pair, OVERLOAD),
        rate,
        context.config().seed,
    )
}

fn without_loss(context: &Context<'_>, pair: (&Case, &Case)) -> Option<Comparison> {
    let (own, native) = (&pair.0.no_drop, &pair.1.no_drop);
    let arms = arms(context, pair, "throughput_pps");
    let seed = context.config().seed;
    let ratio = compare(arms, Direction::Higher, own.pairs(native), seed).ok()?;
    let is_valid = own.verdict().is_valid() && native.verdict().is_valid();
    Some(if is_valid {
        ratio
    } else {
        without_evidence(ratio)
    })
}
