//! How long trials last: as RFC 2544 says, or shorter and labelled so.

use std::fmt;
use std::time::Duration;

/// Throughput, frame loss: "at least 60 seconds" (RFC 2544, section 24).
pub const TRIAL_RFC: Duration = Duration::from_secs(60);

/// Latency: "at least 120 seconds" (RFC 2544, section 26.2).
pub const LATENCY_RFC: Duration = Duration::from_secs(120);

/// Frames still on their way are waited for: "two seconds" (RFC 2544, section
/// 23, step d).
pub const RESIDUAL_RFC: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    pub trial: Duration,
    pub latency: Duration,
    pub residual: Duration,
}

impl Lengths {
    pub const RFC: Self = Self {
        trial: TRIAL_RFC,
        latency: LATENCY_RFC,
        residual: RESIDUAL_RFC,
    };

    /// Trials of `trial` each, for latency too, and at most half a second for frames
    /// under way.
    pub fn short(trial: Duration) -> Self {
        Self {
            trial,
            latency: trial,
            residual: Duration::from_millis(500),
        }
    }

    /// Whether all are at least as long as the RFC demands.
    pub fn is_rfc(&self) -> bool {
        self.trial >= TRIAL_RFC && self.latency >= LATENCY_RFC && self.residual >= RESIDUAL_RFC
    }
}

impl fmt::Display for Lengths {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.trial.as_secs_f64();
        if self.is_rfc() {
            write!(formatter, "trials of {seconds} s, as RFC 2544 demands")
        } else {
            write!(
                formatter,
                "trials of {seconds} s, shorter than RFC 2544's {} s",
                TRIAL_RFC.as_secs()
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lengths;
    use std::time::Duration;

    #[test]
    fn short_trials_are_labelled() {
        assert!(Lengths::RFC.is_rfc() && Lengths::RFC.to_string().contains("as RFC 2544"));
        let short = Lengths::short(Duration::from_millis(1500));
        assert!(!short.is_rfc());
        assert_eq!(
            short.to_string(),
            "trials of 1.5 s, shorter than RFC 2544's 60 s"
        );
    }

    #[test]
    fn long_trials_with_a_short_latency_trial_are_not_the_rfcs() {
        let lengths = Lengths {
            latency: Duration::from_secs(60),
            ..Lengths::RFC
        };
        assert!(!lengths.is_rfc());
    }
}
