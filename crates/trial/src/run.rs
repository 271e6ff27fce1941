//! One execution of a scenario: the stored document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Chart, Comparison, Finding, Point, Price, Probe, Table};

/// Version of the document's schema; a reader refuses a newer one.
pub const SCHEMA_VERSION: u32 = 1;

/// What built the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Version of Lockgate.
    pub version: String,
    /// Git revision, with `-dirty` where the tree was changed; `unknown`
    /// outside a checkout.
    pub git_revision: String,
    /// Versions of the libraries that did the work, by name.
    pub libraries: std::collections::BTreeMap<String, String>,
}

/// How a section ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state", deny_unknown_fields)]
pub enum SectionState {
    /// It measured all it planned.
    Complete,
    /// It was interrupted or ran out of budget; what is there is sound.
    Partial {
        /// Why.
        reason: String,
    },
    /// The host cannot run it.
    NotSupported {
        /// What is missing.
        reason: String,
        /// What would change that.
        remedy: String,
    },
    /// It failed while running; what is there is sound.
    Failed {
        /// The error with its causes.
        reason: String,
    },
}

/// Everything one section yielded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SectionResult {
    /// The section's name: `crypto-speed`.
    pub name: String,
    /// Heading for people.
    pub title: String,
    /// How it ended.
    pub state: SectionState,
    /// Seconds it took.
    pub seconds: f64,
    /// The command that runs it again.
    pub command: String,
    /// What the numbers mean.
    pub findings: Vec<Finding>,
    /// Charts, the most telling first.
    pub charts: Vec<Chart>,
    /// Tables, the most telling first.
    pub tables: Vec<Table>,
    /// Prices of crossings, in the order of the price list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<Price>,
    /// Interleaved ratios.
    pub comparisons: Vec<Comparison>,
    /// Every measured point.
    pub points: Vec<Point>,
}

impl SectionResult {
    /// One of that name and title that has yielded nothing.
    pub fn new((name, title): (&str, &str), command: &str, state: SectionState) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            state,
            seconds: 0.0,
            command: command.to_owned(),
            findings: vec![],
            charts: vec![],
            tables: vec![],
            prices: vec![],
            comparisons: vec![],
            points: vec![],
        }
    }
}

/// One run, as stored in `result.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// [`SCHEMA_VERSION`] when written.
    pub schema: u32,
    /// What built the program.
    pub build: Build,
    /// Host name.
    pub host: String,
    /// Start, RFC 3339 in UTC.
    pub started_utc: String,
    /// Seconds from start to end.
    pub seconds: f64,
    /// The command line.
    pub command: String,
    /// Seed of everything random.
    pub seed: u64,
    /// Whether the run was interrupted; partial results are sound.
    pub interrupted: bool,
    /// The scenario as resolved: every default written out.
    pub scenario: serde_json::Value,
    /// What each section gave, in the order run.
    pub sections: Vec<SectionResult>,
    /// The host.
    pub probe: Probe,
}

impl Run {
    pub fn points(&self) -> impl Iterator<Item = &Point> {
        self.sections.iter().flat_map(|section| &section.points)
    }

    pub fn comparisons(&self) -> impl Iterator<Item = &Comparison> {
        self.sections
            .iter()
            .flat_map(|section| &section.comparisons)
    }
}
