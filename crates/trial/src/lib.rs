//! What a measurement is: verdicts, histograms, paired statistics, result
//! types and the [`Section`] trait. Pure: no clock, no thread, no file.
#![forbid(unsafe_code)]

mod chart;
mod comparison;
mod finding;
pub mod histogram;
mod metric;
mod point;
mod price;
mod probe;
mod run;
mod schema;
mod section;
pub mod stats;
mod table;
pub mod validity;
mod verdict;

pub use chart::{Axis, Chart, Dot, Scale, Series, SeriesKind};
pub use comparison::{Comparison, Outcome, Standing, Target};
pub use finding::{Finding, Weight};
pub use histogram::Histogram;
pub use metric::{Direction, Metric};
pub use point::{Dimension, Point};
pub use price::Price;
pub use probe::{Fact, Group, Probe, State};
pub use run::{Build, Run, SCHEMA_VERSION, SectionResult, SectionState};
pub use schema::{ReadError, run_schema};
pub use section::{Event, Job, Plan, PlanError, RunError, Section, Sink};
pub use table::{Cell, Column, Table};
pub use validity::Observed;
pub use verdict::{Validity, Verdict};
