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

mod parse;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use sections::Builtin;
use sys::failure::Failure;
use trial::Section;

use crate::budget::{BUDGET_MAX, Seconds};
use crate::schedule::Wanted;

pub use parse::{Slice, parse};

/// The version of scenario files; a reader refuses a newer one.
pub const SCENARIO_SCHEMA: i64 = 1;

/// The seed of everything random where none is given.
pub const DEFAULT_SEED: u64 = 1;

/// Maximum size of a scenario file.
const FILE_BYTES_MAX: u64 = 1 << 20;

const DEFAULT: Builtin = Builtin {
    name: "default",
    text: include_str!("../../../scenarios/default.toml"),
};

/// Every built-in scenario; the first is what `lockgate run` runs by default.
pub fn builtin() -> impl Iterator<Item = &'static Builtin> {
    let own = sections::SECTIONS.iter().flat_map(|kind| kind.scenarios);
    std::iter::once(&DEFAULT).chain(own)
}

/// What the command line says about every scenario; it takes precedence over the file.
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
    /// Its purpose, in a sentence or two; may be empty.
    pub description: String,
    /// Seed of everything random.
    pub seed: u64,
    /// The time of measuring where the command line gives none.
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
        let contract = self.contract.iter();
        let contract = contract.map(|(name, slice)| (name.clone(), slice.resolved()));
        serde_json::json!({
            "name": self.name,
            "schema": SCENARIO_SCHEMA,
            "common": {
                "title": self.title,
                "description": self.description,
                "seed": self.seed,
                "budget_s": self.budget.as_secs_f64(),
            },
            "contract": contract.collect::<serde_json::Map<_, _>>(),
            "sections": sections.collect::<serde_json::Map<_, _>>(),
        })
    }

    /// Its sections, each with the slice that it was promised of `budget`.
    #[must_use]
    pub fn within(self, budget: Duration) -> Vec<Wanted> {
        let scale = budget.as_secs_f64() / self.budget.as_secs_f64();
        let scaled = |Seconds(slice): Seconds| {
            let seconds = slice.as_secs_f64() * scale;
            Duration::try_from_secs_f64(seconds).unwrap_or(BUDGET_MAX)
        };
        let wanted = |section: Box<dyn Section>| {
            let slice = self.contract.get(section.name());
            let slice = slice.and_then(|slice| slice.seconds).map(scaled);
            Wanted { section, slice }
        };
        self.sections.into_iter().map(wanted).collect()
    }
}

/// Whether every option goes to some section.
///
/// # Errors
/// Names the first option that no section has, and the sections that have it.
pub fn check_options(scenarios: &[Scenario], overrides: &Overrides) -> Result<(), Failure> {
    let has = |kind: &sections::SectionKind, flag: &str| {
        let mut options = kind.options().into_iter();
        options.any(|key| key.flag() == flag)
    };
    let run = || scenarios.iter().flat_map(|scenario| &scenario.sections);
    for (flag, _) in &overrides.options {
        let mut named = run().filter_map(|section| sections::section(section.name()));
        if !named.any(|kind| has(kind, flag)) {
            let having = sections::SECTIONS.iter().filter(|kind| has(kind, flag));
            let having: Vec<_> = having.map(|kind| kind.name).collect();
            return Err(Failure::new(format!(
                "--{flag}: no section of this run has it; run one that does: {}",
                having.join(", ")
            )));
        }
    }
    Ok(())
}

/// The scenario that `name` means: a file when it ends in `.toml` or contains
/// a `/`, else one that is built in.
///
/// # Errors
/// Names the file, the line where there is one, what is wrong, and what is
/// allowed.
pub fn load(name: &str, overrides: &Overrides) -> Result<Scenario, Failure> {
    if !name.ends_with(".toml") && !name.contains('/') {
        let found = builtin().find(|builtin| builtin.name == name);
        let builtin = found.ok_or_else(|| unknown(name))?;
        return parse(name, &format!("scenario '{name}'"), builtin.text, overrides);
    }
    let path = Path::new(name);
    let text = read(path).map_err(Failure::of(format!("cannot read scenario '{name}'")))?;
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    parse(&stem.to_string_lossy(), name, &text, overrides)
}

fn unknown(name: &str) -> Failure {
    let known: Vec<_> = builtin().map(|builtin| builtin.name).collect();
    Failure::new(format!(
        "unknown scenario '{name}'; built in: {}; or give a path that ends in .toml",
        known.join(", ")
    ))
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)?;
    match text.len() as u64 {
        0..=FILE_BYTES_MAX => Ok(text),
        _ => Err(io::Error::other(format!(
            "longer than {FILE_BYTES_MAX} bytes"
        ))),
    }
}

#[cfg(test)]
mod tests;
