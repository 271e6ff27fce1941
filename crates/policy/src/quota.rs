//! How much a virtual function may have per second, independent of others.

/// Longest burst, ns: 1 s.
pub const BURST_NS_MAX: u64 = 1_000_000_000;

/// The burst of a quota that names none: 10 ms.
const BURST_NS: u64 = 10_000_000;

const REQUESTS_PER_S_MAX: u64 = 1_000_000_000;
const BYTES_PER_S_MAX: u64 = 1_000_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    requests_per_s: Option<u64>,
    bytes_per_s: Option<u64>,
    burst_ns: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Self::UNLIMITED
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuotaError {
    /// Requests a second out of range.
    #[error(
        "a quota of {per_s} requests/s: give 1 to {REQUESTS_PER_S_MAX}, or no quota; remove the function to stop it"
    )]
    Requests { per_s: u64 },
    /// Bytes a second out of range.
    #[error(
        "a quota of {per_s} bytes/s: give 1 to {BYTES_PER_S_MAX}, or no quota; remove the function to stop it"
    )]
    Bytes { per_s: u64 },
    #[error("a burst of {burst_ns} ns: give 1 to {BURST_NS_MAX}")]
    Burst { burst_ns: u64 },
}

impl Quota {
    pub const UNLIMITED: Self = Self {
        requests_per_s: None,
        bytes_per_s: None,
        burst_ns: BURST_NS,
    };

    /// Limits requests to `per_s` a second as well.
    ///
    /// # Errors
    /// [`QuotaError::Requests`].
    pub fn and_requests(self, per_s: u64) -> Result<Self, QuotaError> {
        if !(1..=REQUESTS_PER_S_MAX).contains(&per_s) {
            return Err(QuotaError::Requests { per_s });
        }
        Ok(Self {
            requests_per_s: Some(per_s),
            ..self
        })
    }

    /// Limits bytes to `per_s` a second as well.
    ///
    /// # Errors
    /// [`QuotaError::Bytes`].
    pub fn and_bytes(self, per_s: u64) -> Result<Self, QuotaError> {
        if !(1..=BYTES_PER_S_MAX).contains(&per_s) {
            return Err(QuotaError::Bytes { per_s });
        }
        Ok(Self {
            bytes_per_s: Some(per_s),
            ..self
        })
    }

    /// Allows what is due in `burst_ns` at once after a pause (10 ms by default).
    ///
    /// # Errors
    /// [`QuotaError::Burst`].
    pub fn with_burst(self, burst_ns: u64) -> Result<Self, QuotaError> {
        if !(1..=BURST_NS_MAX).contains(&burst_ns) {
            return Err(QuotaError::Burst { burst_ns });
        }
        Ok(Self { burst_ns, ..self })
    }

    pub fn is_unlimited(self) -> bool {
        self.requests_per_s.is_none() && self.bytes_per_s.is_none()
    }
}

/// One token bucket, as the time at which it will be full: spending moves that time
/// on (the virtual scheduling form of ITU-T I.371's GCRA).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tokens {
    per_s: u64,
    full_ns: u64,
    /// Of a nanosecond, in parts of `per_s`.
    rest: u64,
}

impl Tokens {
    /// Tokens there, and when the first is there if none is.
    fn left(&self, now_ns: u64, burst_ns: u64) -> Result<u64, u64> {
        let ahead_ns = self.full_ns.saturating_sub(now_ns);
        let span_ns = burst_ns
            .checked_sub(ahead_ns)
            .filter(|span_ns| *span_ns > 0);
        let span_ns = span_ns.ok_or(self.full_ns.saturating_sub(burst_ns).saturating_add(1))?;
        let tokens = u128::from(span_ns) * u128::from(self.per_s) / 1_000_000_000;
        // The last one may be overdrawn.
        Ok(u64::try_from(tokens).unwrap_or(u64::MAX).max(1))
    }

    fn spend(&mut self, now_ns: u64, tokens: u64) {
        let parts = u128::from(tokens) * 1_000_000_000 + u128::from(self.rest);
        let per_s = u128::from(self.per_s);
        let ns = u64::try_from(parts / per_s).unwrap_or(u64::MAX);
        self.rest = u64::try_from(parts % per_s).expect("less than per_s");
        self.full_ns = self.full_ns.max(now_ns).saturating_add(ns);
    }
}

/// What is left of a quota. Pure: the clock is an argument. A clock that steps back
/// neither gives nor takes more than a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    quota: Quota,
    requests: Option<Tokens>,
    bytes: Option<Tokens>,
    seen_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    pub requests: u64,
    /// Further requests may be taken while these bytes are not used up; the last may
    /// go beyond.
    pub bytes: u64,
}

impl Allowance {
    pub const UNLIMITED: Self = Self {
        requests: u64::MAX,
        bytes: u64::MAX,
    };
}

impl Bucket {
    pub fn new(quota: Quota) -> Self {
        let tokens = |per_s: u64| Tokens {
            per_s,
            full_ns: 0,
            rest: 0,
        };
        Self {
            quota,
            requests: quota.requests_per_s.map(tokens),
            bytes: quota.bytes_per_s.map(tokens),
            seen_ns: 0,
        }
    }

