//! The section `vcm-tasks`: the VCM paper's figure 3 on this host. Equal
//! tasks on one virtual function, each with a lane: what each gets, what they
//! get together, and how busy the cores are.

use trial::Section;

use kit::ConfigError;

mod charts;
mod comparisons;
mod config;
mod context;
mod findings;
mod grid;
mod points;
mod section;
mod tables;

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    kit::load::sweep::parse::<config::Config>(table)
}
