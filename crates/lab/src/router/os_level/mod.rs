//! `router-os-level`: routers in namespaces, LXC and runc beside a native one,
//! as in figure 3 of source 004 and that row of its figure 6.

mod comparisons;
mod findings;
mod tables;

use trial::{Comparison, Finding, Section, Table};

use super::throughput::config::Defaults;
use super::throughput::context::Context;
use super::throughput::section::{self, Kind};
use crate::ConfigError;

/// What is this section's own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OsLevel;

impl Defaults for OsLevel {
    const HOMES: &'static [&'static str] = &[
        "namespace",
        "namespace:bridged",
        "lxc:bridged",
        "runc:bridged",
    ];
    const EXTRAS: &'static [&'static str] = &[];
}

impl Kind for OsLevel {
    const NAME: &'static str = "router-os-level";
    const TITLE: &'static str = "Routers in OS-level virtualisation: namespaces, LXC, runc";

    fn comparisons(context: &Context<'_>) -> Vec<Comparison> {
        comparisons::comparisons(context)
    }

    fn findings(context: &Context<'_>, comparisons: &[Comparison]) -> Vec<Finding> {
        findings::findings(context, comparisons)
    }

    fn tables(context: &Context<'_>, _: &[Comparison]) -> Vec<Table> {
        tables::shares(context).into_iter().collect()
    }
}

/// Turns the scenario's table into the section.
///
/// # Errors
/// [`ConfigError`] names the key, the value and what is allowed.
pub fn parse(table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    section::parse::<OsLevel>(table)
}
