//! Properties of the capacity equation, its fit and the fairness figures over
//! made-up hosts and loads.

use lockgate_model as model;
use model::capacity::{Bound, Costs, Load, Tenant, joint};
use model::fairness;
use model::fit::{FitError, Observation, Unknown, fit};
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop, prop_assert, prop_assume, prop_oneof, proptest,
};
use trial::stats::Random;

/// Cases a property: 64, or 2,000 with `LOCKGATE_THOROUGH=1`.
fn cases() -> ProptestConfig {
    ProptestConfig {
        cases: testing::cases(64, 2_000),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Prices as hosts have them, over two orders of magnitude.
fn costs() -> impl Strategy<Value = Costs> {
    (50.0..20_000.0, 20.0..5_000.0, 0.01..5.0).prop_map(|(notification, request, byte)| {
        Costs::new(notification, request, byte).expect("all are above zero")
    })
}

fn load() -> impl Strategy<Value = Load> {
    (4_u32..17, 1.0..512.0)
        .prop_map(|(power, depth)| Load::new(f64::from(1_u32 << power), depth).expect("in range"))
}

fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
}

/// What a core with these prices shows at a full load with `together`
/// completions a notification; rates off by `sigma` (log-normal).
fn observed(
    costs: &Costs,
    block: f64,
    together: f64,
    sigma: f64,
    random: &mut Random,
) -> Observation {
    let requests = 1e9 / (costs.service_ns(block) + costs.notification_ns() / together);
    let requests = requests * (sigma * normal(random)).exp();
    Observation::new(requests / together, requests, requests * block, 1.0)
}

fn grid(costs: &Costs, sigma: f64, random: &mut Random) -> Vec<Observation> {
    let mut points = Vec::new();
    for block in [512.0, 2048.0, 8192.0, 32768.0] {
        for together in [1.0, 4.0, 16.0] {
            points.push(observed(costs, block, together, sigma, random));
        }
    }
    points
}

fn truth(costs: &Costs, unknown: Unknown) -> f64 {
    match unknown {
        Unknown::Notification => costs.notification_ns(),
        Unknown::Request => costs.request_ns(),
        Unknown::Byte => costs.byte_ns(),
    }
}

proptest! {
    #![proptest_config(cases())]

    /// No cap of a fine grid beats the best cap, nor does having none.
    #[test]
    fn the_best_cap_is_the_best(costs in costs(), load in load()) {
        let best = costs.best(&load);
        let optimum = costs.best_cap_per_s(&load);
        prop_assert!(costs.predict(&load).requests_per_s <= best.requests_per_s * (1.0 + 1e-9));
        for step in -60..=60 {
            let cap = optimum * 1.1_f64.powi(step);
            let found = costs.predict(&load.capped(cap).expect("above zero"));
            prop_assert!(
                found.requests_per_s <= best.requests_per_s * (1.0 + 1e-9),
                "cap {} gives {:?}, the best {:?}", cap, found, best
            );
        }
    }

    /// Several on one core: no tenant's cap can be moved either way without
    /// some speed having to fall.
    #[test]
    fn the_joint_caps_are_the_best(
        all in prop::collection::vec((costs(), load(), 0.1..10.0_f64), 1..17),
        moved in any::<prop::sample::Index>(),
        factor in prop_oneof![0.3..0.99_f64, 1.01..3.0_f64],
    ) {
        let tenants: Vec<_> = all
            .into_iter()
            .map(|(costs, load, weight)| Tenant { costs, load, weight })
            .collect();
        let best = joint(&tenants).expect("weights are above zero");
        let busy = |caps: &[f64]| -> f64 {
            tenants.iter().zip(&best).zip(caps).map(|((tenant, best), cap)| {
                tenant.costs.busy_share(*cap, best.requests_per_s, best.bytes_per_s)
            }).sum()
        };
        let mut caps: Vec<_> = best.iter().map(|best| best.notifications_per_s).collect();
        prop_assert!((busy(&caps) - 1.0).abs() < 1e-9);
        let place = moved.index(tenants.len());
        caps[place] *= factor;
        let starves = tenants[place].load.depth() * caps[place] < best[place].requests_per_s;
        prop_assert!(starves || busy(&caps) > 1.0 + 1e-12);
    }

    /// Below the best cap the depth binds, above it the core; at it both.
    #[test]
    fn the_best_cap_is_where_the_bounds_meet(costs in costs(), load in load()) {
        let optimum = costs.best_cap_per_s(&load);
        let at = |factor: f64| costs.predict(&load.capped(optimum * factor).expect("above zero"));
        prop_assert!(at(0.9).bound == Bound::Depth);
        prop_assert!(at(1.1).bound == Bound::Core);
        let met = at(1.0).requests_per_s / costs.best(&load).requests_per_s;
        prop_assert!((met - 1.0).abs() < 1e-9);
    }

    #[test]
    fn predictions_keep_the_inequalities(
        costs in costs(), load in load(), cap in prop::option::of(1.0..1e7)
    ) {
        let load = match cap {
            Some(cap) => load.capped(cap).expect("above zero"),
            None => load,
        };
        let found = costs.predict(&load);
        let busy = costs.busy_share(
            found.notifications_per_s, found.requests_per_s, found.bytes_per_s,
        );
        prop_assert!(busy <= 1.0 + 1e-9);
        prop_assert!(found.completions_per_notification() <= load.depth() * (1.0 + 1e-9));
        match found.bound {
            Bound::Core => prop_assert!(busy >= 1.0 - 1e-9),
            Bound::Depth => prop_assert!(
                found.completions_per_notification() >= load.depth() * (1.0 - 1e-9)
            ),
        }
        if let Some(cap) = load.cap_per_s() {
            prop_assert!(found.notifications_per_s <= cap * (1.0 + 1e-9));
        }
    }

    /// Prices that matter are found to within their interval's order, however
    /// the points scatter.
    #[test]
    fn planted_prices_are_found_under_noise(
        costs in costs(), sigma in 0.0..0.03, seed in any::<u64>()
    ) {
        let mut random = Random::new(seed);
        let points = grid(&costs, sigma, &mut random);
        let found = fit(&points, seed).expect("blocks and caps vary");
        for unknown in Unknown::ALL {
            let estimate = found.estimate(unknown);
            let truth = truth(&costs, unknown);
            prop_assert!(estimate.low_ns <= estimate.ns && estimate.ns <= estimate.high_ns);
            prop_assert!(estimate.low_ns >= 0.0);
            // Five half-widths: far outside what chance does in these cases.
            let reach = (estimate.high_ns - estimate.low_ns).max(1e-9 * truth);
            prop_assert!(
                (estimate.ns - truth).abs() <= 2.5 * reach,
                "{unknown}: {truth} planted, {estimate:?}"
            );
        }
        prop_assert!(found.residual_share() <= 4.0 * sigma + 1e-9);
    }

    #[test]
    fn weights_are_relative(costs in costs(), factor in 1e-6..1e6, seed in any::<u64>()) {
        let points = grid(&costs, 0.01, &mut Random::new(seed));
        let heavier: Vec<_> = points
            .iter()
            .map(|point| Observation { weight: factor, ..*point })
            .collect();
        let (plain, weighted) = (fit(&points, 1).expect("varied"), fit(&heavier, 1).expect("varied"));
        for unknown in Unknown::ALL {
            let (plain, weighted) = (plain.estimate(unknown), weighted.estimate(unknown));
            prop_assert!((plain.ns - weighted.ns).abs() <= 1e-6 * plain.ns.max(1e-6));
            prop_assert!((plain.high_ns - weighted.high_ns).abs() <= 1e-6 * plain.high_ns);
        }
    }

    /// Completions a notification that (nearly) never change, or one block
    /// size: refused, and the right ones are named.
    #[test]
    fn what_cannot_be_told_apart_is_refused(
        costs in costs(),
        together in 1.0..64.0,
        block in 64.0..65536.0,
        sigma in 0.0..0.01,
        seed in any::<u64>(),
    ) {
        let mut random = Random::new(seed);
        let same_share: Vec<_> = [256.0, 1024.0, 4096.0, 16384.0, 65536.0]
            .map(|block| observed(&costs, block, together, sigma, &mut random))
            .into();
        let Err(FitError::Collinear { unknowns, .. }) = fit(&same_share, seed) else {
            panic!("fitted {together} completions a notification throughout");
        };
        prop_assert!(
            unknowns.contains(&Unknown::Notification) && unknowns.contains(&Unknown::Request)
        );
        let same_block: Vec<_> = [1.0, 2.0, 4.0, 8.0, 16.0]
            .map(|together| observed(&costs, block, together, sigma, &mut random))
            .into();
        let Err(FitError::Collinear { unknowns, .. }) = fit(&same_block, seed) else {
            panic!("fitted one block size");
        };
        prop_assert!(unknowns.contains(&Unknown::Request) && unknowns.contains(&Unknown::Byte));
    }

    /// Never a panic, never a price below zero, whatever is observed.
    #[test]
    fn any_observations_are_fitted_or_refused(
        rates in prop::collection::vec(
            (0.0..1e9_f64, 0.0..1e9_f64, 0.0..1e12_f64, 0.0..1.06_f64, 0.0..1e3_f64), 0..12
        ),
        seed in any::<u64>(),
    ) {
        let points: Vec<_> = rates
            .into_iter()
            .map(|(notifications, requests, bytes, busy, weight)| Observation {
                weight,
                ..Observation::new(notifications, requests, bytes, busy)
            })
            .collect();
        if let Ok(found) = fit(&points, seed) {
            for unknown in Unknown::ALL {
                let estimate = found.estimate(unknown);
                prop_assert!(estimate.ns >= 0.0 && estimate.high_ns.is_finite());
            }
        }
    }

    /// Jain's index is within [1/n, 1], and does not depend on the unit.
    #[test]
    fn jain_is_within_its_bounds(
        rates in prop::collection::vec(0.0..1e12_f64, 1..64), unit in 1e-9..1e9
    ) {
        prop_assume!(rates.iter().any(|rate| *rate > 0.0));
        let index = fairness::jain_index(&rates).expect("rates");
        prop_assert!(index >= 1.0 / rates.len() as f64 && index <= 1.0);
        let scaled: Vec<f64> = rates.iter().map(|rate| rate * unit).collect();
        let other = fairness::jain_index(&scaled).expect("rates");
        prop_assert!((index - other).abs() < 1e-9);
    }

    /// Entitlements never exceed demand or capacity, use all of the lesser of the
    /// two, and leave no tenant below its weight's share for another's sake.
    #[test]
    fn entitlements_are_max_min(
        (demands, weights) in (1_usize..20).prop_flat_map(|tenants| (
            prop::collection::vec(
                prop::strategy::Union::new([(0.0..100.0).boxed(), Just(f64::INFINITY).boxed()]),
                tenants,
            ),
            prop::collection::vec(0.1..10.0, tenants),
        )),
        capacity in 0.0..500.0,
    ) {
        let entitled = fairness::entitlements(capacity, &demands, &weights).expect("in range");
        let total: f64 = entitled.iter().sum();
        let wanted: f64 = demands.iter().sum();
        prop_assert!((total - capacity.min(wanted)).abs() < 1e-6);
        let weight: f64 = weights.iter().sum();
        for ((entitled, demand), own) in entitled.iter().zip(&demands).zip(&weights) {
            let fair = (capacity * own / weight).min(*demand);
            prop_assert!(*entitled <= *demand && *entitled >= fair - 1e-6);
        }
        if total > 0.0 {
            let kept = fairness::share_kept(&entitled, &entitled).expect("some have something");
            prop_assert!((kept - 1.0).abs() < 1e-12);
        }
    }
}

fn coverage(points: usize, fits: u64) -> [f64; 3] {
    let costs = Costs::new(650.0, 180.0, 0.09).expect("above zero");
    let mut random = Random::new(20_261_122);
    let mut held = [0.0; 3];
    for seed in 0..fits {
        let mut all = grid(&costs, 0.02, &mut random);
        random.shuffle(&mut all);
        let Ok(found) = fit(&all[..points], seed) else {
            panic!("{points} points of a grid cannot be told apart");
        };
        for (place, unknown) in Unknown::ALL.into_iter().enumerate() {
            let estimate = found.estimate(unknown);
            let truth = truth(&costs, unknown);
            let inside = estimate.low_ns <= truth && truth <= estimate.high_ns;
            held[place] += f64::from(u8::from(inside)) / fits as f64;
        }
    }
    held
}

#[test]
fn intervals_hold_the_planted_price_as_often_as_they_say() {
    for points in [8, 12] {
        let held = coverage(points, 300);
        assert!(
            held.iter().all(|share| *share >= 0.93),
            "{points} points: {held:?}"
        );
    }
}
