//! `router-tcp`: TCP through each path, one way and both, in the form of table 3
//! of source 004.

mod config;
mod results;
mod section;
mod subject;

use trial::Section;

use kit::ConfigError;

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    kit::routers::section::parse::<config::Config>(table)
}

#[cfg(test)]
mod tests;
