//! What is asked of a fit, and why there may be none.

use std::fmt;

use super::{BUSY_SHARE_MAX, CONDITION_MAX, OBSERVATIONS_MIN, Observation};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unknown {
    /// `T`.
    Notification,
    /// `c`.
    Request,
    /// `t`.
    Byte,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    #[error("{count} observations cannot give three prices; measure at least {OBSERVATIONS_MIN}")]
    TooFew { count: usize },
    #[error(
        "observation {index} (from 0) has {value} as its {what}: rates must be finite and at least 0, a busy share above 0 and at most {BUSY_SHARE_MAX}, a weight finite and above 0; leave it out"
    )]
    Value {
        index: usize,
        what: &'static str,
        value: f64,
    },
    #[error(
        "no observation has any {}, so that the price of a {unknown} cannot be known; {}",
        unknown.rates(), unknown.remedy()
    )]
    Absent { unknown: Unknown },
    #[error(
        "the observations do not separate the prices of a {} (condition index {condition:.0}, at most {CONDITION_MAX}): {}",
        list(unknowns),
        to_vary(unknowns)
    )]
    Collinear {
        unknowns: Vec<Unknown>,
        condition: f64,
    },
}

impl Unknown {
    pub const ALL: [Self; 3] = [Self::Notification, Self::Request, Self::Byte];

    pub(super) fn rate(self, observation: &Observation) -> f64 {
        match self {
            Self::Notification => observation.notifications_per_s,
            Self::Request => observation.requests_per_s,
            Self::Byte => observation.bytes_per_s,
        }
    }

    pub(super) fn rates(self) -> &'static str {
        match self {
            Self::Notification => "notifications/s",
            Self::Request => "requests/s",
            Self::Byte => "bytes/s",
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::Notification => "measure some with a policy that notifies",
            Self::Request | Self::Byte => "leave idle trials out and measure under load",
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Notification => "notification",
            Self::Request => "request",
            Self::Byte => "byte",
        })
    }
}

fn list(unknowns: &[Unknown]) -> String {
    let names: Vec<String> = unknowns.iter().map(Unknown::to_string).collect();
    names.join(" and a ")
}

fn to_vary(unknowns: &[Unknown]) -> &'static str {
    let has = |unknown| unknowns.contains(&unknown);
    match (
        has(Unknown::Notification),
        has(Unknown::Request),
        has(Unknown::Byte),
    ) {
        (true, true, false) => {
            "vary the cap or the depth, so that more completions share a notification"
        }
        (false, true, true) => "vary the block size",
        (true, false, true) => {
            "vary the cap or the depth at each block size, so that notifications do not follow the bytes"
        }
        _ => "vary the block size, and at each size the cap or the depth",
    }
}
