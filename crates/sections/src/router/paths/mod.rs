//! `router-paths`: what each path of this host carries, and what polling,
//! batching and queues bound to cores give (source 004, section 3.4).

mod answer;
mod charts;
mod claims;
mod config;
mod context;
mod findings;
mod grid;
mod points;
mod section;
mod tables;

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
