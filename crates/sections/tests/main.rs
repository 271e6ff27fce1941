//! The sections, each run once and tiny, so that none rots.

mod conformance;
mod host;
mod interrupt;
