//! What every section about routers asks of `forward`.

pub mod ground;
pub mod metrics;
pub mod options;
pub mod rig;
pub mod source;
pub mod testing;
pub mod trial;
pub mod way;
pub mod wires;
