//! The device, driven by the front-end that plays a guest.
#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

mod attacks;
mod common;
mod descriptors;
mod isolation;
mod life;
mod messages;
mod moderation;
mod refusals;
mod requests;
mod soak;
