//! `router-native`: what this host forwards without virtualisation, beside
//! table 2 of source 004.

mod beside;
mod findings;

use trial::{Comparison, Finding, Section, Table};

use super::throughput::config::Defaults;
use super::throughput::context::Context;
use super::throughput::section::{self, Kind};
use crate::ConfigError;

/// What is this section's own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Native;

impl Defaults for Native {
    const HOMES: &'static [&'static str] = &["namespace"];
    const EXTRAS: &'static [&'static str] = &["latency"];
}

impl Kind for Native {
    const NAME: &'static str = "router-native";
    const TITLE: &'static str = "Routing without virtualisation: RFC 2544 throughput by frame size";

    fn comparisons(_: &Context<'_>) -> Vec<Comparison> {
        Vec::new()
    }

    fn findings(context: &Context<'_>, _: &[Comparison]) -> Vec<Finding> {
        findings::findings(context)
    }

    fn tables(context: &Context<'_>, _: &[Comparison]) -> Vec<Table> {
        beside::table_2(context).into_iter().collect()
    }
}

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    section::parse::<Native>(table)
}
