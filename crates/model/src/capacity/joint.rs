//! Several tenants on one core.

use super::{Bound, Costs, Load, NS_PER_S, Prediction};

/// One tenant: the prices of its requests (of its algorithm), its load, and its
/// weight in *bytes*. The load's cap is ignored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tenant {
    pub costs: Costs,
    pub load: Load,
    /// Its part of the bytes, relative to the others': above 0.
    pub weight: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum JointError {
    /// There are none.
    #[error("no tenants share the core; give at least one")]
    Empty,
    #[error("tenant {index} (from 0) has a weight of {weight}; give a finite one above 0")]
    Weight { index: usize, weight: f64 },
}

/// The maximum that all tenants can have together when their speeds stand as their
/// weights. Each is under the cap at which all its requests in flight share a
/// notification, `I = N/D`, since no other cap reaches its `N` with fewer. A tenant's
/// [`notifications_per_s`](Prediction::notifications_per_s) is that cap. For one
/// tenant alone it is [`Costs::best`].
pub fn joint(tenants: &[Tenant]) -> Result<Vec<Prediction>, JointError> {
    if tenants.is_empty() {
        return Err(JointError::Empty);
    }
    for (index, Tenant { weight, .. }) in tenants.iter().enumerate() {
        if !weight.is_finite() || *weight <= 0.0 {
            let weight = *weight;
            return Err(JointError::Weight { index, weight });
        }
    }
    // Against the largest, so that no sum of weights overflows.
    let largest = tenants
        .iter()
        .map(|tenant| tenant.weight)
        .fold(0.0, f64::max);
    let share = |tenant: &Tenant| tenant.weight / largest;
    let turn_ns: f64 = tenants
        .iter()
        .map(|tenant| share(tenant) * tenant.byte_ns())
        .sum();
    let predictions = tenants.iter().map(|tenant| {
        let bytes_per_s = NS_PER_S / turn_ns * share(tenant);
        let requests_per_s = bytes_per_s / tenant.load.block_bytes;
        let cap = requests_per_s / tenant.load.depth;
        tenant.load.prediction(requests_per_s, cap, Bound::Core)
    });
    Ok(predictions.collect())
}

impl Tenant {
    /// One byte with its parts of a request and of a shared notification, ns.
    fn byte_ns(&self) -> f64 {
        let Load {
            block_bytes, depth, ..
        } = self.load;
        let request_ns = self.costs.service_ns(block_bytes) + self.costs.notification_ns() / depth;
        request_ns / block_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(block_bytes: f64, depth: f64, weight: f64) -> Tenant {
        Tenant {
            costs: Costs::new(600.0, 200.0, 0.1).unwrap(),
            load: Load::new(block_bytes, depth).unwrap(),
            weight,
        }
    }

    #[test]
    fn one_tenant_has_the_best_of_its_own() {
        let alone = tenant(2000.0, 16.0, 3.0);
        let found = joint(&[alone]).unwrap()[0];
        let best = alone.costs.best(&alone.load);
        assert!((found.requests_per_s / best.requests_per_s - 1.0).abs() < 1e-12);
        assert!((found.notifications_per_s / best.notifications_per_s - 1.0).abs() < 1e-12);
    }

    #[test]
    fn speeds_stand_as_weights_and_the_core_is_full() {
        let all = [
            tenant(512.0, 64.0, 1.0),
            tenant(16_384.0, 4.0, 2.0),
            tenant(65_536.0, 1.0, 5.0),
        ];
        let found = joint(&all).unwrap();
        let per_weight = |place: usize| found[place].bytes_per_s / all[place].weight;
        assert!((per_weight(1) / per_weight(0) - 1.0).abs() < 1e-12);
        assert!((per_weight(2) / per_weight(0) - 1.0).abs() < 1e-12);
        let busy = all.iter().zip(&found).map(|(tenant, found)| {
            tenant.costs.busy_share(
                found.notifications_per_s,
                found.requests_per_s,
                found.bytes_per_s,
            )
        });
        assert!((busy.sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((found[0].completions_per_notification() - 64.0).abs() < 1e-9);
    }

    #[test]
    fn what_cannot_share_is_refused() {
        assert_eq!(joint(&[]), Err(JointError::Empty));
        let error = joint(&[tenant(1.0, 1.0, 1.0), tenant(1.0, 1.0, 0.0)]).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("tenant 1 (from 0) has a weight of 0")
        );
    }
}
