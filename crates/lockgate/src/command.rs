//! The commands, one file each.

mod af_alg;
mod compare;
mod completions;
mod man;
mod probe;
mod report;
mod run;
mod sections;
mod speed;
mod user_space;
mod vm;

pub use af_alg::af_alg;
pub use compare::compare;
pub use completions::completions;
pub use man::man;
pub use probe::probe;
pub use report::report;
pub use run::run;
pub use sections::sections;
pub use speed::speed;
pub use user_space::user_space;
pub use vm::vm;
