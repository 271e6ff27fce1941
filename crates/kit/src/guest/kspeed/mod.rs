//! Lockgate's own kernel module in a guest, which loads the kernel's crypto drivers: what
//! it can be asked, and what it answers.

pub mod catalogue;
pub mod module;
pub mod recipe;

pub use catalogue::{Driver, Kind};
pub use recipe::Recipe;
