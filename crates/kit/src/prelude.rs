//! What every section is written with.

pub use trial::{Chart, Event, Finding, PlanError, Probe, Scale};

pub use crate::ConfigError;
pub use crate::config::choices::BackendName;
pub use crate::config::value::{Auto, Bytes, Count, List, Name, Real, Several};
pub use crate::experiment::{Experiment, Results, Rig, Subjects, trials};
pub use crate::headline::{Answer, Question};
pub use crate::host::Host;
pub use crate::spot::Spot;
pub use crate::subject::{Measure, Pair, Reading, Stopped, Subject, Times};
pub use crate::view::{Cells, Lines, Only, Rows, Sheet, Shown, View, all, axis};
