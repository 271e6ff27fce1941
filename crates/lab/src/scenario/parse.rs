//! Text to [`Scenario`]: each table goes to its owner.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use toml::de::{DeTable, DeValue};
use trial::Section;

use crate::budget::{BUDGET_MAX, DEFAULT_BUDGET, budget_of_seconds};
use crate::scenario::{DEFAULT_SEED, Overrides, SCENARIO_SCHEMA, Scenario, ScenarioError, Slice};
use kit::config::{self, ConfigError};
use sections::{SECTIONS, SectionKind};

/// The table `[common]`.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Common {
    title: String,
    description: String,
    seed: u64,
    budget_s: f64,
}

impl Default for Common {
    fn default() -> Self {
        let budget_s = DEFAULT_BUDGET.as_secs_f64();
        Self {
            title: String::new(),
            description: String::new(),
            seed: DEFAULT_SEED,
            budget_s,
        }
    }
}

impl Common {
    fn parse(table: toml::Table) -> Result<Self, ConfigError> {
        let common: Self = config::from_table(table)?;
        common.budget().map(|_| common)
    }

    fn budget(&self) -> Result<Duration, ConfigError> {
        let allowed = || {
            format!(
                "{} is out of range; more than 0 and at most {}",
                self.budget_s,
                BUDGET_MAX.as_secs()
            )
        };
        budget_of_seconds(self.budget_s).ok_or_else(|| ConfigError::value("budget_s", allowed()))
    }
}

