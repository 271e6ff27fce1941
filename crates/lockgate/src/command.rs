//! The commands, one file each.

mod compare;
mod completions;
mod man;
mod probe;
mod report;
mod run;
mod speed;

pub use compare::compare;
pub use completions::completions;
pub use man::man;
pub use probe::probe;
pub use report::report;
pub use run::run;
pub use speed::speed;
