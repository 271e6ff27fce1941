//! What is chosen by name: algorithms, policies, placements, back-ends, paths.

use std::sync::Arc;

use crypto::{Algorithm, Backend, Operation};
use policy::{Moderation, Policy};
use toml::Value as Toml;

use super::value::{Choice, Value, near};
use crate::controllers::contender::known;
use crate::crossing::Crossing;
use crate::place::Placement;
use crate::routers::way::Way;

fn names<T: ToString>(all: impl IntoIterator<Item = T>) -> Vec<String> {
    all.into_iter().map(|one| one.to_string()).collect()
}

impl Choice for Algorithm {
    fn known() -> Vec<String> {
        names(Self::ALL)
    }
}

impl Choice for Operation {
    fn known() -> Vec<String> {
        names(Self::ALL)
    }
}

impl Choice for Policy {
    fn known() -> Vec<String> {
        let settings = ["cap:6450", "coalesce:16:100us", "armed+cap:5000"];
        names(Moderation::ALL)
            .into_iter()
            .chain(names(settings))
            .collect()
    }
}

impl Choice for Placement {
    fn known() -> Vec<String> {
        names([Self::Shared, Self::Split])
    }
}

impl Choice for Crossing {
    fn known() -> Vec<String> {
        names(Self::ALL)
    }
}

impl Choice for Way {
    fn known() -> Vec<String> {
        Self::known_names()
    }
}

/// A controller by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerName(pub &'static str);

impl std::fmt::Display for ControllerName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::str::FromStr for ControllerName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        known(name).map(Self)
    }
}

impl Choice for ControllerName {
    fn known() -> Vec<String> {
        names(policy::controllers::NAMES)
    }
}

/// A back-end by its name.
#[derive(Clone)]
pub struct BackendName(pub Arc<dyn Backend>);

impl Default for BackendName {
    fn default() -> Self {
        let usual = probe::calibration::backend(probe::calibration::AUTO);
        Self(usual.expect("there is a back-end that chooses"))
    }
}

impl std::fmt::Debug for BackendName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

impl PartialEq for BackendName {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Value for BackendName {
    fn parse(value: &Toml) -> Result<Self, String> {
        let name = value
            .as_str()
            .ok_or_else(|| format!("{value} is no name; {}", Self::allowed()))?;
        probe::calibration::backend(name)
            .map(Self)
            .map_err(
                |error| match near(name, crypto::backend_names().into_iter()) {
                    Some(near) => format!("{error}; did you mean '{near}'?"),
                    None => error.to_string(),
                },
            )
    }

    fn written(&self) -> Toml {
        Toml::from(self.0.name())
    }

    fn allowed() -> String {
        crypto::backend_names().join(", ")
    }
}
