//! `LOCKGATE_LOG`: what happens inside, on stderr.

use anyhow::Context;
use tracing_subscriber::EnvFilter;

use crate::exit::{Failure, OrExit};
use crate::log_lines::{Events, LogLines};

const VARIABLE: &str = "LOCKGATE_LOG";

/// Starts logging: warnings, or what `LOCKGATE_LOG` asks for.
pub fn start(color: bool, lines: LogLines) -> Result<(), Failure> {
    let asked = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty());
    let are_limited = asked.is_none();
    let filter = match asked {
        Some(text) => EnvFilter::try_new(&text)
            .with_context(|| {
                format!(
                    "{VARIABLE}='{text}' is not a filter; write e.g. debug or lockgate_lab=trace"
                )
            })
            .or_usage()?,
        None => EnvFilter::new("warn"),
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(Events { lines, are_limited })
        .with_ansi(color)
        .init();
    Ok(())
}
