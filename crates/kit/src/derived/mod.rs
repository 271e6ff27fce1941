//! What follows from results without a word of the section.

pub mod charts;
pub mod points;
pub mod tables;
