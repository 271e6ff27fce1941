//! Controllers by name.

use super::{
    Adaptive, Dim, Frequency, Parameters, SpeedMonitorListing, SpeedMonitorProse, Static, Vic,
};
use crate::Controller;

/// Every controller's name, in the order of reports.
pub const NAMES: [&str; 7] = [
    "static",
    "speed-monitor-prose",
    "speed-monitor-listing",
    "frequency",
    "dim",
    "vic",
    "adaptive",
];

/// How a controller differs from the published one of the same name.
pub fn departure(name: &str) -> Option<&'static str> {
    match name {
        "vic" => Some("vIC's ratio in whole completions, with our bound on waiting"),
        _ => None,
    }
}

/// A controller's name for people, with its [`departure`].
pub fn in_words(name: &str) -> String {
    departure(name).map_or_else(|| name.to_owned(), |what| format!("{name} ({what})"))
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown controller '{name}'; known: {}", NAMES.join(", "))]
pub struct UnknownController {
    pub name: String,
}

pub fn by_name(
    name: &str,
    parameters: &Parameters,
) -> Result<Box<dyn Controller>, UnknownController> {
    Ok(match name {
        "static" => Box::new(Static::new(parameters)),
        "speed-monitor-prose" => Box::new(SpeedMonitorProse::new(parameters)),
        "speed-monitor-listing" => Box::new(SpeedMonitorListing::new(parameters)),
        "frequency" => Box::new(Frequency::new(parameters)),
        "dim" => Box::new(Dim::default()),
        "vic" => Box::new(Vic::default()),
        "adaptive" => Box::new(Adaptive::new(parameters)),
        _ => {
            return Err(UnknownController {
                name: name.to_owned(),
            });
        }
    })
}
