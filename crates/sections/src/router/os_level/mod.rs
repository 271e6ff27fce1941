//! `router-os-level`: routers in namespaces, LXC and runc beside a native one,
//! as in figure 3 of source 004 and that row of its figure 6.

mod findings;
mod ratios;
mod tables;

use trial::{Finding, Section, Table};

use crate::router::throughput::config::Defaults;
use crate::router::throughput::context::Context;
use crate::router::throughput::section::{self, Kind};
use kit::ConfigError;
use kit::headline::{Answer, Question};
use kit::ratio::Ratio;

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

    const QUESTION: Question = Question {
        what: "What containers keep of a native router",
        against: "the source's figures 3 and 6 (OpenVZ: like native but for small frames)",
    };

    fn ratios(context: &Context<'_>) -> Vec<Ratio> {
        ratios::ratios(context)
    }

    fn answer(context: &Context<'_>, ratios: &[Ratio]) -> Option<Answer> {
        findings::answer(context, ratios)
    }

    fn findings(_: &Context<'_>, ratios: &[Ratio]) -> Vec<Finding> {
        findings::remedy(ratios).into_iter().collect()
    }

    fn tables(context: &Context<'_>) -> Vec<Table> {
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
