//! Every case as a point, and every tenant of it.

use std::collections::BTreeMap;

use trial::{Dimension, Direction, Metric, Point};

use crate::vcm::tenants::case::{Case, Role};
use crate::vcm::tenants::context::{Context, Fairness};
use crate::vcm::tenants::trials::Measured;
use kit::load::cell::Series;
use kit::load::rig::Window;
use kit::metric::metric;

pub(super) fn points(context: &Context<'_>) -> Vec<Point> {
    let measured = context
        .measured
        .iter()
        .filter(|one| !one.series.trials.is_empty());
    measured
        .flat_map(|Measured { case, series }| {
            let roles = context.roles(*case);
            let fairness = case
                .is_shared_out()
                .then(|| context.fairness(*case))
                .flatten();
            let tenants = roles.iter().enumerate().map(|(place, role)| {
                let share = fairness
                    .as_ref()
                    .map_or_else(Vec::new, |fairness| fairness.shares[place].clone());
                point(
                    context,
                    *case,
                    series,
                    (Some(*role), tenant(series, role, share)),
                )
            });
            let tenants: Vec<_> = tenants.collect();
            let whole = whole(series, &roles, fairness.as_ref());
            std::iter::once(point(context, *case, series, (None, whole))).chain(tenants)
        })
        .collect()
}

fn point(
    context: &Context<'_>,
    case: Case,
    series: &Series,
    (role, metrics): (Option<Role>, Vec<Metric>),
) -> Point {
    let mut dimensions = BTreeMap::from([("case".to_owned(), Dimension::from(&*case.name()))]);
    let tenant = match role {
        Some(role) if role.seat < context.seats.polite => format!("{}", role.seat + 1),
        Some(_) => "hostile".to_owned(),
        None => "all".to_owned(),
    };
    dimensions.insert("tenant".to_owned(), Dimension::from(&*tenant));
    if let Some(role) = role {
        dimensions.insert("weight".to_owned(), u64::from(role.weight).into());
    }
    Point {
        dimensions,
        metrics,
        verdict: context.verdict(case, series),
        command: context.command.to_owned(),
        histogram: String::new(),
    }
}

fn whole(series: &Series, roles: &[Role], fairness: Option<&Fairness>) -> Vec<Metric> {
    let sum = |window: &Window| roles.iter().map(|role| window.mb_per_s(role.seat)).sum();
    let busy = |window: &Window| window.worker_cpus() * 100.0;
    let clients = |window: &Window| {
        let all = roles.iter().map(|role| window.client_cpus(role.seat));
        all.sum::<f64>() * 100.0
    };
    let percent = "% of a core";
    let mut metrics = vec![
        metric(
            "speed_mb_per_s",
            "MB/s",
            Direction::Higher,
            series.values(sum),
        ),
        metric(
            "worker_cpu_percent",
            percent,
            Direction::Neutral,
            series.values(busy),
        ),
        metric(
            "client_cpu_percent",
            percent,
            Direction::Lower,
            series.values(clients),
        ),
    ];
    if let Some(Fairness { jain, least, .. }) = fairness {
        metrics.extend([
            metric("jain_index", "", Direction::Higher, jain.clone()),
            metric("share_kept_least", "", Direction::Higher, least.clone()),
        ]);
    }
    metrics.into_iter().flatten().collect()
}

fn tenant(series: &Series, role: &Role, share: Vec<f64>) -> Vec<Metric> {
    let seat = role.seat;
    let values = |value: &dyn Fn(&Window) -> f64| series.values(value);
    let metrics = [
        metric(
            "speed_mb_per_s",
            "MB/s",
            Direction::Higher,
            values(&|window| window.mb_per_s(seat)),
        ),
        metric(
            "requests_per_s",
            "requests/s",
            Direction::Higher,
            values(&|window| window.requests_per_s(seat)),
        ),
        metric(
            "notifications_per_s",
            "1/s",
            Direction::Lower,
            values(&|window| window.notifications_per_s(seat)),
        ),
        metric("share_of_entitlement", "", Direction::Higher, share),
    ];
    metrics.into_iter().flatten().collect()
}
