//! `lockgate man`

use std::fs;
use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;

use crate::cli::Cli;
use crate::exit::{Exit, Failure, OrExit};

pub fn man(folder: &Path) -> Result<Exit, Failure> {
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .with_context(|| {
            format!(
                "cannot write manual pages to '{}'; name a writable folder",
                folder.display()
            )
        })
        .or_usage()?;
    Ok(Exit::Ok)
}
