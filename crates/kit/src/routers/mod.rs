//! What every section about routers asks of `forward`.

pub mod end;
pub mod ground;
pub mod metrics;
pub mod rig;
pub mod rounds;
pub mod section;
pub mod series;
pub mod sizes;
pub mod source;
pub mod subject;
pub mod testing;
pub mod trial;
pub mod way;
pub mod wires;
