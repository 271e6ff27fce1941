//! A run or a probe as JSON: what `result.json` holds.

use serde::Serialize;
use trial::{Probe, Run};

pub fn render(run: &Run) -> String {
    pretty(run)
}

pub fn probe(probe: &Probe) -> String {
    pretty(probe)
}

pub(crate) fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value)
        .expect("result types have text keys only, so all of them are JSON")
        + "\n"
}
