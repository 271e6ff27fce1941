//! Notification policies as pure state machines: no clock, no thread.
#![forbid(unsafe_code)]

mod moderation;

pub use moderation::{Decision, Moderation, Progress, UnknownModeration};
