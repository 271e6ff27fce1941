//! What an operator may tell a controller.

/// Shortest and longest time between two observations, ns.
const INTERVAL_NS: (u64, u64) = (1_000_000, 60_000_000_000);
/// Bounds of the longest time a notification may be held back, ns.
const HOLD_NS: (u64, u64) = (1_000, 100_000_000);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    interval_ns: u64,
    pub(super) initial_per_s: Option<u32>,
    pub(super) static_per_s: u32,
    pub(super) optimal_per_s: u32,
    pub(super) hold_ns_max: u64,
    cpu_price: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ParameterError {
    #[error("cannot observe every {interval_ns} ns; give {} to {}", INTERVAL_NS.0, INTERVAL_NS.1)]
    Interval { interval_ns: u64 },
    #[error(
        "{what} of 0 notifications/s would strand completions; give at least 1, or leave it out"
    )]
    Frequency { what: &'static str },
    #[error("cannot hold notifications for up to {hold_ns_max} ns; give {} to {}", HOLD_NS.0, HOLD_NS.1)]
    Hold { hold_ns_max: u64 },
    #[error("CPU time cannot cost {price}; give 0 (it is free) to 1 (as dear as the worker's)")]
    Price { price: f64 },
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            interval_ns: 1_000_000_000,
            initial_per_s: None,
            static_per_s: 2000,
            optimal_per_s: 6450,
            hold_ns_max: 200_000,
            cpu_price: None,
        }
    }
}

impl Parameters {
    /// Sets the time between two observations, ns, for the controllers whose sources
    /// leave it open: both speed monitors (1 s in the VCM paper, and by default) and
    /// `frequency`.
    ///
    /// # Errors
    /// [`ParameterError::Interval`].
    pub fn with_interval_ns(self, interval_ns: u64) -> Result<Self, ParameterError> {
        if !(INTERVAL_NS.0..=INTERVAL_NS.1).contains(&interval_ns) {
            return Err(ParameterError::Interval { interval_ns });
        }
        Ok(Self {
            interval_ns,
            ..self
        })
    }

    /// Sets the speed monitors' first cap, notifications/s: the VCM paper's I₀.
    /// `None`, the default, is no cap.
    ///
    /// # Errors
    /// [`ParameterError::Frequency`].
    pub fn with_initial_per_s(self, per_s: Option<u32>) -> Result<Self, ParameterError> {
        per_s.map_or(Ok(1), |per_s| positive("an initial cap", per_s))?;
        Ok(Self {
            initial_per_s: per_s,
            ..self
        })
    }

    /// Sets the cap of `static`, notifications/s.
    ///
    /// # Errors
    /// [`ParameterError::Frequency`].
    pub fn with_static_per_s(self, per_s: u32) -> Result<Self, ParameterError> {
        Ok(Self {
            static_per_s: positive("a static cap", per_s)?,
            ..self
        })
    }

    /// Sets the frequency that `frequency` keeps to, notifications/s. By default the
    /// VCM paper's best for AES-128, 6450.
    ///
    /// # Errors
    /// [`ParameterError::Frequency`].
    pub fn with_optimal_per_s(self, per_s: u32) -> Result<Self, ParameterError> {
        Ok(Self {
            optimal_per_s: positive("an optimal frequency", per_s)?,
            ..self
        })
    }

    /// Sets the maximum time that an adaptive controller may have a notification held
    /// back, ns: it bounds the 99th percentile.
    ///
    /// # Errors
    /// [`ParameterError::Hold`].
    pub fn with_hold_ns_max(self, hold_ns_max: u64) -> Result<Self, ParameterError> {
        if !(HOLD_NS.0..=HOLD_NS.1).contains(&hold_ns_max) {
            return Err(ParameterError::Hold { hold_ns_max });
        }
        Ok(Self {
            hold_ns_max,
            ..self
        })
    }

    /// Sets the price of the time in which clients poll instead of sleeping, as a
    /// part of the worker's: `adaptive` then chooses whether they do. `None`, the
    /// default: they sleep.
    ///
    /// # Errors
    /// [`ParameterError::Price`].
    pub fn with_cpu_price(self, price: Option<f64>) -> Result<Self, ParameterError> {
        if let Some(price) = price.filter(|price| !(0.0..=1.0).contains(price)) {
            return Err(ParameterError::Price { price });
        }
        Ok(Self {
            cpu_price: price,
            ..self
        })
    }

    /// Time between two observations, ns.
    pub fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    pub fn cpu_price(&self) -> Option<f64> {
        self.cpu_price
    }
}

fn positive(what: &'static str, per_s: u32) -> Result<u32, ParameterError> {
    if per_s == 0 {
        return Err(ParameterError::Frequency { what });
    }
    Ok(per_s)
}
