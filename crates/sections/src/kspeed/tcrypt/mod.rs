//! The kernel's own benchmark: how it is started, and what it prints.

mod lines;
mod pick;
mod sizes;

pub(super) use lines::parse;
pub(super) use pick::{Rates, rates};
pub(super) use sizes::{Call, measures};
