//! What a controller may change about a lane while it runs.

/// Longest time between two notifications that a cap may ask for, ns: 1 s.
pub const INTERVAL_NS_MAX: u32 = 1_000_000_000;
/// Most completions that may be gathered: what the packed form holds.
pub const COUNT_MAX: u16 = 4095;
/// Longest time that a gathered completion may wait, µs: 1 s.
pub const TIMEOUT_US_MAX: u32 = 1_000_000;

/// How far notifications are held back. Plain data of 64 bits, so that a controller
/// on one thread can hand it to a worker on another as one word.
///
/// No setting strands a completion: each holds it for a bounded time. No setting
/// holds anything where only one request is in flight, since nothing could join it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    is_asleep: bool,
    interval_ns: u32,
    count: u16,
    timeout_us: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self::UNLIMITED
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A cap of 0, or below one notification a second.
    #[error(
        "a cap of {per_s} notifications/s would strand completions; give at least 1, or no cap"
    )]
    Cap { per_s: u32 },
    #[error("cannot gather {count} completions; give 1 to {COUNT_MAX}")]
    Count { count: u32 },
    #[error("cannot hold completions for {timeout_us} µs; give 1 to {TIMEOUT_US_MAX}")]
    Timeout { timeout_us: u32 },
}

impl Settings {
    pub const UNLIMITED: Self = Self {
        is_asleep: false,
        interval_ns: 0,
        count: 1,
        timeout_us: 0,
    };

    /// At most `per_s` notifications a second, evenly apart.
    ///
    /// # Errors
    /// [`SettingsError::Cap`].
    pub fn cap(per_s: u32) -> Result<Self, SettingsError> {
        Self::UNLIMITED.and_cap(per_s)
    }

    /// One notification for every `count` completions, or `timeout_us` after the
    /// first of fewer.
    ///
    /// # Errors
    /// [`SettingsError::Count`], [`SettingsError::Timeout`].
    pub fn coalesce(count: u32, timeout_us: u32) -> Result<Self, SettingsError> {
        let narrow = u16::try_from(count).ok();
        let count = narrow
            .filter(|count| (1..=COUNT_MAX).contains(count))
            .ok_or(SettingsError::Count { count })?;
        if !(1..=TIMEOUT_US_MAX).contains(&timeout_us) {
            return Err(SettingsError::Timeout { timeout_us });
        }
        Ok(Self {
            count,
            timeout_us,
            ..Self::UNLIMITED
        })
    }

    /// These settings, with at most `per_s` notifications a second.
    ///
    /// # Errors
    /// [`SettingsError::Cap`].
    pub fn and_cap(self, per_s: u32) -> Result<Self, SettingsError> {
        let interval_ns = INTERVAL_NS_MAX
            .checked_div(per_s)
            .ok_or(SettingsError::Cap { per_s })?;
        Ok(Self {
            interval_ns,
            ..self
        })
    }

    /// Least time between two notifications, ns; 0 when there is no cap.
    pub fn interval_ns(self) -> u32 {
        self.interval_ns
    }

    /// The cap, notifications a second; `None` when there is none.
    pub fn cap_per_s(self) -> Option<f64> {
        (self.interval_ns > 0).then(|| 1e9 / f64::from(self.interval_ns))
    }

    /// Completions to gather for a notification; 1 without gathering.
    pub fn count(self) -> u32 {
        self.count.into()
    }

    pub fn timeout_ns(self) -> u64 {
        u64::from(self.timeout_us) * 1000
    }

    /// These settings, but a client of the policy `hybrid` sleeps at once, as under
    /// `armed`.
    #[must_use]
    pub fn asleep(self) -> Self {
        Self {
            is_asleep: true,
            ..self
        }
    }

    /// Whether a client of the policy `hybrid` sleeps at once.
    pub fn is_asleep(self) -> bool {
        self.is_asleep
    }

    pub fn is_unlimited(self) -> bool {
        self.interval_ns == 0 && self.count == 1
    }

    pub fn pack(self) -> u64 {
        u64::from(self.is_asleep) << 63
            | u64::from(self.interval_ns) << 32
            | u64::from(self.timeout_us) << 12
            | u64::from(self.count)
    }

    /// The settings that [`pack`](Self::pack) made the word from; for any other word,
    /// valid ones.
    pub fn unpack(word: u64) -> Self {
        let field = |shift: u32, bits: u32| (word >> shift) as u32 & (u32::MAX >> (32 - bits));
        Self {
            is_asleep: word >> 63 == 1,
            interval_ns: field(32, 31).min(INTERVAL_NS_MAX),
            timeout_us: field(12, 20).min(TIMEOUT_US_MAX),
            count: (field(0, 12) as u16).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_and_unpacks() {
        let all = [
            Settings::UNLIMITED,
            Settings::cap(1).unwrap(),
            Settings::cap(6450).unwrap(),
            Settings::cap(u32::MAX).unwrap(),
            Settings::coalesce(1, 1).unwrap(),
            Settings::coalesce(4095, 1_000_000).unwrap(),
            Settings::coalesce(32, 100).unwrap().and_cap(5109).unwrap(),
            Settings::cap(1).unwrap().asleep(),
        ];
        for settings in all {
            assert_eq!(Settings::unpack(settings.pack()), settings);
        }
        assert_eq!(Settings::unpack(0).count(), 1);
        assert_eq!(Settings::unpack(u64::MAX).interval_ns(), INTERVAL_NS_MAX);
    }

    #[test]
    fn refuses_what_would_strand_completions() {
        assert!(
            Settings::cap(0)
                .unwrap_err()
                .to_string()
                .contains("0 notif")
        );
        assert!(Settings::coalesce(0, 10).is_err());
        assert!(Settings::coalesce(4096, 10).is_err());
        assert!(Settings::coalesce(8, 0).is_err());
        assert!(Settings::coalesce(8, 1_000_001).is_err());
    }

    #[test]
    fn a_cap_is_an_interval() {
        let settings = Settings::cap(5000).unwrap();
        assert_eq!(settings.interval_ns(), 200_000);
        assert_eq!(settings.cap_per_s(), Some(5000.0));
        assert_eq!(Settings::UNLIMITED.cap_per_s(), None);
    }
}
