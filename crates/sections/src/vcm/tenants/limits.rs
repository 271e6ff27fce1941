//! Whether a cap and a quota were kept, counted.

use crate::vcm::tenants::case::Case;
use crate::vcm::tenants::context::Context;
use kit::load::rig::Window;

/// A quota may be used up at once for so long: the engine's default.
const BURST_S: f64 = 0.01;
/// A window begins and ends between two counts.
const ENDS: f64 = 2.0;

/// A limit, compared with what was counted.
pub(super) struct Limit {
    pub(super) what: &'static str,
    pub(super) per_s: f64,
    /// The highest rate of any trial.
    pub(super) highest_per_s: f64,
    /// What was counted in all trials.
    pub(super) counted: u64,
    /// Trials in which more was counted than the limit allows.
    pub(super) broken: usize,
    pub(super) trials: usize,
}

pub(super) fn limits(context: &Context<'_>) -> Vec<Limit> {
    let config = context.config;
    let cap = config.cap_per_s.map(|cap| {
        let count = |window: &Window| window.tenants[0].counters.notifications;
        limit(
            context,
            Case::Cap,
            ("notifications", f64::from(cap), 0.0),
            count,
        )
    });
    let quota = config.quota_per_s.map(|per_s| {
        let count = |window: &Window| window.tenants[0].counters.requests;
        let what = ("requests", per_s as f64, BURST_S);
        limit(context, Case::Quota, what, count)
    });
    [cap, quota].into_iter().flatten().flatten().collect()
}

fn limit(
    context: &Context<'_>,
    case: Case,
    (what, per_s, burst_s): (&'static str, f64, f64),
    count: impl Fn(&Window) -> u64,
) -> Option<Limit> {
    let series = context.series(case)?;
    let windows = || series.trials.values().map(|trial| &trial.window);
    let is_broken =
        |window: &&Window| count(window) as f64 > per_s * (window.seconds + burst_s) + ENDS;
    Some(Limit {
        what,
        per_s,
        highest_per_s: windows()
            .map(|window| count(window) as f64 / window.seconds)
            .fold(0.0, f64::max),
        counted: windows().map(&count).sum(),
        broken: windows().filter(is_broken).count(),
        trials: series.trials.len(),
    })
}
