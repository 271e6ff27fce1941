//! Scenario files: what to run, as text.
//!
//! ```toml
//! schema = 1
//!
//! [common]
//! title = "Crypto speed"
//! budget_s = 180
//!
//! [crypto-speed]
//! sizes_bytes = [64, 16384]
//!
//! [contract.crypto-speed]
//! seconds = 20
//! ```

mod builtin;
mod contract;
mod error;
mod parse;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use trial::Section;

pub use builtin::{Builtin, builtin};
pub use contract::Slice;
pub use error::ScenarioError;
pub use parse::parse;

/// The version of scenario files; a reader refuses a newer one.
pub const SCENARIO_SCHEMA: i64 = 1;

/// The seed of everything random when nobody says otherwise.
pub const DEFAULT_SEED: u64 = 1;

/// No scenario is longer than this.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What the command line says about every scenario; stronger than the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// The seed.
    pub seed: Option<u64>,
    /// Half width of every ratio's interval that is enough, as a share of the
    /// ratio, in every section that has a key `precision`.
    pub precision: Option<f64>,
    /// Options of sections, as flags without dashes and what they say; each goes
    /// to every section that has it.
    pub options: Vec<(String, String)>,
}

/// A scenario with every section parsed and validated.
pub struct Scenario {
    /// Its name: the file's, without `.toml`.
    pub name: String,
    /// What it measures, for people.
    pub title: String,
    /// What for, in a sentence or two; may be empty.
    pub description: String,
    /// Seed of everything random.
    pub seed: u64,
    /// Seconds of measuring it wants when nobody says otherwise.
    pub budget: Duration,
    /// What it promises of its sections, by name.
    pub contract: BTreeMap<String, Slice>,
    /// Its sections, in the order of the registry.
    pub sections: Vec<Box<dyn Section>>,
}

impl Scenario {
    /// The scenario with every default written out, as a result stores it.
    #[must_use]
    pub fn resolved(&self) -> serde_json::Value {
        let sections = self.sections.iter();
        let sections = sections.map(|section| (section.name().to_owned(), section.resolved()));
        serde_json::json!({
            "name": self.name,
            "schema": SCENARIO_SCHEMA,
            "common": {
                "title": self.title,
                "description": self.description,
                "seed": self.seed,
                "budget_s": self.budget.as_secs_f64(),
            },
            "contract": self.contract,
            "sections": sections.collect::<serde_json::Map<_, _>>(),
        })
    }
}

impl Scenario {
    /// Its sections, each with the slice that it was promised of `budget`.
    #[must_use]
    pub fn within(self, budget: Duration) -> Vec<Box<dyn Section>> {
        let scale = budget.as_secs_f64() / self.budget.as_secs_f64();
        let sliced = |section: Box<dyn Section>| match self.contract.get(section.name()) {
            Some(slice) => contract::sliced(section, slice, scale),
            None => section,
        };
        self.sections.into_iter().map(sliced).collect()
    }
}

/// Whether every option goes to some section.
///
/// # Errors
/// [`ScenarioError::Option`] naming the first that none has, and who has it.
pub fn check_options(scenarios: &[Scenario], overrides: &Overrides) -> Result<(), ScenarioError> {
    let has = |kind: &sections::SectionKind, flag: &str| {
        let options = kind.kit.as_ref().map(|kit| (kit.options)());
        options.into_iter().flatten().any(|key| key.flag() == flag)
    };
    let run = || scenarios.iter().flat_map(|scenario| &scenario.sections);
    for (flag, _) in &overrides.options {
        let named = run().filter_map(|section| sections::section(section.name()));
        if !named.into_iter().any(|kind| has(kind, flag)) {
            let having = sections::SECTIONS.iter().filter(|kind| has(kind, flag));
            return Err(ScenarioError::Option {
                flag: flag.clone(),
                having: having.map(|kind| kind.name).collect(),
            });
        }
    }
    Ok(())
}

/// The scenario that `name` means: a file when it ends in `.toml` or contains
/// a `/`, else one that is built in.
///
/// # Errors
/// [`ScenarioError`] naming the file, the line where there is one, what is
/// wrong, and what is allowed.
pub fn load(name: &str, overrides: &Overrides) -> Result<Scenario, ScenarioError> {
    if name.ends_with(".toml") || name.contains('/') {
        return load_file(Path::new(name), overrides);
    }
    let builtin = builtin()
        .find(|builtin| builtin.name == name)
        .ok_or_else(|| unknown(name))?;
    parse(name, &format!("scenario '{name}'"), builtin.text, overrides)
}

fn unknown(name: &str) -> ScenarioError {
    ScenarioError::Unknown {
        name: name.to_owned(),
        known: builtin().map(|builtin| builtin.name).collect(),
    }
}

fn load_file(path: &Path, overrides: &Overrides) -> Result<Scenario, ScenarioError> {
    let place = path.display().to_string();
    let text = read(path).map_err(|source| ScenarioError::Read {
        place: place.clone(),
        source,
    })?;
    let name = path
        .file_stem()
        .map_or_else(|| place.clone(), |stem| stem.to_string_lossy().into_owned());
    parse(&name, &place, &text, overrides)
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other(format!(
            "longer than {FILE_BYTES_MAX} bytes"
        )));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
