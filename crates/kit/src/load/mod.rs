//! The load generator: who asks the engine for crypto, how much, and what came
//! of it.

pub mod alone;
pub mod benches;
pub mod device;
pub mod once;
pub mod piece;
pub mod rig;
pub mod slots;
pub mod workloads;
