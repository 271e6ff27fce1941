//! Tables as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Heading.
    pub label: String,
    /// Unit, shown beside the heading; empty for text.
    pub unit: String,
}

impl Column {
    pub fn new(label: impl Into<String>, unit: &str) -> Self {
        Self {
            label: label.into(),
            unit: unit.to_owned(),
        }
    }
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Cell {
    /// A number, written with three significant digits or as an integer.
    Number(f64),
    /// Words.
    Text(String),
    /// Nothing was measured here.
    Empty,
}

/// One table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Conditions; may be empty.
    pub note: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// The command that measures this again.
    pub command: String,
}
