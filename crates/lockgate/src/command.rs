//! The commands, one file each.

mod arms;
mod busy;
mod compare;
mod completions;
mod cpu;
mod disk;
mod man;
mod probe;
mod quic;
mod report;
mod rfc2544;
mod router;
mod run;
mod sections;
mod serve;
mod speed;
mod vm;
mod worker;

pub use arms::{af_alg, user_space};
pub use busy::busy;
pub use compare::compare;
pub use completions::completions;
pub use cpu::cpu;
pub use disk::disk;
pub use man::man;
pub use probe::probe;
pub use quic::quic;
pub use report::report;
pub use rfc2544::rfc2544;
pub use router::router;
pub use run::run;
pub use sections::sections;
pub use serve::serve;
pub use speed::speed;
pub use vm::vm;
pub use worker::worker;
