//! A bench: one router in its home, wired to the tester's ports, ready for
//! trials. [`Rack`] is several of them side by side.
//!
//! ```no_run
//! use lockgate_forward::bench::{Bench, Offer, Setup};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut bench = Bench::start(&Setup::of_host()?)?;
//! let result = bench.trial(&Offer::default())?;
//! println!("{:.0} frames/s: {:?}", result.received_pps(), result.verdict);
//! # Ok(()) }
//! ```

mod ceiling;
mod churn;
mod error;
pub(crate) mod offer;
mod one;
pub(crate) mod ports;
mod rack;
mod result;
mod setup;
mod start;
pub mod tcp;
mod together;
mod usage;

pub use error::BenchError;
pub use offer::{Directions, Offer};
pub use one::Bench;
pub use rack::Rack;
pub use result::{Changes, DirectionResult, TrialResult};
pub use setup::{PortKind, Setup};
pub use tcp::TcpResult;
