//! What can be wrong with a scenario.

use std::io;

use kit::ConfigError;

/// Why a scenario is refused. `place` is the file, with `:line` where known.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// No such built-in scenario.
    #[error("unknown scenario '{name}'; built in: {}; or give a path that ends in .toml", known.join(", "))]
    Unknown {
        /// What was given.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// No section of the run has that option.
    #[error("--{flag}: no section of this run has it; run one that does: {}", having.join(", "))]
    Option {
        /// Without its dashes.
        flag: String,
        /// Sections that have it.
        having: Vec<&'static str>,
    },
    /// The file cannot be read.
    #[error("cannot read scenario '{place}'")]
    Read {
        /// The file.
        place: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Not TOML.
    #[error("{place} is not TOML")]
    Syntax {
        /// The file.
        place: String,
        /// The cause, with the line shown.
        #[source]
        source: toml::de::Error,
    },
    /// No schema, or one that we do not read.
    #[error("{place}: schema is {found}; this Lockgate reads `schema = 1`")]
    Schema {
        /// The file.
        place: String,
        /// What it says.
        found: String,
    },
    /// A name at the top that is neither `schema`, `[common]` nor a section.
    #[error("{place}: unknown section '{name}'; allowed: {}", known.join(", "))]
    UnknownSection {
        /// File and line.
        place: String,
        /// What was given.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// A section that is no table.
    #[error("{place}: '{name}' must be a table: write [{name}]")]
    NoTable {
        /// File and line.
        place: String,
        /// Its name.
        name: String,
    },
    /// A table that its owner refuses.
    #[error("{place}: [{table}]")]
    Table {
        /// File and line.
        place: String,
        /// The table.
        table: String,
        /// The cause.
        #[source]
        source: ConfigError,
    },
    /// Nothing to run.
    #[error("{place} has no section; add one of: {}", known.join(", "))]
    Empty {
        /// The file.
        place: String,
        /// What there is.
        known: Vec<&'static str>,
    },
}
