//! `router-scaling`: routers side by side, total and each, and one that is
//! overloaded beside others with and without limits (source 004, figures 7
//! and 8).

mod case;
mod config;
mod context;
mod results;
mod section;

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
