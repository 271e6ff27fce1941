//! Each home against a native router with the same path.

use trial::stats::Arms;

use crate::router::throughput::case::Case;
use crate::router::throughput::context::Context;
use kit::ratio::Ratio;
use kit::routers::trial::{Trial, size_name};

pub(super) fn ratios(context: &Context<'_>) -> Vec<Ratio> {
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

fn at_overload(context: &Context<'_>, pair: (&Case, &Case)) -> Option<Ratio> {
    let rate = |trial: &Trial| Some(trial.received_pps());
    let series = (&pair.0.overload, &pair.1.overload);
    let arms = arms(context, pair, OVERLOAD);
    Ratio::of(series, arms, rate)
}

fn without_loss(context: &Context<'_>, pair: (&Case, &Case)) -> Option<Ratio> {
    let (own, native) = (&pair.0.no_drop, &pair.1.no_drop);
    let arms = arms(context, pair, "throughput_pps");
    let is_believed = own.verdict().is_valid() && native.verdict().is_valid();
    Ratio::of_pairs(arms, own.pairs(native), is_believed)
}
