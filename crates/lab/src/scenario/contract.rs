//! What a scenario promises of a section: how long it measures, and which ratios
//! it shows.

use kit::config::value::Several;

use crate::budget::Seconds;

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
