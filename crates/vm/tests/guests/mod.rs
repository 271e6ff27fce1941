//! Guests that boot: what they can do, and what they cannot do to us.

#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

mod ends;
mod hostile;
mod refusals;
mod several;
mod works;
