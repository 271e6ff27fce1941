//! A policy with its settings, as one writes it: `armed`, `cap:6450`,
//! `coalesce:16:100us`, `armed+cap:5000`.

use std::fmt;
use std::str::FromStr;

use crate::{Moderation, Settings, SettingsError};

/// When a completion becomes a notification: who is notified, and how far
/// that may be held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    pub moderation: Moderation,
    pub settings: Settings,
}

impl Policy {
    /// Each completion at once: a device without moderation.
    pub const EACH: Self = Self::of(Moderation::Each);
    /// A sleeping client, when what it waits for is there.
    pub const ARMED: Self = Self::of(Moderation::Armed);
    /// A sleeping client, as before; but a client polls where sleeping costs more.
    pub const HYBRID: Self = Self::of(Moderation::Hybrid);
    /// Never; the worker sleeps when it has nothing to do.
    pub const POLLED: Self = Self::of(Moderation::Polled);
    pub const SPIN: Self = Self::of(Moderation::Spin);

    pub const fn of(moderation: Moderation) -> Self {
        Self {
            moderation,
            settings: Settings::UNLIMITED,
        }
    }

    /// At most `per_s` notifications a second (Dong et al. and the VCM paper).
    ///
    /// # Errors
    /// [`SettingsError::Cap`].
    pub fn cap(per_s: u32) -> Result<Self, SettingsError> {
        Ok(Self {
            settings: Settings::cap(per_s)?,
            ..Self::EACH
        })
    }

    /// One for every `count` completions, or `timeout_us` after the first.
    pub fn coalesce(count: u32, timeout_us: u32) -> Result<Self, SettingsError> {
        Ok(Self {
            settings: Settings::coalesce(count, timeout_us)?,
            ..Self::EACH
        })
    }

    fn terms(&self) -> Vec<String> {
        let settings = self.settings;
        let mut terms = Vec::new();
        if self.moderation != Moderation::Each || settings.is_unlimited() {
            terms.push(self.moderation.to_string());
        }
        if let Some(cap) = settings.cap_per_s() {
            terms.push(format!("cap:{cap:.0}"));
        }
        if settings.count() > 1 {
            let timeout_us = settings.timeout_ns() / 1000;
            terms.push(format!("coalesce:{}:{timeout_us}us", settings.count()));
        }
        terms
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.terms().join("+"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// A part that is none of ours.
    #[error(
        "unknown policy '{term}' in '{text}'; known: each, armed, hybrid, polled, spin, cap:6450 (notifications/s), coalesce:16:100us, and armed+cap:6450"
    )]
    Unknown { term: String, text: String },
    #[error(
        "'{term}' in '{text}' contradicts what is before it; give one of each, and no limit to a policy that never notifies"
    )]
    Contradiction { term: String, text: String },
    #[error("policy '{text}': {source}")]
    Settings {
        text: String,
        #[source]
        source: SettingsError,
    },
}

#[derive(Default)]
struct Parts {
    moderation: Option<Moderation>,
    cap_per_s: Option<u32>,
    gathered: Option<(u32, u32)>,
}

impl Parts {
    fn add(&mut self, term: &str) -> Option<bool> {
        let (name, value) = term.split_once(':').unwrap_or((term, ""));
        match name {
            "cap" => Some(self.cap_per_s.replace(value.parse().ok()?).is_none()),
            "coalesce" => {
                let (count, time) = value.split_once(':')?;
                let gathered = (count.parse().ok()?, microseconds(time)?);
                Some(self.gathered.replace(gathered).is_none())
            }
            _ => Some(self.moderation.replace(term.parse().ok()?).is_none()),
        }
    }

    fn is_consistent(&self) -> bool {
        let is_limited = self.cap_per_s.is_some() || self.gathered.is_some();
        let notifies = self.moderation.is_none_or(Moderation::client_sleeps);
        notifies || !is_limited
    }

    fn policy(&self) -> Result<Policy, SettingsError> {
        let mut settings = match self.gathered {
            Some((count, timeout_us)) => Settings::coalesce(count, timeout_us)?,
            None => Settings::UNLIMITED,
        };
        if let Some(per_s) = self.cap_per_s {
            settings = settings.and_cap(per_s)?;
        }
        Ok(Policy {
            moderation: self.moderation.unwrap_or(Moderation::Each),
            settings,
        })
    }
}

fn microseconds(text: &str) -> Option<u32> {
    match text.strip_suffix("ms") {
        Some(number) => number.parse::<u32>().ok()?.checked_mul(1000),
        None => text.strip_suffix("us").unwrap_or(text).parse().ok(),
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let of = |term: &str| (term.to_owned(), text.to_owned());
        let mut parts = Parts::default();
        for term in text.split('+') {
            let (whole_term, whole) = of(term);
            match parts.add(term) {
                Some(true) if parts.is_consistent() => {}
                Some(_) => {
                    let (term, text) = (whole_term, whole);
                    return Err(PolicyError::Contradiction { term, text });
                }
                None => {
                    let (term, text) = (whole_term, whole);
                    return Err(PolicyError::Unknown { term, text });
                }
            }
        }
        let text = text.to_owned();
        let settings = |source| PolicyError::Settings { text, source };
        parts.policy().map_err(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip() {
        for text in [
            "each",
            "armed",
            "hybrid",
            "hybrid+cap:5109",
            "polled",
            "spin",
            "cap:6450",
            "cap:1",
            "coalesce:16:100us",
            "armed+cap:5109",
            "armed+cap:250+coalesce:8:2000us",
        ] {
            assert_eq!(text.parse::<Policy>().unwrap().to_string(), text);
        }
        assert_eq!(
            "each+cap:9".parse(),
            Policy::cap(9).map_err(|_| unreachable!())
        );
        assert_eq!(
            "coalesce:4:2ms".parse(),
            "coalesce:4:2000".parse::<Policy>()
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, word) in [
            ("", "armed+cap"),
            ("eech", "'eech'"),
            ("cap", "'cap'"),
            ("cap:-1", "'cap:-1'"),
            ("cap:1+cap:2", "'cap:2'"),
            ("polled+cap:9", "'cap:9'"),
            ("cap:9+spin", "'spin'"),
            ("coalesce:3", "'coalesce:3'"),
            ("armed+", "''"),
        ] {
            let error = text.parse::<Policy>().unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
        for text in [
            "cap:0",
            "coalesce:0:1us",
            "coalesce:5000:1us",
            "coalesce:4:9999ms",
        ] {
            let error = text.parse::<Policy>().unwrap_err();
            assert!(matches!(error, PolicyError::Settings { .. }), "{text}");
        }
    }
}
