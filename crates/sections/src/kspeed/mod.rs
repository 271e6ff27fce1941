//! What asynchronous crypto of a kernel can do, and how much of it each way to
//! measure shows: Lockgate's kernel module in four modes, the kernel's own
//! `tcrypt`, the socket AF_ALG and user space's own crypto, in one guest and
//! interleaved (source 003).
//!
//! `section` plans and runs; `guest` boots; `measure` has scripts run by a
//! `shell`; `module`, `tcrypt` and `program` say what is run and read what it
//! prints; `context` judges it. [`af_alg`] and [`userspace`] are what the
//! program itself does in the guest.

pub mod af_alg;
mod article;
mod catalogue;
mod cell;
mod charts;
mod clock;
mod comparisons;
mod config;
mod context;
mod end;
mod findings;
mod guest;
mod guest_facts;
mod measure;
mod method;
mod module;
mod points;
mod program;
mod schedule;
mod scripts;
mod section;
mod shell;
mod tables;
mod tcrypt;
pub mod trial_line;
pub mod userspace;
mod watched;

pub use section::{Kspeed, parse};

#[cfg(test)]
mod tests;
