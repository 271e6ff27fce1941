//! Text to [`Scenario`]: each table goes to its owner.

use std::collections::BTreeMap;

use kit::config::ConfigError;
use kit::config::keys;
use kit::config::value::{Several, Value};
use sections::{SECTIONS, SectionKind};
use sys::failure::Failure;
use toml::de::{DeTable, DeValue};
use trial::Section;

use crate::budget::{DEFAULT_BUDGET, Seconds};
use crate::scenario::{DEFAULT_SEED, Overrides, SCENARIO_SCHEMA, Scenario};

kit::table! {
    /// The table `[common]`.
    struct Common {
        /// What the scenario measures, for people
        title: String = "",
        /// Its purpose, in a sentence or two
        description: String = "",
        /// Seed of everything random
        seed: u64 = DEFAULT_SEED,
        /// Seconds of measuring
        budget_s: Seconds = DEFAULT_BUDGET,
    }
}

kit::table! {
    /// A section's table in `[contract]`.
    pub struct Slice {
        /// Seconds of measuring, of the scenario's own budget; by appetite where left out
        seconds: Option<Seconds> = None,
        /// Ratios that it shows, each as [`trial::Comparison::name`] has it
        shows: Several<String> = [""; 0],
    }
}

impl Slice {
    /// As a result stores it.
    pub(super) fn resolved(&self) -> serde_json::Value {
        let mut slice = serde_json::json!({ "shows": *self.shows });
        if let Some(seconds) = self.seconds {
            slice["seconds"] = seconds.0.as_secs_f64().into();
        }
        slice
    }
}

/// Parses a scenario called `name`, found at `place`.
///
/// # Errors
/// Names the place, the line where there is one, what is wrong, and what is
/// allowed.
pub fn parse(
    name: &str,
    place: &str,
    text: &str,
    overrides: &Overrides,
) -> Result<Scenario, Failure> {
    let source = Source { place, text };
    let tables = toml::from_str(text).map_err(Failure::of(format!("{place} is not TOML")));
    let mut tables: toml::Table = tables?;
    source.check_schema(tables.remove("schema"))?;
    let common: Common = source.read(&["common"], tables.remove("common"))?;
    let contract = source.contract(&mut tables)?;
    let sections = source.sections(tables, overrides, common.seed)?;
    Ok(Scenario {
        name: name.to_owned(),
        title: match common.title.is_empty() {
            true => name.to_owned(),
            false => common.title,
        },
        description: common.description,
        seed: overrides.seed.unwrap_or(common.seed),
        budget: common.budget_s.0,
        contract,
        sections,
    })
}

