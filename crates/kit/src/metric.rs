//! Values of rounds as a metric.

use trial::stats::median;
use trial::{Direction, Metric};

/// A metric from one value a round: their median, and all of them.
pub fn metric(name: &str, unit: &str, direction: Direction, samples: Vec<f64>) -> Option<Metric> {
    let value = median(&samples)?;
    Some(Metric {
        name: name.to_owned(),
        unit: unit.to_owned(),
        direction,
        value,
        samples,
    })
}
