//! `lockgate worker`: one end of a section whose trials are in other processes.

use anyhow::{Context, anyhow};

use crate::exit::{Exit, Failure, OrExit};

pub fn worker(section: &str) -> Result<Exit, Failure> {
    let mut workers = sections::WORKERS.iter();
    let (_, serve) = workers
        .find(|(name, _)| *name == section)
        .ok_or_else(|| anyhow!("section '{section}' has no trials in other processes"))
        .or_usage()?;
    serve().context("the section went away").or_failed()?;
    Ok(Exit::Ok)
}
