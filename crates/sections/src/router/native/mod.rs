//! `router-native`: what this host forwards without virtualisation, beside
//! table 2 of source 004.

mod beside;
mod findings;

use trial::{Finding, Section, Table};

use crate::router::throughput::config::Defaults;
use crate::router::throughput::context::Context;
use crate::router::throughput::section::{self, Kind};
use kit::ConfigError;
use kit::headline::{Answer, Question};
use kit::ratio::Ratio;

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

    const QUESTION: Question = Question {
        what: "What this host forwards without virtualisation",
        against: "the source's table 2 (26% of the links at 64 B, all at 512 and 1518 B)",
    };

    fn ratios(_: &Context<'_>) -> Vec<Ratio> {
        Vec::new()
    }

    fn answer(context: &Context<'_>, _: &[Ratio]) -> Option<Answer> {
        findings::answer(context)
    }

    fn findings(context: &Context<'_>, _: &[Ratio]) -> Vec<Finding> {
        findings::findings(context)
    }

    fn tables(context: &Context<'_>) -> Vec<Table> {
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
