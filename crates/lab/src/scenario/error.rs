//! What can be wrong with a scenario.

use std::io;

use kit::ConfigError;

/// Why a scenario is refused. `place` is the file, with `:line` where known.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// No such built-in scenario.
    #[error("unknown scenario '{name}'; built in: {}; or give a path that ends in .toml", known.join(", "))]
    Unknown {
        name: String,
        known: Vec<&'static str>,
    },
    /// No section of the run has that option.
    #[error("--{flag}: no section of this run has it; run one that does: {}", having.join(", "))]
    Option {
        flag: String,
        having: Vec<&'static str>,
    },
    /// The file cannot be read.
    #[error("cannot read scenario '{place}'")]
    Read {
        place: String,
        #[source]
        source: io::Error,
    },
    /// Not TOML.
    #[error("{place} is not TOML")]
    Syntax {
        place: String,
        #[source]
        source: toml::de::Error,
    },
    /// No schema, or one that we do not read.
    #[error("{place}: schema is {found}; this Lockgate reads `schema = 1`")]
    Schema { place: String, found: String },
    /// A name at the top that is neither `schema`, `[common]` nor a section.
    #[error("{place}: unknown section '{name}'; allowed: {}", known.join(", "))]
    UnknownSection {
        place: String,
        name: String,
        known: Vec<&'static str>,
    },
    /// A section that is no table.
    #[error("{place}: '{name}' must be a table: write [{name}]")]
    NoTable { place: String, name: String },
    /// A table that its owner refuses.
    #[error("{place}: [{table}]")]
    Table {
        place: String,
        table: String,
        #[source]
        source: ConfigError,
    },
    /// Nothing to run.
    #[error("{place} has no section; add one of: {}", known.join(", "))]
    Empty {
        place: String,
        known: Vec<&'static str>,
    },
}