/// Parses a scenario called `name`, found at `place`.
///
/// # Errors
/// [`ScenarioError`] naming the place, the line where there is one, what is
/// wrong, and what is allowed.
pub fn parse(
    name: &str,
    place: &str,
    text: &str,
    overrides: &Overrides,
) -> Result<Scenario, ScenarioError> {
    let source = Source { place, text };
    let syntax = |source| ScenarioError::Syntax {
        place: place.to_owned(),
        source,
    };
    let mut tables: toml::Table = toml::from_str(text).map_err(syntax)?;
    source.check_schema(tables.remove("schema"))?;
    let common = source.common(&mut tables)?;
    let seed = overrides.seed.unwrap_or(common.seed);
    let contract = source.contract(&mut tables)?;
    let sections = source.sections(tables, overrides, common.seed)?;
    Ok(Scenario {
        name: name.to_owned(),
        title: if common.title.is_empty() {
            name.to_owned()
        } else {
            common.title
        },
        description: common.description,
        seed,
        budget: budget_of_seconds(common.budget_s).expect("Common::parse() checked the budget"),
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
    fn check_schema(&self, schema: Option<toml::Value>) -> Result<(), ScenarioError> {
        match schema {
            Some(toml::Value::Integer(SCENARIO_SCHEMA)) => Ok(()),
            other => Err(ScenarioError::Schema {
                place: self.at(&["schema"]),
                found: other.map_or_else(|| "missing".to_owned(), |value| value.to_string()),
            }),
        }
    }

    fn common(&self, tables: &mut toml::Table) -> Result<Common, ScenarioError> {
        match tables.remove("common") {
            None => Ok(Common::default()),
            Some(toml::Value::Table(table)) => {
                Common::parse(table).map_err(|error| self.refused("common", error))
            }
            Some(_) => Err(self.no_table("common")),
        }
    }

    /// What is promised of sections, each of which the scenario has.
    fn contract(&self, tables: &mut toml::Table) -> Result<BTreeMap<String, Slice>, ScenarioError> {
        let slices = match tables.remove("contract") {
            None => return Ok(BTreeMap::new()),
            Some(toml::Value::Table(table)) => table,
            Some(_) => return Err(self.no_table("contract")),
        };
        let slice = |(name, value): (String, toml::Value)| {
            let refused = |error: ConfigError| ScenarioError::Table {
                place: self.at(&["contract", &name, error.key()]),
                table: format!("contract.{name}"),
                source: error,
            };
            if !tables.contains_key(&name) {
                let reason = "this scenario has no such table: add it, or leave its slice out";
                return Err(self.refused("contract", ConfigError::value(&name, reason)));
            }
            let toml::Value::Table(table) = value else {
                return Err(self.no_table("contract"));
            };
            let slice: Slice = config::from_table(table).map_err(refused)?;
            let checked = slice.check();
            checked.map_err(|(key, reason)| refused(ConfigError::value(key, reason)))?;
            Ok((name, slice))
        };
        slices.into_iter().map(slice).collect()
    }

    fn sections(
        &self,
        mut tables: toml::Table,
        overrides: &Overrides,
        seed: u64,
    ) -> Result<Vec<Box<dyn Section>>, ScenarioError> {
        let mut sections = vec![];
        for kind in SECTIONS {
            match tables.remove(kind.name) {
                None => {}
                Some(toml::Value::Table(table)) => {
                    let table = seeded(kind, table, overrides.seed, seed);
                    let mut table = narrowed(kind, table, overrides.precision);
                    let flags = flags(kind, overrides, &mut table);
                    let section = (kind.parse)(table);
                    sections.push(section.map_err(|error| match flags.get(error.key()) {
                        Some(flag) => ScenarioError::Table {
                            place: format!("--{flag}"),
                            table: kind.name.to_owned(),
                            source: error,
                        },
                        None => self.refused(kind.name, error),
                    })?);
                }
                Some(_) => return Err(self.no_table(kind.name)),
            }
        }
        self.check_rest(&tables)?;
        if sections.is_empty() {
            return Err(ScenarioError::Empty {
                place: self.place.to_owned(),
                known: section_names(),
            });
        }
        Ok(sections)
    }

    fn check_rest(&self, tables: &toml::Table) -> Result<(), ScenarioError> {
        let Some(name) = tables.keys().next() else {
            return Ok(());
        };
        let known = ["schema", "common", "contract"]
            .into_iter()
            .chain(section_names())
            .collect();
        Err(ScenarioError::UnknownSection {
            place: self.at(&[name]),
            name: name.clone(),
            known,
        })
    }

    fn refused(&self, table: &str, source: ConfigError) -> ScenarioError {
        ScenarioError::Table {
            place: self.at(&[table, source.key()]),
            table: table.to_owned(),
            source,
        }
    }

    fn no_table(&self, name: &str) -> ScenarioError {
        ScenarioError::NoTable {
            place: self.at(&[name]),
            name: name.to_owned(),
        }
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
        found.map(|at| {
            1 + self.text.as_bytes()[..at]
                .iter()
                .filter(|&&byte| byte == b'\n')
                .count()
        })
    }
}

/// The command line's seed is stronger than the section's own, which is
/// stronger than `[common]`'s.
fn seeded(
    kind: &SectionKind,
    mut table: toml::Table,
    stronger: Option<u64>,
    weaker: u64,
) -> toml::Table {
    let value = |seed: u64| toml::Value::Integer(i64::try_from(seed).unwrap_or(i64::MAX));
    if kind.seeded {
        if let Some(seed) = stronger {
            table.insert("seed".to_owned(), value(seed));
        }
        table.entry("seed").or_insert_with(|| value(weaker));
    }
    table
}

/// The command line's precision is stronger than the section's own, where the
/// section has one at all.
fn narrowed(kind: &SectionKind, mut table: toml::Table, precision: Option<f64>) -> toml::Table {
    if let Some(share) = precision {
        let (key, value) = ("precision".to_owned(), toml::Value::Float(share));
        let alone = toml::Table::from_iter([(key.clone(), value.clone())]);
        if (kind.parse)(alone).is_ok() {
            table.insert(key, value);
        }
    }
    table
}

/// Enters the command line's options into the table of a section that has them:
/// the flag of each key that was entered.
fn flags(
    kind: &SectionKind,
    overrides: &Overrides,
    table: &mut toml::Table,
) -> BTreeMap<&'static str, String> {
    let options = kind.kit.as_ref().map(|kit| (kit.options)());
    let mut entered = BTreeMap::new();
    for key in options.into_iter().flatten() {
        let own = |(flag, _): &&(String, String)| *flag == key.flag();
        // The last of several is meant.
        if let Some((flag, text)) = overrides.options.iter().rev().find(own) {
            table.insert(key.name.to_owned(), key.value(text));
            entered.insert(key.name, flag.clone());
        }
    }
    entered
}

fn section_names() -> Vec<&'static str> {
    SECTIONS.iter().map(|kind| kind.name).collect()
}