    pub fn allowance(&mut self, now_ns: u64) -> Result<Allowance, u64> {
        self.look(now_ns);
        let burst_ns = self.quota.burst_ns;
        let left = |tokens: Option<Tokens>| {
            tokens.map_or(Ok(u64::MAX), |tokens| tokens.left(now_ns, burst_ns))
        };
        match (left(self.requests), left(self.bytes)) {
            (Ok(requests), Ok(bytes)) => Ok(Allowance { requests, bytes }),
            (requests, bytes) => {
                let due = |side: Result<u64, u64>| side.err().unwrap_or(0);
                Err(due(requests).max(due(bytes)))
            }
        }
    }

    pub fn spend(&mut self, now_ns: u64, requests: u64, bytes: u64) {
        self.look(now_ns);
        if let Some(tokens) = &mut self.requests {
            tokens.spend(now_ns, requests);
        }
        if let Some(tokens) = &mut self.bytes {
            tokens.spend(now_ns, bytes);
        }
    }

    /// Where the clock went back, the debt is reduced with it.
    fn look(&mut self, now_ns: u64) {
        let back_ns = self.seen_ns.saturating_sub(now_ns);
        for tokens in [&mut self.requests, &mut self.bytes].into_iter().flatten() {
            tokens.full_ns = tokens.full_ns.saturating_sub(back_ns);
        }
        self.seen_ns = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn quota() -> Quota {
        Quota::UNLIMITED.and_requests(1000).unwrap()
    }

    fn taken(bucket: &mut Bucket, begin_ns: u64, end_ns: u64, step_ns: usize, bytes: u64) -> u64 {
        let mut count = 0;
        for now_ns in (begin_ns..end_ns).step_by(step_ns) {
            while bucket.allowance(now_ns).is_ok() {
                bucket.spend(now_ns, 1, bytes);
                count += 1;
            }
        }
        count
    }

    #[test]
    fn a_rate_is_kept_and_a_burst_bounded() {
        for per_s in [1, 7, 1000, 333_333] {
            let quota = Quota::UNLIMITED.and_requests(per_s).unwrap();
            let mut bucket = Bucket::new(quota.with_burst(10 * MS).unwrap());
            let count = taken(&mut bucket, 5_000 * MS, 7_000 * MS, 50_000, 0);
            let ideal = 2 * per_s;
            let burst = 10 * per_s / 1000 + 2;
            assert!(
                (ideal - 1..=ideal + burst).contains(&count),
                "{per_s}: {count}"
            );
        }
    }

    #[test]
    fn bytes_count_and_the_last_request_may_overdraw() {
        let mut bucket = Bucket::new(Quota::UNLIMITED.and_bytes(1_000_000).unwrap());
        let count = taken(&mut bucket, MS, 10_001 * MS, 100_000, 300_000);
        assert!((33..=35).contains(&count), "{count}");
        // Paid in full before the next.
        let due_ns = bucket.allowance(10_001 * MS).unwrap_err();
        assert!(due_ns > 10_001 * MS && due_ns < 10_400 * MS, "{due_ns}");
        assert!(bucket.allowance(due_ns).is_ok(), "it is due when it said");
    }

    #[test]
    fn both_limits_hold() {
        let both = quota().and_bytes(50_000).unwrap();
        let mut bucket = Bucket::new(both);
        let small = taken(&mut bucket, MS, 2_001 * MS, 100_000, 1);
        assert!((1999..=2013).contains(&small), "{small}");
        let mut bucket = Bucket::new(both);
        let large = taken(&mut bucket, MS, 2_001 * MS, 100_000, 500);
        assert!((199..=203).contains(&large), "{large}");
    }

    #[test]
    fn a_clock_that_steps_neither_gives_nor_takes_more_than_a_burst() {
        let mut bucket = Bucket::new(quota());
        let hour = 3_600_000 * MS;
        let before = taken(&mut bucket, hour, hour + 1_000 * MS, 100_000, 0);
        // Back by nearly an hour: still the same rate.
        let back = taken(&mut bucket, 5 * MS, 1_005 * MS, 100_000, 0);
        // And far forward.
        let forward = taken(&mut bucket, 9 * hour, 9 * hour + 1_000 * MS, 100_000, 0);
        for count in [before, back, forward] {
            assert!((999..=1012).contains(&count), "{before} {back} {forward}");
        }
    }

    #[test]
    fn absurd_amounts_leave_it_usable() {
        let mut bucket = Bucket::new(quota());
        bucket.spend(1000, u64::MAX, u64::MAX);
        assert!(bucket.allowance(1000).is_err());
        assert!(bucket.allowance(u64::MAX).is_ok());
        bucket = Bucket::new(Quota::UNLIMITED);
        bucket.spend(5, u64::MAX, u64::MAX);
        assert_eq!(bucket.allowance(5), Ok(Allowance::UNLIMITED));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let unlimited = Quota::UNLIMITED;
        assert!(unlimited.and_requests(0).is_err() && unlimited.and_bytes(0).is_err());
        assert!(unlimited.with_burst(0).is_err() && unlimited.with_burst(u64::MAX).is_err());
        let text = unlimited.and_requests(u64::MAX).unwrap_err().to_string();
        assert!(text.contains("1 to 1000000000"), "{text}");
        assert!(unlimited.is_unlimited() && !quota().is_unlimited());
    }
}
