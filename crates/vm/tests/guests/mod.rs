//! Guests that boot: what they can do, and what they cannot do to us.

mod ends;
mod hostile;
mod migrates;
mod models;
mod refusals;
mod several;
mod works;
