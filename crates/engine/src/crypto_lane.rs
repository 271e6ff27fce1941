//! The first service: crypto jobs.

mod call;
mod engine;
mod function;
mod lane;
mod parts;
mod request;
mod service;
mod session;
mod slots;
mod states;
mod table;
mod vault;

pub use call::{Call, CallError, Overrun, REGIONS_MAX, RegionId, SESSIONS_MAX, SessionId, Span};
pub use engine::CryptoEngine;
pub use function::CryptoFunction;
pub use lane::CryptoLane;
pub use request::CryptoRequest;
pub use service::CryptoService;
pub use session::Session;
pub use vault::SessionError;
