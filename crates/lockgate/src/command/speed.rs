//! `lockgate speed`

use anyhow::anyhow;
use kit::ConfigError;
use kit::config::value::Value;
use lab::budget::DEFAULT_BUDGET;
use lab::scenario::DEFAULT_SEED;

use crate::cli::SpeedArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure, OrExit};
use crate::measure::{Job, measure};
use crate::speed_table::{flag_of, section, table};

/// Runs the section that the flags ask for, as they configure it:
/// `crypto-speed`, or for all algorithms `crypto-peers`.
pub fn speed(arguments: &SpeedArguments, console: &Console) -> Result<Exit, Failure> {
    let name = section(&arguments.points);
    let kind =
        sections::section(name).expect("the registry has the section that this command is for");
    let seed = arguments.measuring.seed.unwrap_or(DEFAULT_SEED);
    let mut table = table(&arguments.points);
    table.insert("seed".to_owned(), seed.written());
    if let Some(share) = arguments.measuring.precision {
        table.insert("precision".to_owned(), toml::Value::Float(share));
    }
    let section = (kind.parse)(table).map_err(by_flag).or_usage()?;
    let scenario = serde_json::json!({ "name": "speed", "sections": { name: section.resolved() } });
    let budget = arguments.measuring.budget.unwrap_or(DEFAULT_BUDGET);
    let job = Job {
        sections: vec![section.into()],
        scenario,
        seed,
        budget,
    };
    measure(job, &arguments.measuring, &arguments.export, console)
}

fn by_flag(error: ConfigError) -> anyhow::Error {
    match error {
        ConfigError::Value { key, reason } => anyhow!("{}: {reason}", flag_of(&key)),
        ConfigError::UnknownKey { key, .. } => anyhow!(
            "{}: not with --algorithm all or --peers, which measure one way of asking; leave it out",
            flag_of(&key)
        ),
    }
}
