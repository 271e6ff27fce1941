//! `lockgate speed`

use anyhow::anyhow;
use kit::ConfigError;

use crate::cli::SpeedArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::measure::{self, Alone};
use crate::speed_table::{flag_of, section, table};

/// Runs the section that the flags ask for, as they configure it:
/// `crypto-speed`, or for all algorithms `crypto-peers`.
pub fn speed(arguments: &SpeedArguments, console: &Console) -> Result<Exit, Failure> {
    let alone = Alone {
        section: section(&arguments.points),
        name: "speed",
        table: table(&arguments.points),
    };
    let how = (&arguments.measuring, &arguments.export);
    measure::section(alone, by_flag, how, console)
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
