//! What is chosen by name: algorithms, policies, placements, back-ends, paths.

use std::sync::{Arc, OnceLock};

use crypto::{Algorithm, Backend, Operation, SectorMode};
use policy::{Moderation, Policy};
use serde::{Deserialize, Serialize};
use toml::Value as Toml;

use super::value::{Choice, Value, meant};
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

/// What is done with a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    Write,
    Read,
}

impl Direction {
    pub const ALL: [Self; 2] = [Self::Write, Self::Read];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

crate::named!(Direction, "direction");

impl Choice for SectorMode {
    fn known() -> Vec<String> {
        names(Self::ALL)
    }
}

impl Choice for probe::tier::Choice {
    fn known() -> Vec<String> {
        names(Self::every())
    }
}

impl Choice for Policy {
    fn known() -> Vec<String> {
        let settings = ["cap:6450", "coalesce:16:100us", "armed+cap:5000"];
        [names(Moderation::ALL), names(settings)].concat()
    }
}

impl Choice for Way {
    fn known() -> Vec<String> {
        Self::known_names()
    }
}

/// A back-end by its name. It is made when it is asked for, since what it may use
/// is decided by the tier, which options are listed before.
#[derive(Clone)]
pub struct BackendName {
    name: &'static str,
    made: OnceLock<Arc<dyn Backend>>,
}

impl BackendName {
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// # Panics
    /// Where the host has lost it since it was named.
    pub fn get(&self) -> &Arc<dyn Backend> {
        let make = || probe::calibration::backend(self.name);
        self.made
            .get_or_init(|| make().expect("it was there when it was named"))
    }
}

/// For defaults: one that every build has.
impl From<&'static str> for BackendName {
    fn from(name: &'static str) -> Self {
        let made = OnceLock::new();
        Self { name, made }
    }
}

impl Default for BackendName {
    fn default() -> Self {
        Self::from(probe::calibration::AUTO)
    }
}

impl std::fmt::Debug for BackendName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for BackendName {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Value for BackendName {
    fn parse(value: &Toml) -> Result<Self, String> {
        let name = value
            .as_str()
            .ok_or_else(|| format!("{value} is not a name; {}", Self::allowed()))?;
        let backend = probe::calibration::backend(name)
            .map_err(|error| meant(&error, name, crypto::backend_names().into_iter()))?;
        Ok(Self {
            name: backend.name(),
            made: OnceLock::from(backend),
        })
    }

    fn read(text: &str) -> Toml {
        Toml::from(text)
    }

    fn written(&self) -> Toml {
        Toml::from(self.name)
    }

    fn allowed() -> String {
        crypto::backend_names().join(", ")
    }
}