/// A scenario's text and where it is from.
struct Source<'a> {
    place: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn check_schema(&self, schema: Option<toml::Value>) -> Result<(), Failure> {
        let found = match schema {
            Some(toml::Value::Integer(SCENARIO_SCHEMA)) => return Ok(()),
            Some(other) => other.to_string(),
            None => "missing".to_owned(),
        };
        let place = self.at(&["schema"]);
        Err(Failure::new(format!(
            "{place}: schema is {found}; this Lockgate reads `schema = {SCENARIO_SCHEMA}`"
        )))
    }

    /// What is promised of sections, each of which the scenario has.
    fn contract(&self, tables: &mut toml::Table) -> Result<BTreeMap<String, Slice>, Failure> {
        let slices = self.table(&["contract"], tables.remove("contract"))?;
        let slice = |(name, value): (String, toml::Value)| {
            if !tables.contains_key(&name) {
                let reason = "this scenario has no such table: add it, or leave its slice out";
                return Err(self.refused(&["contract"], ConfigError::value(&name, reason)));
            }
            let slice = self.read(&["contract", &name], Some(value))?;
            Ok((name, slice))
        };
        slices.into_iter().map(slice).collect()
    }

    fn sections(
        &self,
        mut tables: toml::Table,
        overrides: &Overrides,
        seed: u64,
    ) -> Result<Vec<Box<dyn Section>>, Failure> {
        let mut sections = vec![];
        for kind in SECTIONS {
            let Some(value) = tables.remove(kind.name) else {
                continue;
            };
            let mut table = self.table(&[kind.name], Some(value))?;
            let flags = enter(kind, overrides, seed, &mut table);
            let section = (kind.parse)(table).map_err(|error| match flags.get(error.key()) {
                Some(flag) => Failure::of(format!("--{flag}: [{}]", kind.name))(error),
                None => self.refused(&[kind.name], error),
            });
            sections.push(section?);
        }
        let known: Vec<_> = SECTIONS.iter().map(|kind| kind.name).collect();
        if let Some(name) = tables.keys().next() {
            return Err(Failure::new(format!(
                "{}: unknown section '{name}'; allowed: schema, common, contract, {}",
                self.at(&[name]),
                known.join(", ")
            )));
        }
        if sections.is_empty() {
            return Err(Failure::new(format!(
                "{} has no section; add one of: {}",
                self.place,
                known.join(", ")
            )));
        }
        Ok(sections)
    }

    /// The table at that path as its owner reads it.
    fn read<T: keys::Table>(
        &self,
        path: &[&str],
        value: Option<toml::Value>,
    ) -> Result<T, Failure> {
        let table = self.table(path, value)?;
        keys::parse(&table).map_err(|error| self.refused(path, error))
    }

    /// The table at that path; an empty one where there is none.
    fn table(&self, path: &[&str], value: Option<toml::Value>) -> Result<toml::Table, Failure> {
        match value {
            None => Ok(toml::Table::new()),
            Some(toml::Value::Table(table)) => Ok(table),
            Some(_) => {
                let (place, name) = (self.at(path), path.join("."));
                Err(Failure::new(format!(
                    "{place}: '{name}' must be a table: write [{name}]"
                )))
            }
        }
    }

    fn refused(&self, path: &[&str], error: ConfigError) -> Failure {
        let place = self.at(&[path, &[error.key()]].concat());
        Failure::of(format!("{place}: [{}]", path.join(".")))(error)
    }

    /// `file:line` of the deepest key of `path` that the text has.
    fn at(&self, path: &[&str]) -> String {
        match self.line(path) {
            Some(line) => format!("{}:{line}", self.place),
            None => self.place.to_owned(),
        }
    }

    fn line(&self, path: &[&str]) -> Option<usize> {
        let root = DeTable::parse(self.text).ok()?;
        let mut table = root.get_ref();
        let mut found = None;
        for name in path {
            let Some((key, value)) = table.get_key_value(*name) else {
                break;
            };
            found = Some(key.span().start);
            let DeValue::Table(inner) = value.get_ref() else {
                break;
            };
            table = inner;
        }
        let before = &self.text.as_bytes()[..found?];
        Some(1 + before.iter().filter(|&&byte| byte == b'\n').count())
    }
}

/// Enters what the command line says into a section's table, where the section
/// has such a key; it takes precedence over the table, and the table over the
/// scenario's `seed`. Gives the flag of each key that was entered.
fn enter(
    kind: &SectionKind,
    overrides: &Overrides,
    seed: u64,
    table: &mut toml::Table,
) -> BTreeMap<&'static str, String> {
    let mut entered = BTreeMap::new();
    for key in kind.options() {
        // The last of several is meant.
        let mut given = overrides.options.iter().rev();
        let given = given.find(|(flag, _)| *flag == key.flag());
        let value = match key.name {
            "seed" => overrides.seed.map(|seed| seed.written()),
            "precision" => overrides.precision.map(toml::Value::Float),
            _ => given.map(|(_, text)| (key.value)(text)),
        };
        if let Some(value) = value {
            table.insert(key.name.to_owned(), value);
            entered.insert(key.name, key.flag());
        } else if key.name == "seed" {
            table.entry(key.name).or_insert_with(|| seed.written());
        }
    }
    entered
}
