//! A run or a probe as JSON: what `result.json` holds. It may come to a terminal, so what
//! a terminal must not see is escaped.

use serde::Serialize;
use trial::{Probe, Run};

pub fn render(run: &Run) -> String {
    pretty(run)
}

pub fn probe(probe: &Probe) -> String {
    pretty(probe)
}

pub(crate) fn pretty(value: &impl Serialize) -> String {
    let document = serde_json::to_string_pretty(value)
        .expect("result types have text keys only, so all of them are JSON");
    sys::plain::json(&document) + "\n"
}
