//! `lockgate completions`

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::console::Console;
use crate::exit::{Exit, Failure};

pub fn completions(shell: Shell, console: &Console) -> Result<Exit, Failure> {
    let mut text = vec![];
    clap_complete::generate(shell, &mut Cli::command(), "lockgate", &mut text);
    console.pass_on(&text)?;
    Ok(Exit::Ok)
}
