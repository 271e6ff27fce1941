//! A run or a probe as JSON: what `result.json` holds.

use serde::Serialize;
use trial::{Probe, Run};

/// The run, pretty, in the order of its schema, with a final newline.
/// [`Run::read`] reads it back.
#[must_use]
pub fn render(run: &Run) -> String {
    pretty(run)
}

/// The probe alone, in the same form as inside a run.
#[must_use]
pub fn probe(probe: &Probe) -> String {
    pretty(probe)
}

pub(crate) fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value)
        .expect("result types have text keys only, so all of them are JSON")
        + "\n"
}
