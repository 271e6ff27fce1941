//! `lockgate disk speed`

use anyhow::anyhow;
use kit::ConfigError;

use crate::cli::DiskSpeedArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::measure::{Alone, section};
use crate::speed_table::{Entry, flag, given, numbers, sizes, texts};

pub fn speed(arguments: &DiskSpeedArguments, console: &Console) -> Result<Exit, Failure> {
    let entries = entries(arguments);
    let by_flag = |error| match error {
        ConfigError::Value { key, reason } => anyhow!("{}: {reason}", flag(&entries, &key)),
        unknown => unknown.into(),
    };
    let alone = Alone {
        section: "disk-speed",
        name: "disk speed",
        table: given(&entries),
    };
    section(
        alone,
        by_flag,
        (&arguments.measuring, &arguments.export),
        console,
    )
}

fn entries(own: &DiskSpeedArguments) -> [Entry; 6] {
    let pairs = own.pairs.map(|number| i64::from(number).into());
    [
        ("ciphers", "--cipher", texts(&own.cipher)),
        ("key_bits", "--key-size", numbers(&own.key_size)),
        ("sector_bytes", "--sector-size", sizes(&own.sector_size)),
        ("directions", "--direction", texts(&own.direction)),
        ("seconds", "--seconds", own.seconds.map(Into::into)),
        ("pairs", "--pairs", pairs),
    ]
}
