//! Notification policies as pure state machines: no clock, no thread.
#![forbid(unsafe_code)]

mod gather;
mod moderation;
mod refill;

pub use gather::{Gather, Patience};
pub use moderation::{Decision, Moderation, Progress, UnknownModeration};
pub use refill::Refill;
