//! The section `vcm-tenants`: 1 to 16 virtual functions on one physical
//! function, equal, weighted, and beside a hostile one.
//!
//! All cases run on one bench, in which every tenant is a virtual function
//! with a client thread of its own; a case says who is at work and under which
//! weights and limits. Client threads have one core, the worker another.

mod case;
mod charts;
mod config;
mod context;
mod findings;
mod limits;
mod mute;
mod points;
mod seats;
mod section;
mod tables;
mod trials;

pub use section::{VcmTenants, parse};
