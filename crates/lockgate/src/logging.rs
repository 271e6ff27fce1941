//! `LOCKGATE_LOG`: what happens inside, on stderr.

use std::io;

use anyhow::Context;
use tracing_subscriber::EnvFilter;

use crate::exit::{Failure, OrExit};

const VARIABLE: &str = "LOCKGATE_LOG";

/// Starts logging: warnings, or what `LOCKGATE_LOG` asks for.
pub fn start(color: bool) -> Result<(), Failure> {
    let filter = match std::env::var(VARIABLE) {
        Ok(text) if !text.is_empty() => EnvFilter::try_new(&text)
            .with_context(|| {
                format!(
                    "{VARIABLE}='{text}' is not a filter; write e.g. debug or lockgate_lab=trace"
                )
            })
            .or_usage()?,
        _ => EnvFilter::new("warn"),
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(color)
        .init();
    Ok(())
}
