//! The section `vcm-block-size`: the VCM paper's figure 2 on this host. One
//! task, speed and notification rate over the block size; and what one
//! notification costs.

use trial::Section;

use kit::ConfigError;

mod charts;
mod comparisons;
mod config;
mod context;
pub(crate) mod fall;
mod findings;
pub(crate) mod grid;
mod points;
mod price;
mod section;
mod tables;

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    kit::load::sweep::parse::<config::Config>(table)
}
