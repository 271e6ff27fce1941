//! What a core can do, from the prices of a notification, a request, a byte.
//!
//! The equation is the VCM paper's (1), generalised: the paper has no `c`, no
//! depth, and counts `t` per group of bytes (see [`paper`](crate::paper)).

mod joint;

pub use joint::{JointError, Tenant, joint};

const NS_PER_S: f64 = 1e9;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    notification_ns: f64,
    request_ns: f64,
    byte_ns: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CostsError {
    #[error("a {what} cannot cost {value} ns; give a finite price of at least 0")]
    Price { what: &'static str, value: f64 },
    #[error("nothing costs anything, so that every rate would be infinite; give one price above 0")]
    Free,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    block_bytes: f64,
    depth: f64,
    cap_per_s: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum LoadError {
    #[error("a block of {bytes} bytes is not valid; give a finite size above 0")]
    Block { bytes: f64 },
    #[error("{depth} requests in flight are not valid; give a finite depth of at least 1")]
    Depth { depth: f64 },
    #[error("a cap of {per_s} notifications/s is not valid; give a finite rate above 0, or no cap")]
    Cap { per_s: f64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    Core,
    Depth,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// `N`.
    pub requests_per_s: f64,
    /// `I`.
    pub notifications_per_s: f64,
    /// `V`.
    pub bytes_per_s: f64,
    pub bound: Bound,
}

impl Costs {
    /// Prices of one notification (`T`), one request (`c`), one byte (`t`), ns.
    pub fn new(notification_ns: f64, request_ns: f64, byte_ns: f64) -> Result<Self, CostsError> {
        let all = [
            ("notification", notification_ns),
            ("request", request_ns),
            ("byte", byte_ns),
        ];
        for (what, value) in all {
            if !value.is_finite() || value < 0.0 {
                return Err(CostsError::Price { what, value });
            }
        }
        if all.iter().all(|(_, value)| *value == 0.0) {
            return Err(CostsError::Free);
        }
        Ok(Self {
            notification_ns,
            request_ns,
            byte_ns,
        })
    }

    /// `T`: one notification, ns.
    pub fn notification_ns(&self) -> f64 {
        self.notification_ns
    }

    /// `c`: one request, whatever its size, ns.
    pub fn request_ns(&self) -> f64 {
        self.request_ns
    }

    /// `t`: one byte, ns.
    pub fn byte_ns(&self) -> f64 {
        self.byte_ns
    }

    /// `c + t·B`: one request of `block_bytes` without its notification, ns.
    pub fn service_ns(&self, block_bytes: f64) -> f64 {
        self.request_ns + self.byte_ns * block_bytes
    }

    /// `T·I + c·N + t·V`: the share of the core that these rates take; above
    /// 1 they are out of reach.
    pub fn busy_share(
        &self,
        notifications_per_s: f64,
        requests_per_s: f64,
        bytes_per_s: f64,
    ) -> f64 {
        (self.notification_ns * notifications_per_s
            + self.request_ns * requests_per_s
            + self.byte_ns * bytes_per_s)
            / NS_PER_S
    }

    /// The core's rates for this load: the client keeps `depth` requests in flight
    /// and waits for notifications, one per completion, or as many as the cap lets
    /// through.
    ///
    /// The equation holds every completion to the cap, as the paper's device
    /// does. Lockgate's gate lets those pass that nothing can join, so that at
    /// depth 1 its caps never bind.
    pub fn predict(&self, load: &Load) -> Prediction {
        let uncapped = NS_PER_S / (self.service_ns(load.block_bytes) + self.notification_ns);
        match load.cap_per_s {
            Some(cap) if cap < uncapped => self.predict_capped(load, cap),
            _ => load.prediction(uncapped, uncapped, Bound::Core),
        }
    }

    /// With a cap that binds: below the rate without one, so that `T·I < 1`.
    fn predict_capped(&self, load: &Load, cap: f64) -> Prediction {
        let left_ns = NS_PER_S - self.notification_ns * cap;
        let by_core = left_ns / self.service_ns(load.block_bytes);
        let by_depth = load.depth * cap;
        if by_depth < by_core {
            load.prediction(by_depth, cap, Bound::Depth)
        } else {
            load.prediction(by_core, cap, Bound::Core)
        }
    }

    /// `I* = 1/(D·(c + t·B) + T)`: the cap that gives the highest speed,
    /// notifications/s. Below it the load is depth-bound, so that a lower cap costs
    /// speed in proportion; above it notifications cost more than they bring. At
    /// depth 1 it is the rate without a cap. The load's own cap is ignored.
    pub fn best_cap_per_s(&self, load: &Load) -> f64 {
        NS_PER_S / (load.depth * self.service_ns(load.block_bytes) + self.notification_ns)
    }

    /// The core's rates under the best cap: `1/(c + t·B + T/D)` requests/s, each
    /// notification shared by all requests in flight.
    pub fn best(&self, load: &Load) -> Prediction {
        let cap = self.best_cap_per_s(load);
        load.prediction(load.depth * cap, cap, Bound::Core)
    }

    /// Speed under the best cap over speed without a cap; 1 when notifications
    /// cost nothing, or at depth 1.
    pub fn gain(&self, load: &Load) -> f64 {
        self.best(load).requests_per_s / self.predict(&load.uncapped()).requests_per_s
    }
}

impl Load {
    /// Requests of `block_bytes` each, `depth` of them in flight (a mean need
    /// not be whole), no cap.
    ///
    /// # Errors
    /// [`LoadError::Block`], [`LoadError::Depth`].
    pub fn new(block_bytes: f64, depth: f64) -> Result<Self, LoadError> {
        if !block_bytes.is_finite() || block_bytes <= 0.0 {
            return Err(LoadError::Block { bytes: block_bytes });
        }
        if !depth.is_finite() || depth < 1.0 {
            return Err(LoadError::Depth { depth });
        }
        Ok(Self {
            block_bytes,
            depth,
            cap_per_s: None,
        })
    }

    /// The same with a maximum of `per_s` notifications a second.
    ///
    /// # Errors
    /// [`LoadError::Cap`].
    pub fn capped(self, per_s: f64) -> Result<Self, LoadError> {
        if !per_s.is_finite() || per_s <= 0.0 {
            return Err(LoadError::Cap { per_s });
        }
        Ok(Self {
            cap_per_s: Some(per_s),
            ..self
        })
    }

    #[must_use]
    pub fn uncapped(self) -> Self {
        Self {
            cap_per_s: None,
            ..self
        }
    }

    pub fn block_bytes(&self) -> f64 {
        self.block_bytes
    }

    pub fn depth(&self) -> f64 {
        self.depth
    }

    /// Maximum of notifications/s, if there is a cap.
    pub fn cap_per_s(&self) -> Option<f64> {
        self.cap_per_s
    }

    fn prediction(
        &self,
        requests_per_s: f64,
        notifications_per_s: f64,
        bound: Bound,
    ) -> Prediction {
        Prediction {
            requests_per_s,
            notifications_per_s,
            bytes_per_s: requests_per_s * self.block_bytes,
            bound,
        }
    }
}

impl Prediction {
    /// Speed, MB/s (1 MB = 10^6 bytes).
    pub fn speed_mb_per_s(&self) -> f64 {
        self.bytes_per_s / 1e6
    }

    pub fn completions_per_notification(&self) -> f64 {
        self.requests_per_s / self.notifications_per_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close;

    fn costs() -> Costs {
        Costs::new(600.0, 200.0, 0.1).unwrap()
    }

    #[test]
    fn a_load_without_a_cap_pays_for_every_notification() {
        let load = Load::new(2000.0, 16.0).unwrap();
        let found = costs().predict(&load);
        // 600 + 200 + 0.1 · 2000 = 1000 ns a request.
        close(found.requests_per_s, 1e6);
        close(found.speed_mb_per_s(), 2000.0);
        close(found.completions_per_notification(), 1.0);
        assert_eq!(found.bound, Bound::Core);
    }

    #[test]
    fn the_best_cap_shares_a_notification_among_all_in_flight() {
        let load = Load::new(2000.0, 16.0).unwrap();
        // 1 / (16 · 400 ns + 600 ns)
        close(costs().best_cap_per_s(&load), 1e9 / 7000.0);
        let best = costs().best(&load);
        close(best.completions_per_notification(), 16.0);
        // 1 / (400 ns + 600 ns / 16)
        close(best.requests_per_s, 1e9 / 437.5);
        close(costs().gain(&load), 1000.0 / 437.5);
        close(
            costs().busy_share(
                best.notifications_per_s,
                best.requests_per_s,
                best.bytes_per_s,
            ),
            1.0,
        );
    }

    #[test]
    fn a_cap_that_ignores_the_depth_starves() {
        // What was measured here once: 64 B, depth 8, cap 2000/s.
        let load = Load::new(64.0, 8.0).unwrap().capped(2000.0).unwrap();
        let found = costs().predict(&load);
        assert_eq!(found.bound, Bound::Depth);
        close(found.requests_per_s, 16_000.0);
        assert!(found.speed_mb_per_s() < 1.1);
    }

    #[test]
    fn at_depth_one_no_cap_gains() {
        let load = Load::new(4096.0, 1.0).unwrap();
        close(costs().gain(&load), 1.0);
        close(
            costs().best_cap_per_s(&load),
            costs().predict(&load).requests_per_s,
        );
    }

    #[test]
    fn requests_that_cost_nothing_have_finite_rates() {
        let free = Costs::new(500.0, 0.0, 0.0).unwrap();
        let load = Load::new(64.0, 4.0).unwrap();
        close(free.predict(&load).requests_per_s, 2e6);
        let capped = free.predict(&load.capped(1e6).unwrap());
        close(capped.requests_per_s, 4e6);
        close(free.best(&load).requests_per_s, 8e6);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let error = Costs::new(-1.0, 0.0, 0.0).unwrap_err();
        assert!(error.to_string().contains("notification cannot cost -1 ns"));
        assert_eq!(Costs::new(0.0, 0.0, 0.0), Err(CostsError::Free));
        assert!(Costs::new(0.0, f64::NAN, 0.0).is_err());
        assert!(Load::new(0.0, 1.0).is_err() && Load::new(1.0, 0.9).is_err());
        assert!(Load::new(1.0, f64::INFINITY).is_err());
        let load = Load::new(1.0, 1.0).unwrap();
        assert!(load.capped(0.0).is_err() && load.capped(f64::NAN).is_err());
        assert_eq!(load.capped(5.0).unwrap().uncapped(), load);
    }
}
