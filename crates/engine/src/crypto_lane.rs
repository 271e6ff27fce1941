//! The first service: crypto jobs.

mod engine;
mod function;
mod lane;
mod request;
mod service;
mod session;

pub use engine::CryptoEngine;
pub use function::CryptoFunction;
pub use lane::{Call, CallError, CryptoLane, Overrun, RegionId, SessionId, Span};
pub use request::CryptoRequest;
pub use service::CryptoService;
pub use session::Session;
