//! The stored document's schema, and reading a document that may be bad.

use serde::Deserialize;
use serde_json::error::Category;

use crate::{Run, SCHEMA_VERSION};

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("the result is empty; the run that wrote it was probably cut off: run again")]
    Empty,
    #[error(
        "the result is not JSON (line {}, column {}); it was cut off or is another kind of file: give a `result.json`", .0.line(), .0.column()
    )]
    NotJson(#[source] serde_json::Error),
    #[error(
        "the result has no whole number in `schema`, which every run has; give a `result.json` that Lockgate wrote"
    )]
    NoVersion,
    #[error("the result has schema version {found}, this program reads version {SCHEMA_VERSION}; {}", version_remedy(*.found))]
    Version { found: u64 },
    #[error(
        "the result is not a run of schema version {SCHEMA_VERSION} (line {}, column {}): {}; undo what changed the file, or run again", .0.line(), .0.column(), .0
    )]
    NotARun(#[source] serde_json::Error),
}

fn version_remedy(found: u64) -> &'static str {
    if found > u64::from(SCHEMA_VERSION) {
        "use the Lockgate that wrote it, or a newer one"
    } else {
        "run again with this one"
    }
}

#[derive(Deserialize)]
struct Version {
    schema: u64,
}

impl Run {
    /// Reads a stored run.
    ///
    /// # Errors
    /// [`ReadError`] when the text is empty, not JSON, of another schema
    /// version, or holds fields that this version does not have.
    pub fn read(json: &str) -> Result<Self, ReadError> {
        if json.trim().is_empty() {
            return Err(ReadError::Empty);
        }
        let version: Version =
            serde_json::from_str(json).map_err(|source| match source.classify() {
                Category::Data => ReadError::NoVersion,
                _ => unreadable(source),
            })?;
        if version.schema != u64::from(SCHEMA_VERSION) {
            return Err(ReadError::Version {
                found: version.schema,
            });
        }
        serde_json::from_str(json).map_err(unreadable)
    }
}

fn unreadable(source: serde_json::Error) -> ReadError {
    match source.classify() {
        Category::Data => ReadError::NotARun(source),
        _ => ReadError::NotJson(source),
    }
}

/// The JSON schema (draft 2020-12) of [`Run`], pretty, with a final newline.
/// A copy is committed as `crates/trial/schema/run-v1.schema.json`.
pub fn run_schema() -> String {
    let schema = schemars::schema_for!(Run);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text + "\n"
}
