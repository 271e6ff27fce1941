//! Two stored runs compared with each other, figure by figure.
//!
//! The runs were not interleaved: what disturbed one of them is not cancelled
//! as in a [`trial::Comparison`]. So the interval comes from resampling both
//! sides and from how much runs of one program differ here, which their repeats
//! tell; and what differs between the hosts is said first.

mod environment;
mod figures;
mod markdown;
mod matching;
mod repeats;
mod shown;
mod spread;
mod summary;
mod text;

use std::collections::BTreeMap;

use serde::Serialize;
use trial::{Dimension, Direction, Outcome, Run};

pub use markdown::render as markdown;
pub use repeats::is_repeat;
pub use spread::{CHANGE_ASSUMED, Spread};
pub use text::render as text;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The comparison fails when a figure's gain is, with evidence, below
    /// this: 0.95 fails what lost more than 5%. Gain is B over A where more is
    /// better, A over B where less is.
    pub fail_below: Option<f64>,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CompareError {
    #[error("threshold {0}: a ratio above 0 is allowed, e.g. 0.95 to fail what lost more than 5%")]
    FailBelow(f64),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Origin {
    pub host: String,
    pub started_utc: String,
    pub version: String,
    pub git_revision: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Side {
    A,
    B,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
    pub section: String,
    pub dimensions: BTreeMap<String, Dimension>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    #[serde(flatten)]
    pub place: Place,
    pub metric: String,
    pub unit: String,
    pub direction: Direction,
    /// Median in A; of several runs the geometric mean of their medians.
    pub a: f64,
    /// Median in B; of several runs the geometric mean of their medians.
    pub b: f64,
    pub samples: usize,
    pub runs_a: usize,
    pub runs_b: usize,
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    pub outcome: Outcome,
    pub failed: bool,
}

/// A point or metric that only one run has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Missing {
    pub only_in: Side,
    #[serde(flatten)]
    pub place: Place,
    /// The metric; none where the whole point is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
}

/// A point or metric that both runs have and that was left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ignored {
    #[serde(flatten)]
    pub place: Place,
    /// The metric; none where the whole point was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Threshold {
    /// [`Options::fail_below`].
    pub fail_below: f64,
    pub failed: usize,
    /// Figures whose gain is below it, but not with evidence.
    pub unproven: usize,
    pub passed: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunComparison {
    pub schema: u32,
    pub a: Origin,
    pub b: Origin,
    pub confidence: f64,
    /// Differences between the runs besides what was to be compared.
    pub warnings: Vec<String>,
    pub spreads: Vec<Spread>,
    /// [`CHANGE_ASSUMED`] where a spread is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_assumed: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Threshold>,
    /// Every figure that both have: those with evidence first, in each part
    /// the largest effect first.
    pub rows: Vec<Row>,
    pub ignored: Vec<Ignored>,
    pub missing: Vec<Missing>,
}

const SCHEMA_VERSION: u32 = 2;

/// Compares `b` with `a`. Points match by section and dimensions; a point that is not
/// valid in both is listed and left out, as are metrics of which neither way is
/// better. Of `found`, the runs that repeat a section of A or B ([`is_repeat`]) count
/// on that side. Where A and B repeat each other, they only show how much runs
/// differ. Deterministic for a given seed.
///
/// # Errors
/// [`CompareError`] when the threshold is not a ratio above 0.
pub fn compare(
    a: &Run,
    b: &Run,
    found: &[Run],
    options: Options,
) -> Result<RunComparison, CompareError> {
    if let Some(limit) = options
        .fail_below
        .filter(|limit| !limit.is_finite() || *limit <= 0.0)
    {
        return Err(CompareError::FailBelow(limit));
    }
    let matched = matching::matched(a, b);
    let repeats = repeats::Repeats::new(a, b, found);
    let figures = figures::figures(&matched.pairs, &repeats, options);
    let threshold = options
        .fail_below
        .map(|limit| threshold(&figures.rows, limit));
    Ok(RunComparison {
        schema: SCHEMA_VERSION,
        a: origin(a),
        b: origin(b),
        confidence: trial::stats::CONFIDENCE,
        warnings: environment::warnings(a, b),
        change_assumed: spread::assumed(&figures.spreads),
        spreads: figures.spreads,
        threshold,
        rows: figures.rows,
        ignored: figures.ignored,
        missing: matched.missing.into_iter().chain(figures.missing).collect(),
    })
}

fn origin(run: &Run) -> Origin {
    Origin {
        host: run.host.clone(),
        started_utc: run.started_utc.clone(),
        version: run.build.version.clone(),
        git_revision: run.build.git_revision.clone(),
    }
}

/// A threshold under which nothing was compared is not passed.
fn threshold(rows: &[Row], fail_below: f64) -> Threshold {
    let failed = rows.iter().filter(|row| row.failed).count();
    let below = rows.iter().filter(|row| row.gain() < fail_below).count();
    Threshold {
        fail_below,
        failed,
        unproven: below.saturating_sub(failed),
        passed: failed == 0 && !rows.is_empty(),
    }
}

impl Row {
    /// How much better B is: above 1 is better, for either direction.
    pub fn gain(&self) -> f64 {
        match self.direction {
            Direction::Lower => 1.0 / self.ratio,
            Direction::Higher | Direction::Neutral => self.ratio,
        }
    }
}

impl RunComparison {
    /// Whether a threshold was given and not passed: exit code 1.
    pub fn has_failed(&self) -> bool {
        self.threshold.is_some_and(|threshold| !threshold.passed)
    }

    /// The whole comparison as JSON, pretty, with a final newline.
    pub fn json(&self) -> String {
        crate::json::pretty(self)
    }
}
